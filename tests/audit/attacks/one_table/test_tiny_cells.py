"""Numbers that stand out by being small: the neighbours, the attacker's word, the truth."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_matrix

import statveil as sv
from statveil.audit.attacks.attacker import TUNING, Effort
from statveil.audit.attacks.case import SystemCase, SystemOriginals
from statveil.audit.attacks.one_table import tiny_cells
from statveil.audit.attacks.one_table.tiny_cells import (
    Families,
    families_of_answer,
    families_of_relations,
    low_of_groups,
    low_of_neighbours,
    said_tiny,
    sample_of,
)
from statveil.audit.attacks.public import AnswerAxis, AnswerTable, ReleasedSystem
from statveil.audit.attacks.suite import attack_system
from statveil.audit.attacks.verdict import VerdictStatus
from statveil.tables.spec import Dimension

TOWN = Dimension(name="town", trees=(sv.Hierarchy.flat(list("abcdef")),))
TRADE = Dimension(name="trade", trees=(sv.Hierarchy.flat(["u", "v"]),))


def row(parts: list[int]) -> np.ndarray:
    """One sum: its parts, then their total."""
    return np.array([*parts, sum(parts)])


def case(released: list[int], true: list[int], sensitive: list[int], **more: object) -> SystemCase:
    value, size = row(true), len(true) + 1
    marked = np.isin(np.arange(size), sensitive)
    public = ReleasedSystem(
        relations=csr_matrix([[1] * len(true) + [-1]]),
        rhs=np.zeros(1, dtype=np.int64),
        released=row(released),
        low=np.zeros(size),
        high=np.full(size, np.inf),
        known_bounds=False,
    )
    level = marked * 1
    secret = SystemOriginals(value=value, sensitive=marked, lower=level, upper=level)
    return SystemCase(published=public, originals=secret, cap=2.0, effort=Effort(), **more)  # type: ignore[arg-type]


ONLY = ("T17", "T27")


def test_a_zero_published_as_one_among_thousands_is_told() -> None:
    report = attack_system(case([1, 4000, 5000, 6000, 7000], [0, 4000, 5000, 6000, 7000], [0]), target="row", only=ONLY)
    assert report["T27"].status is VerdictStatus.FAILED
    assert report["T27"].figures == {"sensitive cells": 1, "cells looked at": 1, "zero or tiny": 1, "told": 1}
    assert report["T17"].figures["sensitive zeros that stand out (T27)"] == 1
    assert report["T17"].status is VerdictStatus.FAILED


def test_a_zero_published_as_large_as_its_neighbours_is_not_told() -> None:
    """The smallest neighbour is 4000: from 2000 on nobody says "tiny"."""
    report = attack_system(case([2000, 4000, 5000, 6000, 7000], [0, 4000, 5000, 6000, 7000], [0]), target="row", only=ONLY)
    assert report["T27"].passed
    assert report["T17"].passed


def test_a_zero_published_as_zero_is_told_and_counted_once_by_t17() -> None:
    report = attack_system(case([0, 4000, 5000, 6000, 7000], [0, 4000, 5000, 6000, 7000], [0]), target="row", only=ONLY)
    assert report["T17"].number == "1 faults"
    assert report["T27"].figures["told"] == 1


def test_a_number_that_is_not_tiny_may_look_so() -> None:
    """1500 of 4000 is no tiny part; that it is released as 1200 tells nothing of it."""
    report = attack_system(case([1200, 4000, 5000, 6000, 7000], [1500, 4000, 5000, 6000, 7000], [0]), target="row", only=ONLY)
    assert report["T27"].passed
    assert report["T27"].figures["zero or tiny"] == 0


def test_without_sensitive_cells_there_is_nothing_to_tell() -> None:
    report = attack_system(case([1, 2, 3], [1, 2, 3], []), target="row", only=ONLY)
    assert report["T27"].reason == "No sensitive cell was released."


def test_a_set_of_cells_that_nobody_publishes_is_no_neighbour() -> None:
    hidden = case([1, 4000, 5000, 6000, 7000], [0, 4000, 5000, 6000, 7000], [0], shown=np.array([True] * 5 + [False]))
    assert attack_system(hidden, target="row", only=("T27",))["T27"].passed  # the sum is not seen, and the level holds the cell itself


def test_with_two_neighbours_the_whole_level_is_looked_at() -> None:
    """Two towns by two trades: a cell has one neighbour in its row and one in its column, so the other three cells count."""
    axes = (AnswerAxis(id="town", codes=("Total", "a", "b")), AnswerAxis(id="trade", codes=("Total", "u", "v")))
    values = np.array([[1600, 501, 1099], [701, 1, 700], [899, 500, 399]])
    town = Dimension(name="town", trees=(sv.Hierarchy.flat(["a", "b"]),))
    families = families_of_answer(AnswerTable(axes=axes, values=values, shown=np.ones((3, 3), dtype=bool)), {"town": town, "trade": TRADE})
    assert families.level.reshape(3, 3).tolist() == [[0, 1, 1], [2, 3, 3], [2, 3, 3]]
    assert low_of_neighbours(values.reshape(-1), families, np.array([4])).tolist() == [1]  # 1, 399, 500, 700: itself is of the level
    assert low_of_neighbours(np.where(values == 1, 0, values).reshape(-1), families, np.array([4])).tolist() == [399]


def test_neighbours_of_six_in_a_row() -> None:
    axes = (AnswerAxis(id="town", codes=TOWN.codes),)
    values = np.array([2120, 20, 100, 200, 300, 700, 800])
    families = families_of_answer(AnswerTable(axes=axes, values=values, shown=np.ones(7, dtype=bool)), {"town": TOWN})
    assert low_of_neighbours(values, families, np.array([1, 2])).tolist() == [100, 20]
    assert said_tiny(values, families, np.array([1, 2])).tolist() == [True, False]


def test_sums_of_either_sign_and_nothing_else_make_neighbours() -> None:
    relations = csr_matrix([[1, 1, 1, -1, 0], [-1, -1, 0, 0, 1], [1, 1, -1, -1, 0], [1, 0, 0, 0, -1]])
    families = families_of_relations(relations)
    assert sorted(zip(families.row.tolist(), families.part.tolist(), strict=True)) == [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1)]
    assert families.level.tolist() == [0, 0, 0, 1, 1]


def drawn(cells: int = 400, sums: int = 60) -> tuple[np.ndarray, Families]:
    rng = np.random.Generator(np.random.PCG64(7))
    pairs = np.unique(np.stack([rng.integers(0, sums, 3 * cells), rng.integers(0, cells, 3 * cells)]), axis=1)
    amounts = rng.integers(-500, 500, cells) * (rng.random(cells) < 0.8)
    return amounts, Families(row=pairs[0], part=pairs[1], level=rng.integers(0, 4, cells))


def plain_low(amounts: np.ndarray, families: Families, cell: int) -> int:
    """The same by loops and numpy's own percentile."""
    around = [
        abs(int(amounts[part]))
        for own in families.row[families.part == cell]
        for part in families.part[families.row == own]
        if part != cell and amounts[part]
    ]
    if len(around) < 3:
        around = np.abs(amounts[(families.level == families.level[cell]) & (amounts != 0)]).tolist()
    return int(np.percentile(around, 10, method="lower")) if around else 0


