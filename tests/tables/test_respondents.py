"""Who is behind single cells: against what the table says of them, and by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import statveil as sv
from statveil.tables.respondents import CellRespondents, respondents_of
from statveil.tables.table import Table

DICE = np.random.Generator(np.random.PCG64(4))
SIZE = 60
FIRMS = sv.read_microdata(
    pa.table(
        {
            "region": DICE.choice(["N1", "N2", "S1"], SIZE),
            "trade": DICE.choice(["u", "v"], SIZE),
            "owner": DICE.integers(0, 12, SIZE).astype(str),
            "sales": DICE.integers(0, 900, SIZE),
            "staff": DICE.integers(1, 9, SIZE),
            "weight": DICE.choice(["1", "1.5", "3"], SIZE),
            "waives": DICE.choice(["true", "false"], SIZE),
        }
    )
)
REGION = sv.Hierarchy.from_dict({"N": ["N1", "N2"], "S": ["S1"]})


def spec(**more: Any) -> sv.TableSpec:
    return sv.TableSpec(dimensions={"region": REGION, "trade": None}, measure="sales", **more)


def rows_of(found: CellRespondents, cell: int) -> CellRespondents:
    return found.take(np.flatnonzero(found.cell == cell))


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"holding": "owner"},
        {"holding": "owner", "shadow": "staff", "waiver": "waives"},
        {"weight": "weight", "holding": "owner"},
        {"weight": "weight", "weight_policy": "contribution", "waiver": "waives"},
    ],
)
def test_contributions_are_those_that_the_table_was_judged_by(more: dict[str, str]) -> None:
    table = sv.tabulate(FIRMS, spec(**more), top=3)
    found = respondents_of(FIRMS, [spec(**more)], table, np.arange(table.size))
    for cell in range(table.size):
        rows = rows_of(found, cell)
        amount = np.abs(rows.amount)
        assert rows.cell.size == table.respondents[cell]
        assert amount.sum() == table.magnitude[cell]
        assert np.sort(amount)[::-1][:3].tolist() == table.top[cell].tolist()[: rows.cell.size]
        assert amount[rows.unwaived].max(initial=-1) == table.largest_unwaived[cell]
        assert (rows.copies == 1).all()


def test_a_weight_may_say_how_many_equal_units_a_record_stands_for() -> None:
    table = sv.tabulate(FIRMS, spec(weight="weight"), top=3)
    found = respondents_of(FIRMS, [spec(weight="weight")], table, np.array([0]))
    assert set(found.copies.tolist()) == {1, 3}
    assert found.amount.max() == table.top[0, 0]


def linked() -> tuple[Table, list[sv.TableSpec]]:
    specs = [spec(holding="owner", name="sales"), sv.TableSpec(dimensions={"trade": None}, measure="staff", holding="owner", name="staff")]
    pair = sv.CellSet(cells=[{"region": "N1", "trade": "u"}, {"region": "S1", "trade": "u"}], view="sales")
    return sv.tabulate(FIRMS, specs, sets=[pair]), specs


def test_sets_of_cells_and_linked_tables_have_respondents_too() -> None:
    table, specs = linked()
    asked = np.array([table.unions[0].cell, *np.unique(table.views[1].cell)])
    found = respondents_of(FIRMS, specs, table, np.sort(asked))
    assert np.unique(found.cell).tolist() == np.sort(asked).tolist()
    for cell in asked:
        assert np.abs(rows_of(found, cell).amount).sum() == table.magnitude[cell]
        assert rows_of(found, cell).cell.size == table.respondents[cell]


def test_no_cells_no_respondents() -> None:
    table, specs = linked()
    assert respondents_of(FIRMS, specs, table, np.zeros(0, dtype=np.int64)).cell.size == 0


def test_nobody_is_shown() -> None:
    table, specs = linked()
    assert repr(respondents_of(FIRMS, specs, table, np.array([0]))) == "CellRespondents()"
