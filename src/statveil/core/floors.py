"""How the levels of the rules are to be raised, in a small object checked at the door; `risk/levels.py` raises them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from statveil.core.errors import InputError

if TYPE_CHECKING:
    from statveil.core.secret import SecretKey

FloorScheme = Literal["drawn", "exact"]
CAP = 1.45
"""The largest factor of a drawn level: T11's guess at the level succeeds in 0.5 x 0.1 / 0.45 = 11%, where 12% are allowed, and the
table costs a fifth more (benchmarks/RESULTS.md, safety)."""


@dataclass(frozen=True, kw_only=True)
class Floors:
    """How the levels of the rules are raised.

    scheme: `drawn` by the office's key, or `exact`-ly as the rules say (the papers' convention). cap: the largest factor of a drawn level.
    tiny: whether cells of zero or next to nothing are lifted to the size of their neighbours. coalitions: whether respondents who subtract
    what they gave must fail. key: that levels are drawn by; None: the office's (`statveil.core.secret.office_key`).

    >>> Floors(cap=2).scheme
    'drawn'
    """

    scheme: FloorScheme = "drawn"
    cap: float = CAP
    tiny: bool = True
    coalitions: bool = True
    key: SecretKey | None = None

    def __post_init__(self) -> None:
        if self.scheme not in ("drawn", "exact"):
            raise InputError(f"floors must be 'drawn' or 'exact', not {self.scheme!r}.")
        if isinstance(self.cap, bool) or not isinstance(self.cap, int | float) or not 1 < self.cap <= 10:
            raise InputError("The cap of drawn floors is a factor, more than 1 and at most 10.")
        if self.key is not None and not hasattr(self.key, "fingerprint"):
            raise InputError("The key of the floors must be a SecretKey.", hint="SecretKey.from_file(path) reads one.")
        if not isinstance(self.tiny, bool) or not isinstance(self.coalitions, bool):
            raise InputError("tiny and coalitions of the floors must be true or false.")


AS_GIVEN = Floors(scheme="exact", tiny=False, coalitions=False)
"""Levels that are kept as they are: those of linear systems, of batches of tau-ARGUS, and of tables that come with their levels."""
