"""What readers get of suppressed cells, by hand; then against slow plain code on random tables."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from statveil.audit.attacks.patterns import reach as attacker
from statveil.audit.patterns import audit as module
from statveil.audit.patterns.audit import UnionRule, audit_pattern
from statveil.audit.patterns.pattern import Disclosure, SuppressionPattern
from statveil.audit.patterns.witnesses import WitnessBook
from statveil.core.errors import SolverFailed
from tests.audit.patterns.hidden import SQUARE, TABLE
from tests.audit.patterns.stories import grid
from tests.reference.hidden_cells import ends, follows


def kinds(pattern: SuppressionPattern) -> dict[int, str]:
    return {each.cell: each.kind.value for each in audit_pattern(pattern).faults}


def test_a_square_hides_its_corners_as_far_as_the_smallest_of_each_colour() -> None:
    """10 + 20 and 40 + 50 are known, so are 10 + 40 and 20 + 50: 10 may be 0 to 30, for 20 and 40 can give 20."""
    found = audit_pattern(grid(TABLE, SQUARE, [0], level=10), all_intervals=True)
    assert found.passed
    assert found.down.tolist() == [10, 20, 20, 10]
    assert found.up.tolist() == [20, 10, 10, 20]
    assert set(found.verdict) == {Disclosure.SAFE}
    assert found.components == 1


def test_a_cell_alone_in_its_row_is_read_off() -> None:
    found = audit_pattern(grid(TABLE, [0], [0]))
    assert found.verdict == (Disclosure.EXACT,)
    assert not found.passed


def test_a_secondary_that_is_read_off_is_wasted_but_no_fault() -> None:
    found = audit_pattern(grid(TABLE, [*SQUARE, 10], [0]))  # 30 + 60 = 90 stands alone in its row and column
    assert found.passed
    assert found.count(Disclosure.UNNEEDED) == 1


def test_an_interval_that_is_too_narrow() -> None:
    """10 can go up by 20 only."""
    assert kinds(grid(TABLE, SQUARE, [0], level=21)) == {0: "inferential"}


def test_a_sensitive_cell_that_is_published() -> None:
    assert kinds(grid(TABLE, SQUARE, [0, 2])) == {2: "published"}


def test_a_table_that_does_not_add_up() -> None:
    pattern = grid(TABLE, SQUARE, [0])
    value = pattern.value.copy()
    value[3] += 1
    assert audit_pattern(replace(pattern, value=value)).broken == (0, 6)


def test_a_union_of_suppressed_cells_must_be_safe_as_well() -> None:
    """10 + 20 are known to be 30, of which one has 27 and another 2."""
    pattern = grid(TABLE, SQUARE, [0])
    largest, second = np.where(np.arange(12) == 1, 18, 5), np.zeros(12, dtype=np.int64)
    safe = UnionRule(percent=10, largest=largest, second=second)
    assert audit_pattern(pattern, union=safe).passed
    first = UnionRule(percent=50, largest=np.where(np.arange(12) == 1, 20, 7), second=second)
    found = audit_pattern(pattern, union=first)
    assert (found.faults[0].kind, found.faults[0].others) == (Disclosure.UNION, (1,))


def test_readers_who_know_every_value_closely() -> None:
    """Within half: the 10 goes up to 15."""
    assert kinds(grid(TABLE, SQUARE, [0], level=6).known_within(50)) == {0: "inferential"}
    assert not kinds(grid(TABLE, SQUARE, [0], level=5).known_within(50))


def test_what_cannot_be_checked_in_whole_numbers_is_not_called_safe(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(WitnessBook, "keep", lambda _book, _table: False)
    assert kinds(grid(TABLE, SQUARE, [0], level=10)) == {0: "unproved"}


def test_elevenths_are_told_as_they_are() -> None:
    """110 is eleven times 10, and 60 + 50 of which the 60 may be 80: the 10 may be 11 and 9/11, no whole part of 1/420."""
    columns = {name: np.array([0, 0, 0]) for name in ("lower_level", "upper_level")}
    marks = {"suppressed": np.array([True] * 3), "primary": np.array([True, False, False])}
    pattern = SuppressionPattern(
        relations=csr_matrix(np.array([[11, -1, -1]])),
        rhs=np.array([0]),
        value=np.array([10, 60, 50]),
        lower=np.array([0, 60, 50]),
        upper=np.array([100, 80, 50]),
        **{**columns, **marks, "upper_level": np.array([1, 0, 0])},
    )
    assert not kinds(pattern)
    assert audit_pattern(pattern, all_intervals=True).up.tolist() == [1, 20, 0]
    assert kinds(replace(pattern, upper_level=np.array([2, 0, 0]))) == {0: "inferential"}


def test_a_solver_that_finds_no_table_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attacker.ColumnRanges, "possible", property(lambda _ranges: False))
    with pytest.raises(SolverFailed, match="no table at all"):
        audit_pattern(grid(TABLE, SQUARE, [0]))


def test_nothing_suppressed() -> None:
    assert audit_pattern(grid(TABLE, [], [])).passed


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(
    inner=st.lists(st.lists(st.integers(0, 30), min_size=3, max_size=3), min_size=3, max_size=3),
    hidden=st.lists(st.integers(0, 15), min_size=1, max_size=12, unique=True),
    data=st.data(),
)
def test_against_slow_plain_code(inner: list[list[int]], hidden: list[int], data: st.DataObject) -> None:
    primary = data.draw(st.lists(st.sampled_from(hidden), unique=True))
    alone = data.draw(st.lists(st.sampled_from(hidden), unique=True, max_size=2))
    pattern = grid(inner, hidden, primary, level=3, singleton=np.isin(np.arange(16), alone))
    found = audit_pattern(pattern, all_intervals=True)
    cells = found.cells
    dense = pattern.relations.toarray()[:, cells]
    rows = dense.tolist()
    down, up = module._room(pattern, cells)
    for at, cell in enumerate(cells.tolist()):
        low, high = ends(dense, down, up, at)
        assert found.down[at] <= low + 1e-6
        assert found.up[at] <= high + 1e-6
        assert found.down[at] > low - 1 - 1e-6  # the whole part of what a linear program finds
        assert found.up[at] > high - 1 - 1e-6
        if follows(rows, at):
            assert found.verdict[at] in (Disclosure.EXACT, Disclosure.UNNEEDED)
            continue
        safe = not pattern.primary[cell] or (found.down[at] >= min(3, pattern.value[cell]) and found.up[at] >= 3)
        assert (found.verdict[at] is not Disclosure.INFERENTIAL) == safe
        told = [each for each in found.findings if each.cell == cell and each.kind is Disclosure.SINGLETON]
        for other in told[0].others if told else ():
            assert follows(rows, at, int(np.searchsorted(cells, other)))
