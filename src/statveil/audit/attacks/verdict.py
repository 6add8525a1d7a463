"""What an attack found: a number, a mark to compare it with, and a verdict."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from statveil.core.show import FrameExports, Preview, ShortDisplay, counted

if TYPE_CHECKING:
    import pyarrow as pa

Number = float | int | str


class VerdictStatus(StrEnum):
    PASSED = "passed"
    FAILED = "failed"
    NOT_APPLICABLE = "not applicable"


@dataclass(frozen=True, kw_only=True)
class Threat:
    """A line of the catalogue of threats: `does` says what the attacker does, `mark` what must hold."""

    id: str
    name: str
    does: str
    mark: str


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """`number` is the measured figure in words that the mark speaks of; `figures` are all that was measured. No confidential values.

    `here`: what a formula in the mark comes to in this case.
    """

    threat: Threat
    status: VerdictStatus
    number: str
    figures: Mapping[str, Number]
    reason: str = ""
    here: str = ""

    @property
    def mark(self) -> str:
        return f"{self.threat.mark}: here {self.here}" if self.here else self.threat.mark

    @property
    def passed(self) -> bool:
        return self.status is VerdictStatus.PASSED


@dataclass(frozen=True, kw_only=True, repr=False)
class SuiteReport(ShortDisplay, FrameExports):
    """All verdicts on one target."""

    target: str
    verdicts: tuple[Verdict, ...]
    facts: Mapping[str, Number]
    """What was attacked, with how many requests, from which seed."""

    @property
    def failed(self) -> tuple[Verdict, ...]:
        return tuple(each for each in self.verdicts if each.status is VerdictStatus.FAILED)

    def __getitem__(self, threat: str) -> Verdict:
        return next(each for each in self.verdicts if each.threat.id == threat)

    def to_arrow(self) -> pa.Table:
        """A row a threat: id, name, verdict, number, mark and reason."""
        import pyarrow as pa

        rows = [{**_row(each), "mark": each.mark, "reason": each.reason} for each in self.verdicts]
        return pa.table({name: pa.array([row[name] for row in rows], pa.string()) for name in (*ROW, "mark", "reason")})

    def _headline(self) -> str:
        passed, failed = sum(each.passed for each in self.verdicts), len(self.failed)
        return f"SuiteReport on {self.target}: {counted(len(self.verdicts), 'attack')}, {passed} passed, {failed} failed"

    def _facts(self) -> list[str]:
        return [f"FAILED {each.threat.id} {each.threat.name}: {each.number}" for each in self.failed]

    def _preview(self) -> Preview:
        rows = [list(_row(each).values()) for each in self.verdicts]
        return Preview(ROW, rows, len(rows))

    def as_json(self) -> dict[str, Any]:
        verdicts = [
            {
                "id": each.threat.id,
                "name": each.threat.name,
                "verdict": str(each.status),
                "number": each.number,
                "mark": each.mark,
                "reason": each.reason,
                "figures": {name: _plain(number) for name, number in each.figures.items()},
            }
            for each in self.verdicts
        ]
        return {"target": self.target, "facts": {name: _plain(number) for name, number in self.facts.items()}, "verdicts": verdicts}


ROW = ("id", "name", "verdict", "number")


def _row(verdict: Verdict) -> dict[str, str]:
    return dict(zip(ROW, (verdict.threat.id, verdict.threat.name, str(verdict.status), verdict.number), strict=True))


def judged(threat: Threat, *, passed: bool, number: str, figures: Mapping[str, Number], here: str = "") -> Verdict:
    status = VerdictStatus.PASSED if passed else VerdictStatus.FAILED
    return Verdict(threat=threat, status=status, number=number, figures=figures, here=here)


def not_applicable(threat: Threat, reason: str, figures: Mapping[str, Number] | None = None) -> Verdict:
    return Verdict(threat=threat, status=VerdictStatus.NOT_APPLICABLE, number="-", figures=figures or {}, reason=reason)


def share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0


def percent(amount: float) -> str:
    """A share as a percentage with as many digits as tell it from nothing and from all."""
    text = f"{100 * amount:.1f}%"
    return f"{100 * amount:.2g}%" if text == "0.0%" and amount > 0 else text


def _plain(number: Number) -> Number | None:
    if isinstance(number, str | bool):
        return number
    return (int(number) if float(number).is_integer() else round(float(number), 6)) if math.isfinite(number) else None
