"""What a suppression method answers: the cells that are not published, and how good that is known to be."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import numpy as np
from scipy.sparse import csr_matrix

from statveil.audit.patterns.pattern import PatternAudit
from statveil.core.arrays import BoolArray, IntArray, frozen_array
from statveil.core.errors import AuditFailed
from statveil.core.limits import Ending
from statveil.suppress.cells.problem import COST_UNITS, SuppressionProblem, keeps_sums

Promise = Literal["intervals", "exact values"]


class LevelWitness(NamedTuple):
    """Proof that readers cannot tell a cell from one that is `sense` times its level away: whole numbers in proportion to a deviation that
    keeps all sums, moves published cells nowhere, and can be scaled to the level within what is known beforehand."""

    cell: int
    sense: int
    level: int
    cells: IntArray
    move: IntArray


@dataclass(frozen=True, kw_only=True)
class CellSuppression:
    """Cells that are not published.

    primary: sensitive cells. secondary: cells suppressed so that no primary can be worked out. cost: of the secondary cells.
    certified_bound: no safe pattern costs less, shown in whole numbers (against outsiders; protecting single respondents can only cost
    more). ending: `optimal` where both meet.
    witnesses: proof for each primary cell and sense. problem: what was solved. method, seed, seconds: how, and how long.
    audit: the independent audit, which it passed; `repairs`: how often the audit sent a pattern back.
    promise: `intervals`, the levels of all sensitive cells; or `exact values` only: no sensitive cell can be worked out exactly, and
    nothing is said of how closely it can be bounded. by_rules: the secondary cells of a method's own rules, before anything was mended.

    >>> import statveil as sv
    >>> shops = sv.Hierarchy.flat(["A", "B", "C", "D"])
    >>> table = sv.table_from_cells({"shop": shops}, {("A",): 12, ("B",): 30, ("C",): 9, ("D",): 40})
    >>> rule = sv.rules.Manual([sv.rules.ManualCell(cell={"shop": "A"}, status="sensitive")], level=50)
    >>> found = sv.classical.suppress_cells(table, sv.rules.assess(table, [rule]))
    >>> int(found.secondary.sum()), found.gap
    (1, 0.0)
    """

    primary: BoolArray = field(repr=False)
    secondary: BoolArray = field(repr=False)
    cost: float
    certified_bound: float
    ending: Ending
    method: str
    seed: int
    seconds: float
    witnesses: tuple[LevelWitness, ...] = field(repr=False)
    problem: SuppressionProblem = field(repr=False)
    audit: PatternAudit = field(repr=False)
    repairs: int = 0
    promise: Promise = "intervals"
    by_rules: int | None = None

    def __post_init__(self) -> None:
        if not self.audit.passed:
            raise AuditFailed("The audit of the suppressed cells found faults. Nothing is released.")
        for name in ("primary", "secondary"):
            object.__setattr__(self, name, frozen_array(getattr(self, name)))

    @property
    def suppressed(self) -> BoolArray:
        return np.asarray(self.primary | self.secondary)

    @property
    def gap(self) -> float:
        """(cost - certified bound) / certified bound; zero if both are, infinite if nothing is known."""
        if self.cost <= self.certified_bound:
            return 0.0
        return (self.cost - self.certified_bound) / self.certified_bound if self.certified_bound > 0 else float("inf")

    def reasons_of(self, cell: int) -> tuple[int, ...]:
        """The primary cells whose witnesses move this cell: why it is suppressed."""
        return tuple(sorted({each.cell for each in self.witnesses if cell in each.cells and cell != each.cell}))


def cost_of(problem: SuppressionProblem, suppressed: BoolArray) -> float:
    """What the secondary cells cost."""
    return float(problem.cost[suppressed & ~problem.primary & ~problem.hidden].sum()) / COST_UNITS


def witness_holds(problem: SuppressionProblem, suppressed: BoolArray, witness: LevelWitness) -> bool:
    """Whether a witness shows what it says, in whole numbers without end: sums kept, nothing published moved, bounds kept at the level."""
    move = np.array([int(each) for each in witness.move], dtype=object)
    own = int(sum(move[witness.cells == witness.cell])) * witness.sense
    visible = ~(suppressed | problem.hidden)[witness.cells]
    if own <= 0 or np.unique(witness.cells).size < move.size or move[visible].any():
        return False
    if not keeps_sums(csr_matrix(problem.columns[:, witness.cells]), move):
        return False
    value, lower, upper = (array[witness.cells].astype(object) for array in (problem.value, problem.lower, problem.upper))
    scaled = move * witness.level
    return bool(((value - lower) * own >= -scaled).all() and ((upper - value) * own >= scaled).all())
