"""What a table is: its hash, its arrays, what it shows of itself."""

from __future__ import annotations

import random

import pytest

from statveil.core.errors import HierarchyError
from tests.tables.village import VILLAGE, build, cell


def test_the_order_of_records_does_not_matter() -> None:
    order = list(range(5))
    random.Random(1).shuffle(order)
    one, other = build(holding="owner"), build({name: [column[i] for i in order] for name, column in VILLAGE.items()}, holding="owner")
    assert one.input_hash == other.input_hash
    assert one.top.tobytes() == other.top.tobytes()
    assert one.value.tobytes() == other.value.tobytes()
    assert one.views[0].cell.tobytes() == other.views[0].cell.tobytes()


def test_another_record_gives_another_hash() -> None:
    assert build().input_hash != build(VILLAGE | {"turnover": ["10.50", "20", "-5.25", "5.25", "8"]}).input_hash


def test_arrays_are_closed_for_writing() -> None:
    with pytest.raises(ValueError, match="read-only"):
        build().value[0] = 1


def test_a_code_that_is_also_the_total_names_its_column() -> None:
    with pytest.raises(HierarchyError, match=r"Column 'town' has a code 'Total', which is also the code of its total.*total='All'"):
        build(VILLAGE | {"town": ["Urk", "Total", "Urk", "Urk", "Urk"]}, dimensions={"town": None})


def test_a_table_shows_no_number_of_its_cells() -> None:
    table = build()
    assert len(repr(table)) < 1000
    for word in ("array", "top=", "value=", "coordinates"):
        assert word not in repr(table)


def test_units_are_the_respondents_that_weights_stand_for_and_never_fewer_than_there_are() -> None:
    columns = {
        "town": ["Urk", "Urk", "Ede"],
        "trade": ["vet", "vet", "baker"],
        "turnover": ["4", "2", "3"],
        "weight": ["0.4", "0.5", "2.5"],
    }
    table = build(columns, weight="weight")
    assert table.units[cell(table, "Urk", "vet")] == 2
    assert table.units[cell(table, "Ede", "baker")] == 3
    assert build(columns).units[cell(build(columns), "Total", "Total")] == 3