@pytest.mark.parametrize("at_once", [50, 4_000_000])
def test_quantiles_are_those_of_plain_code(monkeypatch: pytest.MonkeyPatch, at_once: int) -> None:
    monkeypatch.setattr(tiny_cells, "TUNING", TUNING._replace(neighbours_at_once=at_once))
    amounts, families = drawn()
    cells = np.arange(400)
    assert low_of_neighbours(amounts, families, cells).tolist() == [plain_low(amounts, families, cell) for cell in cells]


def test_no_cells_no_quantiles() -> None:
    amounts, families = drawn()
    assert low_of_neighbours(amounts, families, np.zeros(0, dtype=np.int64)).size == 0
    assert low_of_groups(np.array([2, 2]), np.array([5, 4]), 3).tolist() == [0, 0, 4]


def test_of_too_many_cells_or_neighbours_some_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    _, families = drawn()
    rng, cells = np.random.Generator(np.random.PCG64(0)), np.arange(400)
    assert sample_of(cells, families, rng).tolist() == cells.tolist()
    monkeypatch.setattr(tiny_cells, "TUNING", TUNING._replace(most_tiny_cells=30))
    assert sample_of(cells, families, rng).size == 30
    monkeypatch.setattr(tiny_cells, "TUNING", TUNING._replace(most_neighbours=500))
    some = sample_of(cells, families, rng)
    assert 0 < some.size < 400
    assert families.sizes(some).sum() <= 500
