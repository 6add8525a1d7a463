"""What respondents who know their own parts can reach."""

from __future__ import annotations

import numpy as np

from statveil.audit.patterns.audit import audit_pattern
from statveil.audit.patterns.pattern import Disclosure, KnowingReader
from tests.audit.patterns.hidden import SQUARE, TABLE
from tests.audit.patterns.stories import grid


def test_whoever_is_alone_in_one_corner_knows_the_others() -> None:
    alone = np.isin(np.arange(12), [1])
    found = audit_pattern(grid(TABLE, SQUARE, [0], singleton=alone))
    assert [(each.cell, each.kind, each.others) for each in found.faults] == [(0, Disclosure.SINGLETON, (1,))]


def test_one_respondent_under_two_names_learns_nothing() -> None:
    """The first column holds 10 and nothing else: cell and column total are one cell of one respondent."""
    table, hidden = [[10, 20], [0, 50]], [0, 1, 6, 7]
    alone = np.isin(np.arange(9), [0, 6])
    assert audit_pattern(grid(table, hidden, [0, 6], singleton=alone)).count(Disclosure.SINGLETON) == 0


def test_a_holding_narrows_what_it_has_a_part_in() -> None:
    """18 of the 20 is its own: the 10 can lose 2 only to it, and gain 2 of the 20."""
    reader = KnowingReader(name="holding 1", cells=np.array([1]), least=np.array([18]), alone=np.array([False]))
    found = audit_pattern(grid(TABLE, SQUARE, [0], level=5), readers=[reader])
    assert [(each.kind, each.reader) for each in found.faults] == [(Disclosure.COALITION, "holding 1")]


def test_who_knows_a_corner_whole_knows_them_all() -> None:
    reader = KnowingReader(name="the only one", cells=np.array([5]), least=np.array([50]), alone=np.array([True]))
    assert not audit_pattern(grid(TABLE, SQUARE, [0]), readers=[reader]).passed
