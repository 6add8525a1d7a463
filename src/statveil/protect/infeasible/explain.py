"""Why there is no safe table: a minimal set of requirements that clash (docs/science.md, section 6), in words.

Minimal (an irreducible infeasible subset): no whole table meets them all, and for each of them there is one that meets all the others.
Both are proved in exact integers (`feasibility`), by a deletion filter over the requirements that a first proof used.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from statveil.core.errors import SolverFailed
from statveil.protect.build import CellNames, CellNumbers
from statveil.protect.infeasible.feasibility import (
    KINDS,
    TUNING,
    Clash,
    Requirement,
    TableFound,
    Undecided,
    all_requirements,
    check_feasibility,
)
from statveil.protect.infeasible.substitution import find_whole_table
from statveil.protect.problem import ProtectionProblem
from statveil.solve.processes import run_isolated


@dataclass(frozen=True, kw_only=True)
class Explanation:
    """Requirements that clash.

    requirements: of cells and relations. minimal: proved that any one of them, given up, ends the clash (else some may be needless).
    problem: the one that they are of.

    >>> import numpy as np, statveil as sv
    >>> from scipy.sparse import csr_matrix
    >>> level = np.array([5, 0, 0])  # of 20 + 80 = 100, where the other two may not move
    >>> problem = sv.ProtectionProblem(relations=csr_matrix([[1, 1, -1]]), rhs=np.zeros(1, dtype=int), value=np.array([20, 80, 100]),
    ...     weight=np.ones(3), sensitive=level > 0, lower=np.array([0, 80, 100]), upper=np.array([99, 80, 100]),
    ...     lower_level=level, upper_level=level)
    >>> found = explain(problem)
    >>> len(found.requirements), found.minimal
    (6, True)
    """

    requirements: tuple[Requirement, ...]
    minimal: bool
    problem: ProtectionProblem = field(repr=False)

    def public(self, names: CellNames | None = None) -> str:
        """In words, without any value."""
        return self._told(names or CellNumbers(self.problem), values=False)

    def internal(self, names: CellNames | None = None) -> str:
        """In words and numbers: confidential."""
        return self._told(names or CellNumbers(self.problem), values=True)

    def _told(self, names: CellNames, *, values: bool) -> str:
        words = _Sentences(self.problem, names, values=values)
        lines = [f"- {line}" for line in words.of_cells(self.requirements)]
        lines += [f"- {words.of_relation(each.place)}" for each in self.requirements if each.kind == "relation"]
        return "\n".join([self._headline(len(lines)), *lines, self._advice()])

    def _headline(self, count: int) -> str:
        """`count` is that of the lines. What is true of any one requirement is true of all those in its line."""
        if count == 1:
            return "This cannot be met, whatever the other cells do:"
        return f"These {count} requirements cannot be met together" + (", but any one fewer can:" if self.minimal else ":")

    def _advice(self) -> str:
        kinds = {each.kind for each in self.requirements}
        ways = [
            ("exactness" in kinds, "let sensitive cells move further than their level (variant at-least)"),
            (bool(kinds & {"lower", "upper"}), "widen the bounds, cap or freeze of a cell named here"),
            (any(self.problem.residual[each.place] for each in self.requirements if each.kind == "relation"), "mend the input"),
        ]
        chosen = [words for so, words in ways if so] or ["lower a protection level, or give up a relation"]
        return f"To end this clash: {', or '.join(chosen)}; a repair does so in a stated order."


class _Sentences:
    """Sentences about requirements, with values or without."""

    def __init__(self, problem: ProtectionProblem, names: CellNames, *, values: bool) -> None:
        self.problem, self.names, self.values = problem, names, values

    def of_cells(self, requirements: Iterable[Requirement]) -> list[str]:
        """One line for each cell, all that is asked of it in one sentence."""
        by_cell: dict[int, list[str]] = {}
        for each in requirements:
            if each.kind != "relation":
                by_cell.setdefault(each.place, []).append(each.kind)
        return [f"{self.names.cell(cell)} {self._asked(cell, kinds)}" for cell, kinds in by_cell.items()]

    def _asked(self, cell: int, kinds: list[str]) -> str:
        problem = self.problem
        value, low, high = int(problem.value[cell]), int(problem.lower[cell]), int(problem.upper[cell])
        safe_low, safe_high = value - int(problem.lower_level[cell]), value + int(problem.upper_level[cell])
        parts = []
        if "protection" in kinds:
            reach = self._shown("from {} to {} or below, or to {} or above", value, safe_low, safe_high)
            parts.append(f"must move by its protection level or more{reach}")
        if "exactness" in kinds:
            parts.append("may not move further than its level")
        if {"lower", "upper"} <= set(kinds):
            still = low == high == value
            parts.append("may not move" if still else "must stay within its bounds" + self._shown("{} to {}", low, high))
        elif "lower" in kinds:
            parts.append("may not go below its lower bound" + self._shown("{}", low))
        elif "upper" in kinds:
            parts.append("may not go above its upper bound" + self._shown("{}", high))
        return ", and ".join(parts)

    def of_relation(self, relation: int) -> str:
        off = int(self.problem.residual[relation])
        rest = f", which it does not in the input{self._shown('by {}', off)}" if off else ""
        return f"{self.names.relation(relation)} must add up{rest}"

    def _shown(self, pattern: str, *amounts: int) -> str:
        return f" ({pattern.format(*map(self.names.amount, amounts))})" if self.values else ""


def explain(problem: ProtectionProblem, *, seconds: float = TUNING.explanation_seconds) -> Explanation | None:
    """A minimal set of clashing requirements; None if there is a safe table, or if no proof was found that there is none.

    problem: the table to protect. seconds: it works in a process of its own for at most so many; where those end early, what is known
        to clash is told all the same.

    >>> import numpy as np, statveil as sv
    >>> from scipy.sparse import csr_matrix
    >>> level = np.array([5, 0, 0])  # of 20 + 80 = 100, where the other two may not move
    >>> problem = sv.ProtectionProblem(relations=csr_matrix([[1, 1, -1]]), rhs=np.zeros(1, dtype=int), value=np.array([20, 80, 100]),
    ...     weight=np.ones(3), sensitive=level > 0, lower=np.array([0, 80, 100]), upper=np.array([99, 80, 100]),
    ...     lower_level=level, upper_level=level)
    >>> print(explain(problem).public())
    These ... requirements cannot be met together, but any one fewer can:
    - cell 0 must move by its protection level or more
    ...
    """
    if problem.relations.nnz > TUNING.most_terms:
        return None
    found: list[tuple[frozenset[Requirement], bool]] = []
    with contextlib.suppress(SolverFailed):  # the proofs that came before it stand
        run_isolated([(_send_clashes, (problem,))], seconds=seconds, on_message=found.append)
    if not found:
        return None
    requirements, minimal = found[-1]
    return Explanation(requirements=tuple(sorted(requirements, key=_in_order)), minimal=minimal, problem=problem)


def _in_order(requirement: Requirement) -> tuple[int, int]:
    """What is protected first, then bounds, then relations."""
    order = {kind: place for place, kind in enumerate(("protection", "exactness", "lower", "upper", "relation"))}
    return order[requirement.kind], requirement.place


def _send_clashes(problem: ProtectionProblem, send: Callable[[Any], None]) -> None:
    """Send ever smaller sets of clashing requirements, each with whether it is proved minimal."""
    try:
        first = check_feasibility(problem, all_requirements(problem), tries=TUNING.first_tries)
    except Undecided:
        return
    if isinstance(first, Clash):
        send((first.requirements, False))
        send(minimal_clash(problem, first.requirements, tries=TUNING.later_tries))


def minimal_clash(problem: ProtectionProblem, clash: frozenset[Requirement], *, tries: int) -> tuple[frozenset[Requirement], bool]:
    """A deletion filter: what can be left out is left out, together with all that the new proof does not use.

    Also tells whether it is proved that nothing more can be left out.
    """
    needed, doubtful, left = set[Requirement](), False, sorted(clash, key=lambda each: (-KINDS.index(each.kind), each.place))
    while left:
        without = left.pop()
        try:
            found = check_feasibility(problem, needed | set(left), tries=tries)
        except Undecided:
            doubtful |= find_whole_table(problem, needed | set(left)) is None
            needed.add(without)
            continue
        if isinstance(found, TableFound):
            needed.add(without)
        else:
            left = [each for each in left if each in found.requirements]
            needed &= found.requirements
    return frozenset(needed), not doubtful
