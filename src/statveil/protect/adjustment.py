"""What a protection method answers: deviations, senses, and how good they are known to be."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from statveil.core.arrays import IntArray, frozen_array
from statveil.core.limits import Ending
from statveil.formats.certificate import Certificate
from statveil.formats.rcta import Relaxation
from statveil.protect.problem import ProtectionProblem

if TYPE_CHECKING:
    from statveil.protect.keep.result import Quality

BoundBy = Literal["cuts", "tree", "solver"]


class TracePoint(NamedTuple):
    """The best objective and the best lower bound known after so many seconds (infinite: none yet)."""

    seconds: float
    objective: float
    bound: float


@dataclass(frozen=True, kw_only=True)
class Adjustment:
    """A safe additive table as deviations from the original, in the problem's integer units.

    deviation: of each cell, released minus original. objective: its weighted sum. bound: no safe table costs less. ending: how it ended.
    trace: how objective and bound came about. method, seed, seconds: how it was looked for, and how long. certificate: proof of the bound.

    >>> import numpy as np
    >>> none = np.zeros(3, dtype=int)
    >>> words = {"ending": Ending.FEASIBLE, "trace": (), "method": "walk", "seed": 0, "seconds": 1.0}
    >>> Adjustment(deviation=none, senses=none, objective=11.0, bound=10.0, **words).gap
    0.1
    """

    deviation: IntArray = field(repr=False)
    senses: IntArray = field(repr=False)
    """+1 up, -1 down, 0 for cells that are not sensitive."""
    objective: float
    bound: float
    ending: Ending
    trace: tuple[TracePoint, ...] = field(repr=False)
    method: str
    seed: int
    seconds: float
    bound_by: BoundBy = "solver"
    """What the bound rests on: multipliers of cuts, a tree of cases with multipliers in each, or a solver's word alone."""
    certified_bound: float = 0.0
    """What the certificate proves: the bound itself, unless that is by a solver and higher."""
    certificate: Certificate | None = field(default=None, repr=False)
    quality: Quality | None = field(default=None, repr=False)
    """What became of the statistics, where some were to be kept."""
    relaxations: tuple[Relaxation, ...] = ()
    """What a repair gave; empty if nothing had to give."""
    undrawn: float | None = None
    """What the same senses cost at the levels of the rules themselves, where levels were drawn above them; None: not known."""

    def __post_init__(self) -> None:
        for name in ("deviation", "senses"):
            object.__setattr__(self, name, frozen_array(getattr(self, name)))

    @property
    def gap(self) -> float:
        """(objective - bound) / bound, as everywhere in statveil; zero when both are zero or the table is proved optimal."""
        if self.ending is Ending.OPTIMAL or self.objective <= self.bound:
            return 0.0
        return (self.objective - self.bound) / self.bound if self.bound > 0 else float("inf")


def released_values(problem: ProtectionProblem, adjustment: Adjustment) -> IntArray:
    """What is published: the values with their deviations."""
    return frozen_array((problem.value + adjustment.deviation).astype(np.int64))
