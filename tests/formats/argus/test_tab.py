"""Ready tables: exact numbers with points or commas, statuses by their letters, and everything kept through a file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from statveil.core.errors import FormatError, InputError
from statveil.data.hierarchy import Hierarchy
from statveil.formats.argus.cells import ArgusStatus, CellTable, ExactColumn
from statveil.formats.argus.tab import Wanted, read_cells, write_cells
from statveil.tables.spec import Dimension
from tests.formats.argus.tab_files import RDA, TAB, table


def test_a_comma_before_the_decimals_and_blanks_before_the_code(tmp_path: Path) -> None:
    cells = table(tmp_path)
    assert [cells.codes(row) for row in range(cells.size)] == [("All",), (" 1",), (" 2",), ("99",)]
    assert cells.value.texts() == ["1600.50", "100.25", "1500.25", "-"]
    assert [ArgusStatus(each) for each in cells.status] == [
        ArgusStatus.SAFE,
        ArgusStatus.UNSAFE_MANUAL,
        ArgusStatus.SAFE,
        ArgusStatus.EMPTY,
    ]
    assert cells.lower is not None
    assert cells.lower.texts()[1] == "20.125"
    assert cells.frequency is not None
    assert cells.frequency.tolist() == [9, 4, 5, 0]


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (";9;", ";9;9;", "line 1: 9 fields, but the .rda file names 8 variables"),
        ("100,25", "1OO,25", "line 2: the value is not a number"),
        ("100,25", "1e999999999", "line 2: the value is not a number"),
        ("1500,25", "1.500", "line 3: decimal commas and decimal points in one file"),
        ("100,25", "9" * 30, "line 2: the value is too large"),
        (";4;", ";4,5;", "line 2: the frequency must be a whole number"),
        (";4;", ";0;", "line 2: a value that is not zero, and the frequency 0"),
        ("99;-;0", "99;-;2", "line 4: a frequency without a value"),
        (";U;", ";Q;", "line 2: unknown status 'Q'"),
        (";30\n", ";-30\n", "line 2: the upper protection level is below zero"),
        ('" 2"', '" 1"', "line 3: the cell is there already, on line 2"),
        ('" 2"', '" 2', "line 3: a quotation mark stands where none may"),
    ],
)
def test_a_complaint_names_file_and_line(tmp_path: Path, old: str, new: str, words: str) -> None:
    with pytest.raises(FormatError) as caught:
        table(tmp_path, TAB.replace(old, new, 1))
    assert f"x.tab, {words}" in str(caught.value)


def test_a_value_without_a_frequency_counts_as_one(tmp_path: Path) -> None:
    cells = table(tmp_path, TAB.replace(";4;", ";;"))
    assert cells.frequency is not None
    assert cells.frequency[1] == 1


def test_an_empty_code_is_the_total(tmp_path: Path) -> None:
    assert table(tmp_path, TAB.replace('"All"', '""')).codes(0) == ("All",)


def test_codes_outside_the_tree_are_told_and_padding_is_not_one(tmp_path: Path) -> None:
    (tmp_path / "t.hrc").write_text("1\n2\n", encoding="utf-8")
    rda = RDA.replace("  <RECODEABLE>", '  <RECODEABLE>\n  <HIERCODELIST> "E:\\z\\T.HRC"', 1)
    assert table(tmp_path, rda=rda).codes(1) == ("1",)
    with pytest.raises(FormatError, match="line 2: 'size' has no code ' 7'"):
        table(tmp_path, TAB.replace(" 1;", " 7;"), rda)


def test_the_response_must_be_named_when_there_are_several(tmp_path: Path) -> None:
    rda = RDA.replace("top1\n  <MAXSCORE>", "other\n  <NUMERIC>")
    with pytest.raises(FormatError, match="several response variables"):
        table(tmp_path, rda=rda)
    assert table(tmp_path, rda=rda, wanted=Wanted(response="OTHER")).value.texts()[0] == "900"


CODES = st.text(
    st.characters(codec="utf-8", exclude_characters="@#~\t", exclude_categories=["C", "Zl", "Zp"]), min_size=1, max_size=4
).filter(lambda code: code == code.rstrip() and code.strip() and code.strip() != "Total")


@st.composite
def cell_tables(draw: st.DrawFn) -> CellTable:
    dimensions = []
    for name in draw(st.lists(st.sampled_from(["region", "size", "nace", "v_status"]), min_size=1, max_size=3, unique=True)):
        codes = draw(st.lists(CODES, min_size=1, max_size=4, unique_by=str.strip))
        parent = dict.fromkeys(codes, codes[0] if draw(st.booleans()) else "Total") | {codes[0]: "Total"}
        dimensions.append(Dimension(name=name, trees=(Hierarchy(parent=parent),)))
    grid = np.stack([axis.ravel() for axis in np.meshgrid(*(np.arange(len(each.codes)) for each in dimensions), indexing="ij")], axis=1)
    size = len(grid)
    counts = np.array(draw(st.lists(st.integers(0, 50), min_size=size, max_size=size)), dtype=np.int64)
    empty = counts == 0

    def amounts(decimals: int, *, low: int = 0) -> ExactColumn:
        units = np.array(draw(st.lists(st.integers(low, 10**9), min_size=size, max_size=size)), dtype=np.int64)
        return ExactColumn(units=np.where(empty, 0, units), decimals=decimals, missing=np.zeros(size, bool))

    value = amounts(draw(st.integers(0, 4)), low=-(10**9))
    known = [int(each) for each in (ArgusStatus.SAFE, ArgusStatus.UNSAFE_MANUAL, ArgusStatus.PROTECTED, ArgusStatus.SECONDARY)]
    status = np.array(draw(st.lists(st.sampled_from(known), min_size=size, max_size=size)), dtype=np.int64)
    return CellTable(
        response="v",
        dimensions=tuple(dimensions),
        coordinates=grid.astype(np.int64),
        value=ExactColumn(units=value.units, decimals=value.decimals, missing=empty),
        status=np.where(empty, int(ArgusStatus.EMPTY), status),
        frequency=counts,
        shadow=amounts(2) if draw(st.booleans()) else None,
        cost=amounts(1) if draw(st.booleans()) else None,
        top=tuple(amounts(2) for _ in range(draw(st.integers(0, 2)))),
        lower=amounts(3),
        upper=amounts(3),
    )


def same(one: ExactColumn | None, other: ExactColumn | None) -> bool:
    if one is None or other is None:
        return one is other
    finer = max(one.decimals, other.decimals)
    units = [np.where(each.missing, 0, each.units) * 10 ** (finer - each.decimals) for each in (one, other)]
    return bool((units[0] == units[1]).all() and (one.missing == other.missing).all())


@settings(max_examples=60, deadline=None)
@given(cells=cell_tables(), separator=st.sampled_from(";|"), decimal=st.sampled_from(".,"))
def test_everything_a_table_holds_survives_writing_and_reading(
    tmp_path_factory: pytest.TempPathFactory, cells: CellTable, separator: str, decimal: str
) -> None:
    path = tmp_path_factory.mktemp("tab") / "with blanks.tab"
    write_cells(cells, path, separator=separator, decimal=decimal)
    again = read_cells(path)
    assert [each.codes for each in again.dimensions] == [each.codes for each in cells.dimensions]
    assert [each.trees[0].parent for each in again.dimensions] == [each.trees[0].parent for each in cells.dimensions]
    assert (again.coordinates == cells.coordinates).all()
    assert (again.status == cells.status).all()
    assert again.frequency is not None
    assert (again.frequency == cells.frequency).all()
    for name in ("value", "shadow", "cost", "lower", "upper"):
        assert same(getattr(again, name), getattr(cells, name)), name
    assert len(again.top) == len(cells.top)
    assert all(same(one, other) for one, other in zip(again.top, cells.top, strict=True))


def test_what_a_table_file_cannot_hold_is_refused(tmp_path: Path) -> None:
    (one,) = table(tmp_path).dimensions
    two = Dimension(name="d", trees=(Hierarchy.flat(["a", "b"]), Hierarchy(parent={"g": "Total", "a": "g", "b": "g"})))
    zeros = ExactColumn.known(np.zeros(1, np.int64), 0)
    trees = CellTable(response="v", dimensions=(two,), coordinates=np.zeros((1, 1), np.int64), value=zeros, status=np.ones(1, np.int64))
    adjusted = CellTable(
        response="v", dimensions=(one,), coordinates=np.zeros((1, 1), np.int64), value=zeros, status=np.ones(1, np.int64), adjusted=zeros
    )
    with pytest.raises(InputError, match="several trees of 'd'"):
        write_cells(trees, tmp_path / "y.tab")
    with pytest.raises(InputError, match="no place for adjusted values"):
        write_cells(adjusted, tmp_path / "y.tab")
