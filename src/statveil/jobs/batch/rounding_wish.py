"""What SUPPRESS RND says, every number obeyed or refused."""

from __future__ import annotations

import re
from dataclasses import dataclass

from statveil.formats.argus.batch_commands import Suppress
from statveil.suppress.rounding.round_table import TUNING

_WORDS = "rounding reads RND(table, base, steps, minutes, partitions, stop, unit cost), the last five if needed"
_DEFAULTS = ("", "0", "10", "0", "2", "1")


@dataclass(frozen=True, kw_only=True)
class RoundingWish:
    """base in published units; steps: how many bases further than one a cell may be sent."""

    base: int
    steps: int
    minutes: int


def rounding_wish(command: Suppress) -> RoundingWish:
    """What RND says, every number obeyed or refused. How to stop (1, 2, 3) is taken as 3: the best table that the time allows."""
    given = [word or default for word, default in zip((*command.arguments, *[""] * 6), _DEFAULTS, strict=False)]
    if not 1 <= len(command.arguments) <= 6 or not all(re.fullmatch(r"\d{1,9}", word) for word in given):
        raise command.line.fault(_WORDS)
    base, steps, minutes, partitions, stop, unit = map(int, given)
    if base < 2 or steps > TUNING.most_steps or not minutes or stop not in (1, 2, 3):
        most = TUNING.most_steps
        raise command.line.fault(f"rounding takes a base from 2 on, 0 to {most} steps, a minute or more, and 1, 2 or 3 for how to stop")
    if partitions or unit != 1:
        raise command.line.fault(
            "rounding by partitions, or at other costs than a unit's change, is not done by statveil", hint="Write 0 and 1."
        )
    return RoundingWish(base=base, steps=steps, minutes=minutes)
