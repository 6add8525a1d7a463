"""A village small enough to add up by hand."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from statveil.core.errors import HierarchyError, InputError, UnknownColumn
from statveil.data.hierarchy import Hierarchy
from statveil.data.readers import read_microdata
from statveil.tables import positions
from statveil.tables.spec import TableSpec
from statveil.tables.table import Table
from statveil.tables.tabulate import tabulate

TOWNS = Hierarchy.from_dict({"Flevoland": ["Urk", "Almere"], "Gelderland": ["Ede"]})
TRADES = Hierarchy.flat(["vet", "baker"])
VILLAGE = {
    "town": ["Urk", "Urk", "Almere", "Almere", "Ede"],
    "trade": ["vet", "baker", "baker", "baker", "baker"],
    "turnover": ["10.50", "20", "-5.25", "5.25", "7"],
    "weight": ["1", "1.5", "2", "1", "1"],
    "owner": ["Jansen", "Bakker", "Bakker", "Visser", "Visser"],
    "waived": ["no", "Yes", "no", "TRUE", "1"],
}


def build(columns: dict[str, Any] | None = None, **spec: Any) -> Table:
    spec = {"dimensions": {"town": TOWNS, "trade": TRADES}, "measure": "turnover"} | spec
    return tabulate(read_microdata(pa.table(columns or VILLAGE)), TableSpec(**spec))


def cell(table: Table, *codes: str, view: int = 0) -> int:
    seen = table.views[view]
    wanted = [axis.position[code] for axis, code in zip(seen.dimensions, codes, strict=True)]
    return int(seen.cell[np.flatnonzero((seen.coordinates == wanted).all(axis=1))[0]])


@pytest.mark.slow
def test_values_are_exact_units() -> None:
    table = build()
    assert (table.scale, table.decimals) == (2, 2)
    assert table.value[cell(table, "Total", "Total")] == 3750
    assert table.value[cell(table, "Flevoland", "Total")] == 3050


def test_a_zero_with_respondents_is_a_cell_and_an_empty_position_is_not() -> None:
    table = build()
    zero = cell(table, "Almere", "baker")
    assert (table.value[zero], table.records[zero], table.magnitude[zero]) == (0, 2, 1050)
    with pytest.raises(IndexError):
        cell(table, "Ede", "vet")


def test_the_only_vet_is_the_total_of_the_vets() -> None:
    table = build()
    assert cell(table, "Urk", "vet") == cell(table, "Flevoland", "vet") == cell(table, "Total", "vet")


def test_positions_are_in_ascending_order_and_cells_by_first_appearance() -> None:
    view = build().views[0]
    assert view.coordinates.tolist() == sorted(view.coordinates.tolist())
    firsts = [view.cell.tolist().index(number) for number in range(int(view.cell.max()) + 1)]
    assert firsts == sorted(firsts)


def test_two_records_of_one_owner_are_one_respondent() -> None:
    table = build(holding="owner")
    bakers = cell(table, "Total", "baker")
    assert (table.records[bakers], table.respondents[bakers], table.frequency[bakers]) == (4, 2, 2)
    assert table.top[bakers].tolist() == [1475, 1225, 0]


def test_an_owner_has_waived_only_if_all_its_records_have() -> None:
    table = build(holding="owner", waiver="waived")
    assert table.largest_unwaived[cell(table, "Total", "baker")] == 1475
    assert table.largest_unwaived[cell(table, "Urk", "baker")] == -1
    assert (table.largest_requested == -1).all()


def test_a_weight_repeats_the_unit() -> None:
    table = build(weight="weight")
    urk = cell(table, "Urk", "baker")
    assert (table.scale, table.rule_scale, table.frequency_scale) == (3, 3, 1)
    assert (table.value[urk], table.magnitude[urk], table.frequency[urk]) == (30000, 30000, 15)
    assert table.top[urk].tolist() == [20000, 10000, 0]


def test_a_known_weight_is_part_of_the_contribution() -> None:
    table = build(weight="weight", weight_policy="contribution")
    assert table.top[cell(table, "Urk", "baker")].tolist() == [30000, 0, 0]
    assert table.frequency_scale == 0


def test_without_measure_records_are_counted() -> None:
    table = build(measure=None)
    assert (table.scale, table.decimals, table.value[0]) == (0, 0, 5)


def test_more_decimals_than_the_records_have_make_finer_units() -> None:
    table = build(decimals=4)
    assert (table.scale, table.decimals, table.value[0]) == (4, 4, 375000)
    assert build(decimals=0).scale == 2


@pytest.mark.parametrize("decimals", [{"decimals": 10}, {"weight_decimals": -1}, {"weight_decimals": 10}])
def test_decimals_beyond_reason_are_refused(decimals: dict[str, int]) -> None:
    with pytest.raises(InputError, match="decimals of 'table' is"):
        build(weight="weight", **decimals)


def test_weights_are_rounded_half_to_even_when_asked() -> None:
    columns = VILLAGE | {"weight": ["0.125", "0.375", "1", "1", "1.0000000001"]}
    table = build(columns, measure=None, weight="weight", weight_decimals=2)
    assert table.frequency[cell(table, "Urk", "vet")] == 12
    assert table.frequency[cell(table, "Urk", "baker")] == 38
    assert table.frequency[cell(table, "Ede", "Total")] == 100


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


def test_floats_are_taken_as_they_are_written() -> None:
    table = build(VILLAGE | {"turnover": [0.1, 0.2, 1e-7, 12345678.5, 3.0]})
    assert (table.scale, table.value[0]) == (7, 123456818000001)


def test_pandas_categories_and_integers_are_read() -> None:
    frame = pd.DataFrame({"town": pd.Categorical(["Urk", "Ede"]), "year": [2024, 2024], "turnover": [1, 2]})
    table = tabulate(read_microdata(frame), TableSpec(dimensions={"town": TOWNS, "year": None}, measure="turnover"))
    assert table.views[0].dimensions[1].codes == ("Total", "2024")
    assert table.value[0] == 3


def test_alternative_trees_group_the_same_leaves() -> None:
    coast = Hierarchy.from_dict({"Water": ["Urk"], "Land": ["Almere", "Ede"]})
    table = build(dimensions={"town": [TOWNS, coast]})
    assert table.value[cell(table, "Land")] == 700
    assert cell(table, "Water") == cell(table, "Urk")


def test_the_same_margin_in_two_linked_tables_is_one_cell() -> None:
    specs = [
        TableSpec(dimensions={"town": TOWNS}, measure="turnover", name="a"),
        TableSpec(dimensions={"trade": TRADES}, measure="turnover", name="b"),
    ]
    table = tabulate(read_microdata(pa.table(VILLAGE)), specs)
    assert cell(table, "Total", view=0) == cell(table, "Total", view=1)
    assert cell(table, "Urk", view=0) != cell(table, "vet", view=1)


def test_linked_tables_must_agree() -> None:
    specs = [TableSpec(dimensions={"town": TOWNS}, measure="turnover", name="a"), TableSpec(dimensions={"trade": TRADES}, name="b")]
    with pytest.raises(InputError, match="differ in measure: 'a' has 'turnover', 'b' has None"):
        tabulate(read_microdata(pa.table(VILLAGE)), specs)
    with pytest.raises(InputError, match="same name"):
        tabulate(read_microdata(pa.table(VILLAGE)), [specs[0], specs[0]])
    with pytest.raises(InputError, match="no table"):
        tabulate(read_microdata(pa.table(VILLAGE)), [])
    with pytest.raises(InputError, match="at least 1"):
        tabulate(read_microdata(pa.table(VILLAGE)), specs[0], top=0)


def test_structural_zeros_are_told_apart_from_empty_positions() -> None:
    view = build(structural_zeros=[{"town": "Gelderland", "trade": "vet"}]).views[0]
    assert [[axis.codes[place] for axis, place in zip(view.dimensions, row, strict=True)] for row in view.structural] == [
        ["Gelderland", "vet"],
        ["Ede", "vet"],
    ]


def test_records_where_none_can_be_are_refused() -> None:
    with pytest.raises(InputError, match="3 records lie where"):
        build(structural_zeros=[{"town": "Flevoland", "trade": "baker"}])
    with pytest.raises(HierarchyError, match="lacks"):
        build(structural_zeros=[{"town": "Oz"}])


def test_too_many_structural_zeros_or_cells_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(positions, "TUNING", positions.TUNING._replace(most_structural=1))
    with pytest.raises(InputError, match="narrower"):
        build(structural_zeros=[{"town": "Gelderland", "trade": "vet"}])
    monkeypatch.setattr(positions, "TUNING", positions.TUNING._replace(most_cells=5))
    with pytest.raises(InputError, match="may have 16 cells"):
        build()


def test_a_grid_beyond_integers_is_refused() -> None:
    columns = {f"d{n}": ["0"] for n in range(20)}
    tree = Hierarchy.flat([str(n) for n in range(10)])
    with pytest.raises(InputError, match="too large to number"):
        build(columns, dimensions=dict.fromkeys(columns, tree), measure=None)


@pytest.mark.parametrize(
    ("change", "spec", "words"),
    [
        ({"turnover": ["1", "x", "secret", "1", "1"]}, {}, "'turnover' has 2 values that are not numbers, the first in row 2 ("),
        ({"turnover": [1.0, float("nan"), float("inf"), 1.0, 1.0]}, {}, "'turnover' has 2 values that are not numbers"),
        ({"turnover": ["1,5", "1", "1", "1", "1"]}, {}, "'turnover' has one value that is not a number, in row 1 (counted from 1)."),
        ({"turnover": ["1", None, "", "1", "1"]}, {}, "'turnover' has 2 missing values, the first in row 2 (counted from 1)."),
        ({"town": ["Urk", None, "Urk", "Urk", "Urk"]}, {}, "'town' has one missing value, in row 2 ("),
        ({"turnover": ["1", "0.0000000001", "1", "1", "1"]}, {}, "more than 9 decimals"),
        ({"turnover": ["1", "1e-99999999999", "1", "1", "1"]}, {}, "more than 9 decimals"),
        ({"turnover": ["1", "1e30", "1", "1", "1"]}, {}, "too large"),
        ({"turnover": ["4e18", "4e18", "1", "1", "1"]}, {}, "too large"),
        ({"weight": ["1", "-1", "1", "1", "1"]}, {"weight": "weight"}, "'weight' has one negative weight, in row 2 ("),
        ({"weight": ["1", "0.1234567", "1", "1", "1"]}, {"weight": "weight"}, "more than 6 decimals"),
        (
            {"waived": ["1", "0", "perhaps", "no", "no"]},
            {"waiver": "waived"},
            "'waived' has one value that is neither true nor false, in row 3 (",
        ),
        ({"owner": ["a", None, "b", "b", "b"]}, {"holding": "owner"}, "'owner' has one missing value, in row 2 ("),
    ],
)
def test_bad_values_are_counted_and_never_shown(change: dict[str, Any], spec: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError) as caught:
        build(VILLAGE | change, **spec)
    assert words in str(caught.value)
    assert "secret" not in str(caught.value)


def test_unknown_columns_and_codes_are_named() -> None:
    with pytest.raises(UnknownColumn, match="'profit'"):
        build(measure="profit")
    with pytest.raises(HierarchyError, match="lacks: 'Ede', 'Urk'"):
        build(dimensions={"town": Hierarchy.flat(["Almere"])})


def test_decimal_commas_are_understood_in_files_with_semicolons(tmp_path: Path) -> None:
    path = tmp_path / "firms.csv"
    path.write_bytes("stad;omzet;n\n s-Hertogenbosch ;1,5;1\nÅ.b c;-2,25;2\n".encode("latin-1"))
    table = tabulate(read_microdata(path), TableSpec(dimensions={"stad": None}, measure="omzet", weight="n"))
    assert table.views[0].dimensions[0].codes == ("Total", " s-Hertogenbosch ", "Å.b c")
    assert (table.scale, table.value[0]) == (2, -300)


def test_two_decimal_marks_in_one_column_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "firms.csv"
    path.write_text("stad;omzet\na;1,5\nb;2.5\n")
    with pytest.raises(InputError, match="one number with another decimal mark than the rest, in line 2"):
        tabulate(read_microdata(path), TableSpec(dimensions={"stad": None}, measure="omzet"))


def test_the_points_of_a_word_are_no_decimal_marks(tmp_path: Path) -> None:
    path = tmp_path / "firms.csv"
    path.write_text("stad;omzet\na;1,5\nb;k.A.\n")
    with pytest.raises(InputError, match="'omzet' has one value that is not a number, in line 3"):
        tabulate(read_microdata(path), TableSpec(dimensions={"stad": None}, measure="omzet"))


def test_a_header_without_records_is_an_empty_table(tmp_path: Path) -> None:
    path = tmp_path / "firms.csv"
    path.write_text("town,turnover,weight,owner\n")
    for extra in ({}, {"weight": "weight"}, {"holding": "owner"}):
        table = tabulate(read_microdata(path), TableSpec(dimensions={"town": TOWNS}, measure="turnover", **extra))
        assert (table.size, table.views[0].coordinates.shape, table.top.shape) == (0, (0, 1), (0, 3))
    with pytest.raises(InputError, match="has no records to take the codes of 'town' from"):
        tabulate(read_microdata(path), TableSpec(dimensions={"town": None}, measure="turnover"))


def test_one_record_is_one_cell() -> None:
    table = build({name: column[:1] for name, column in VILLAGE.items()})
    assert (table.size, len(table.views[0].cell)) == (1, 6)


def test_a_bad_value_in_a_file_is_found_by_its_line(tmp_path: Path) -> None:
    path = tmp_path / "firms.csv"
    path.write_text('town,turnover\n"U\nrk",1\n\nEde,secret\nEde,x\n')
    with pytest.raises(InputError, match="'turnover' has 2 values that are not numbers, the first in line 5") as caught:
        tabulate(read_microdata(path), TableSpec(dimensions={"town": None}, measure="turnover"))
    assert "secret" not in str(caught.value)


def test_a_code_that_is_also_the_total_names_its_column() -> None:
    with pytest.raises(HierarchyError, match=r"Column 'town' has a code 'Total', which is also the code of its total.*total='All'"):
        build(VILLAGE | {"town": ["Urk", "Total", "Urk", "Urk", "Urk"]}, dimensions={"town": None})


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"dimensions": {"town": "flat"}}, "'town' is given as str.*None for a flat dimension"),
        ({"dimensions": {"town": 3}}, "'town' is given as int"),
        ({"dimensions": {"town": []}}, "'town' has an empty list"),
        ({"dimensions": {"town": [TOWNS, "flat"]}}, "'town' has str among its hierarchies"),
        ({"dimensions": ["town", "trade"]}, "a dict from columns to hierarchies, not list.*'region': None"),
        ({"dimensions": {}}, "at least one dimension"),
        ({"dimensions": {"": None}}, "A dimension must be the name of a column"),
        ({"dimensions": {3: None}}, "A dimension must be the name of a column"),
        ({"measure": 3}, "measure must be the name of a column or None"),
        ({"weight": ""}, "weight must be the name of a column or None"),
        ({"decimals": "two"}, "decimals must be a whole number or None, not str"),
        ({"decimals": True}, "decimals must be a whole number or None, not bool"),
        ({"weight_decimals": 1.5}, "weight_decimals must be a whole number or None, not float"),
        ({"weight_policy": "none"}, "Unknown weight_policy"),
        ({"structural_zeros": {"town": "Urk"}}, "structural_zeros must be a list"),
        ({"structural_zeros": ["Urk"]}, "structural_zeros holds str"),
        ({"structural_zeros": [{"shire": "Urk"}]}, "'shire', which is not a dimension"),
        ({"name": ""}, "name of a table"),
        ({"name": " "}, "name of a table"),
        ({"name": None}, "name of a table"),
    ],
)
def test_a_spec_that_makes_no_sense_is_refused_in_words(wrong: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        TableSpec(**{"dimensions": {"town": TOWNS}, **wrong})


@pytest.mark.parametrize("role", ["measure", "weight", "holding", "shadow"])
def test_what_single_records_hold_is_no_dimension(role: str) -> None:
    with pytest.raises(InputError, match=f"'owner' is the {role} and also a dimension"):
        TableSpec(dimensions={"town": TOWNS, "owner": None}, **{role: "owner"})


@pytest.mark.parametrize("specs", [3, "town", {"town": None}, [TableSpec(dimensions={"town": TOWNS}), "town"]])
def test_what_is_no_spec_is_refused(specs: Any) -> None:
    with pytest.raises(InputError, match="TableSpec"):
        tabulate(read_microdata(pa.table(VILLAGE)), specs)


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
