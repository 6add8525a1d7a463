"""What a protection method answers: deviations, senses, and how good they are known to be."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from statveil.core.arrays import IntArray, frozen_array
from statveil.core.limits import Ending
from statveil.core.show import CONFIDENTIAL, CONFIDENTIAL_WORD, FrameExports, ShortDisplay, counted
from statveil.formats.certificate import Certificate
from statveil.formats.rcta import Relaxation
from statveil.protect.problem import ProtectionProblem

if TYPE_CHECKING:
    import pyarrow as pa

    from statveil.protect.keep.result import Quality

BoundBy = Literal["cuts", "tree", "solver", "none"]
PROVED = 1e-9
"""Relative distance between objective and certified bound up to which a table is called optimal: what doubles lose when added up."""
CLAIMED = 1e-6
"""The same for a bound that a solver claims: its tolerances are wider."""


class TracePoint(NamedTuple):
    """The best objective and the best lower bound known after so many seconds (infinite: none yet)."""

    seconds: float
    objective: float
    bound: float


class InternalAdjustment(FrameExports):
    """How far each cell was moved, and which way it had to go. Confidential: with the released table it tells the true one."""

    def __init__(self, adjustment: Adjustment) -> None:
        self._adjustment = adjustment

    def __repr__(self) -> str:
        return f"InternalAdjustment (confidential): deviation and sense of {self._adjustment.deviation.size:,} cells"

    def to_arrow(self) -> pa.Table:
        """A row a cell, by number: deviation in the problem's units, and sense. Confidential."""
        import pyarrow as pa

        from statveil.core.show.frames import marked

        found = self._adjustment
        cells = {"cell": np.arange(found.deviation.size), "deviation": found.deviation, "sense": found.senses}
        return marked(pa.table(cells), CONFIDENTIAL)


@dataclass(frozen=True, kw_only=True, repr=False)
class Adjustment(ShortDisplay):
    """A safe additive table as deviations from the original, in the problem's integer units.

    deviation: of each cell, released minus original. objective: its weighted sum. certified_bound: no safe table costs less, and the
    independent checker confirmed it; zero where nothing is certified. bound, bound_by: the best lower bound that anybody gave, and what it
    rests on. ending: `optimal` where the certified bound meets the objective, `claimed` where only a solver says so.
    trace: how objective and bound came about. method, seed, seconds: how it was looked for, and how long. certificate: proof of the
    certified bound.

    >>> import numpy as np
    >>> none = np.zeros(3, dtype=int)
    >>> words = {"ending": Ending.CLAIMED, "trace": (), "method": "walk", "seed": 0, "seconds": 1.0}
    >>> found = Adjustment(deviation=none, senses=none, objective=11.0, bound=11.0, bound_by="solver", certified_bound=10.0, **words)
    >>> found.certified_gap
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
    bound_by: BoundBy = "none"
    """What the bound rests on: a certificate of cuts, one of a tree of cases with multipliers in each, a solver's word alone, nothing."""
    certified_bound: float = 0.0
    """What the certificate proves: the bound itself, unless that is by a solver, and higher."""
    certificate: Certificate | None = field(default=None, repr=False)
    quality: Quality | None = field(default=None, repr=False)
    """What became of the statistics, where some were to be kept."""
    relaxations: tuple[Relaxation, ...] = ()
    """What a repair gave; empty if nothing had to give."""
    drawing_cost: float | None = None
    """What drawing the levels above those of the rules adds to the objective at the senses found, as a share; None: not known."""

    def __post_init__(self) -> None:
        for name in ("deviation", "senses"):
            object.__setattr__(self, name, frozen_array(getattr(self, name)))

    @property
    def internal(self) -> InternalAdjustment:
        """Cell by cell, for `internal.to_pandas()` and the like. Confidential."""
        return InternalAdjustment(self)

    def _headline(self) -> str:
        return f"Adjustment ({CONFIDENTIAL_WORD}): {counted(self.deviation.size, 'cell')}, {how_good(self)}"

    def _facts(self) -> list[str]:
        gave = [f"repaired: {counted(len(self.relaxations), 'limit')} gave"] if self.relaxations else []
        return [
            f"objective {self.objective:,.10g}, certified bound {self.certified_bound:,.10g}",
            f"{self.ending}, by method {self.method}, seed {self.seed}, in {self.seconds:.1f} s",
            *gave,
        ]

    @property
    def certified_gap(self) -> float:
        """(objective - certified bound) / certified bound; zero if both are or the table is proved optimal, infinite if not known."""
        if self.ending is Ending.OPTIMAL or self.objective <= self.certified_bound:
            return 0.0
        return (self.objective - self.certified_bound) / self.certified_bound if self.certified_bound > 0 else float("inf")

    @property
    def gap(self) -> float:
        """The certified gap: a solver's word closes none."""
        return self.certified_gap


def how_good(adjustment: Adjustment) -> str:
    """What is proved of a table in words; what a solver claims is called that."""
    if adjustment.certified_gap == 0:
        return "proved the best possible"
    known = math.isfinite(adjustment.certified_gap)
    proved = f"at most {adjustment.certified_gap:.2%} above the best possible" if known else "how far from the best possible is not known"
    return f"a solver says it is the best possible, not certified; {proved}" if adjustment.ending is Ending.CLAIMED else proved


def ending_of(objective: float, *, certified: float, claimed: float) -> Ending:
    """How a search for the best table ended: what is proved about it, or else what is claimed."""
    if objective <= certified * (1 + PROVED):
        return Ending.OPTIMAL
    return Ending.CLAIMED if objective <= claimed * (1 + CLAIMED) else Ending.FEASIBLE


def released_values(problem: ProtectionProblem, adjustment: Adjustment) -> IntArray:
    """What is published: the values with their deviations."""
    return frozen_array((problem.value + adjustment.deviation).astype(np.int64))
