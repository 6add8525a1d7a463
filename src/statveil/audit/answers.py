"""The independent check of a table that the server solved for itself (mode section4), before it is recorded: exact integers, no solver.

It adds up the records for itself, from their codes, and compares every position of the table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from statveil.audit.report import AuditReport, Check
from statveil.core.arrays import AnyArray, BoolArray, IntArray
from statveil.tables.spec import Dimension


@dataclass(frozen=True, kw_only=True)
class AnswerEvidence:
    """All arrays but the records' are in the shape of the table, one axis per dimension, one place per code.

    `places[d, r]` is where record r stands among the codes of dimension d, `amounts[r]` what it adds.
    `released` is the answer, `sense` +1 or -1 where a cell is sensitive and 0 elsewhere, `level` how far such a cell must move.
    """

    dimensions: Sequence[Dimension]
    places: IntArray = field(repr=False)
    amounts: IntArray = field(repr=False)
    true: IntArray = field(repr=False)
    released: IntArray = field(repr=False)
    sense: IntArray = field(repr=False)
    level: IntArray = field(repr=False)


def audit_answer(evidence: AnswerEvidence) -> AuditReport:
    """Every check; nothing is published unless all pass."""
    return AuditReport(checks=(_sums(evidence), _additivity(evidence), _protection(evidence), _zeros(evidence)))


def _sums(evidence: AnswerEvidence) -> Check:
    """The true values are what the records add up to."""
    sums = np.zeros(evidence.true.shape, dtype=np.int64)
    np.add.at(sums, tuple(evidence.places), evidence.amounts)
    for axis, dimension in enumerate(evidence.dimensions):
        sums = _with_totals(sums, axis, dimension)
    return _check("sums", "The table protected is the one that the records add up to", sums != evidence.true)


def _with_totals(leaves: IntArray, axis: int, dimension: Dimension) -> IntArray:
    """Totals of every tree along one axis, from the lowest up."""
    by_code = np.moveaxis(leaves.copy(), axis, 0)
    for tree in dimension.trees:
        for code in sorted(tree.children, key=lambda code: -tree.depth[code]):
            parts = [dimension.position[part] for part in tree.children[code]]
            by_code[dimension.position[code]] = by_code[parts].sum(axis=0)
    return np.moveaxis(by_code, 0, axis)


def _additivity(evidence: AnswerEvidence) -> Check:
    wrong = np.zeros(evidence.released.shape, dtype=np.bool_)
    for axis, dimension in enumerate(evidence.dimensions):
        by_code, faults = np.moveaxis(evidence.released, axis, 0), np.moveaxis(wrong, axis, 0)
        for tree in dimension.trees:
            for code, parts in tree.children.items():
                place = dimension.position[code]
                faults[place] |= by_code[place] != by_code[[dimension.position[part] for part in parts]].sum(axis=0)
    return _check("additivity", "Every total is the sum of its parts", wrong)


def _protection(evidence: AnswerEvidence) -> Check:
    moved = evidence.sense * (evidence.released - evidence.true)
    sensitive = evidence.sense != 0
    unsafe = sensitive & ((moved < evidence.level) | (moved <= 0))
    return _check("protection", "Every sensitive cell is moved by its level or more, in its sense", unsafe, checked=sensitive)


def _zeros(evidence: AnswerEvidence) -> Check:
    """No value without records; where nobody has less than nothing, none of zero with them: neither tells by vanishing (T17, T18)."""
    empty = (evidence.true == 0) & (evidence.sense == 0)
    vanished = (evidence.true > 0) & (evidence.released <= 0) & bool((evidence.amounts >= 0).all())
    return _check("zeros", "Empty cells are zero, and no other one is", (empty & (evidence.released != 0)) | vanished)


def _check(name: str, words: str, wrong: AnyArray, *, checked: BoolArray | None = None) -> Check:
    return Check(name=name, words=words, checked=wrong.size if checked is None else int(checked.sum()), faults=int(wrong.sum()))
