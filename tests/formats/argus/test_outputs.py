"""Code-value, SBS and CSV: what each shows of a cell, and what it withholds."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from statveil.core.errors import FormatError, InputError
from statveil.data.hierarchy import Hierarchy
from statveil.formats.argus.cells import ArgusStatus, CellTable, ExactColumn
from statveil.formats.argus.outputs import Style, read_code_value, write_code_value, write_csv_grid, write_sbs
from statveil.tables.spec import Dimension


def amounts(*units: int, decimals: int = 1, missing: tuple[int, ...] = ()) -> ExactColumn:
    return ExactColumn(units=np.array(units, dtype=np.int64), decimals=decimals, missing=np.isin(np.arange(len(units)), missing))


@pytest.fixture
def village() -> CellTable:
    """The total, bakers (safe), the only vet (unsafe by p%), two smiths (too few), no tailor."""
    trades = Hierarchy(parent={"food": "Total", "baker": "food", " vet": "Total", "smith": "Total", "tailor": "Total"})
    return CellTable(
        response="turnover",
        dimensions=(Dimension(name="trade", trees=(trades,)),),
        coordinates=np.array([[0], [2], [3], [4], [5]]),
        value=amounts(1000, 500, 300, 200, 0, missing=(4,)),
        status=np.array(
            [ArgusStatus.SAFE, ArgusStatus.SECONDARY, ArgusStatus.UNSAFE, ArgusStatus.UNSAFE_FREQUENCY, ArgusStatus.EMPTY], dtype=np.int64
        ),
        frequency=np.array([8, 5, 1, 2, 0]),
        top=(amounts(300, 200, 300, 150, 0), amounts(200, 100, 0, 50, 0)),
    )


def lines(path: Path) -> list[str]:
    return path.read_bytes().decode().split("\r\n")[:-1]


def test_unsafe_values_are_withheld_and_empty_ones_are_a_dash(village: CellTable, tmp_path: Path) -> None:
    write_code_value(village, tmp_path / "x.txt")
    assert lines(tmp_path / "x.txt") == ['"Total",100.0', '"baker",x', '" vet",x', '"smith",x', '"tailor",-']


def test_with_statuses_the_file_is_internal_and_shows_everything(village: CellTable, tmp_path: Path) -> None:
    write_code_value(village, tmp_path / "x.txt", style=Style(statuses=True, header=True, quotes=False, skip_empty=True))
    assert lines(tmp_path / "x.txt") == ["trade,turnover,Status", "Total,100.0,1", "baker,50.0,11", " vet,30.0,3", "smith,20.0,5"]


def test_after_an_adjustment_the_adjusted_value_comes_first(village: CellTable, tmp_path: Path) -> None:
    adjusted = replace(village, adjusted=amounts(1010, 490, 340, 180, 0))
    write_code_value(adjusted, tmp_path / "x.txt", style=Style(statuses=True, header=True))
    assert lines(tmp_path / "x.txt")[:3] == [
        '"trade","turnover_CTA","turnover_Orig","Status"',
        '"Total",101.0,100.0,1',
        '"baker",49.0,50.0,11',
    ]
    read = read_code_value(tmp_path / "x.txt", dimensions=1, header=True)
    assert (read[2].codes, read[2].value, read[2].original, read[2].status) == (
        (" vet",),
        Decimal("34.0"),
        Decimal("30.0"),
        ArgusStatus.UNSAFE,
    )


def test_for_the_public_a_released_zero_looks_like_an_empty_cell(village: CellTable, tmp_path: Path) -> None:
    adjusted = replace(village, adjusted=amounts(1010, 490, 340, 0, 0))
    write_code_value(adjusted, tmp_path / "x.txt")
    assert lines(tmp_path / "x.txt")[3:] == ['"smith",-', '"tailor",-']
    write_code_value(adjusted, tmp_path / "y.txt", style=Style(skip_empty=True))
    assert len(lines(tmp_path / "y.txt")) == 3


@pytest.mark.parametrize(
    ("flag", "vet"),
    [("F", '" vet",1,30.0,1,F,100.0,0.0'), ("C", '" vet",1,30.0,1,C,100.0'), ("B", '" vet",1,30.0,1,B,100.0')],
)
def test_sbs_flags_tell_one_dominant_from_two_and_from_the_p_rule(village: CellTable, tmp_path: Path, flag: str, vet: str) -> None:
    write_sbs(village, tmp_path / "x.sbs", levels=True, concentration=flag)
    assert lines(tmp_path / "x.sbs") == ['"Total",0,100.0,8,V', '"baker",2,50.0,5,D', vet, '"smith",1,20.0,2,A']


@pytest.mark.parametrize("status", [ArgusStatus.UNSAFE_REQUEST, ArgusStatus.UNSAFE_ZERO, ArgusStatus.UNSAFE_MANUAL])
def test_sbs_flags_the_other_reasons_with_b(village: CellTable, tmp_path: Path, status: ArgusStatus) -> None:
    write_sbs(replace(village, status=np.full(5, int(status))), tmp_path / "x.sbs", quotes=False, concentration="C")
    assert lines(tmp_path / "x.sbs")[2] == " vet,30.0,1,B,100.0"


def test_sbs_needs_frequencies_and_knows_no_adjustment(village: CellTable, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="frequency"):
        write_sbs(replace(village, frequency=None), tmp_path / "x.sbs")
    with pytest.raises(InputError, match="adjusted"):
        write_sbs(replace(village, adjusted=village.value), tmp_path / "x.sbs")


def test_csv_is_a_grid(tmp_path: Path) -> None:
    dimensions = tuple(Dimension(name=name, trees=(Hierarchy.flat(codes),)) for name, codes in (("r", ["a"]), ("c", ["x", "y"])))
    cells = CellTable(
        response="v",
        dimensions=dimensions,
        coordinates=np.array([[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [1, 2]]),
        value=amounts(30, 10, 20, 30, 10, 20, decimals=0),
        status=np.array([1, 1, 3, 1, 1, 3]),
        adjusted=amounts(31, 10, 21, 31, 10, 21, decimals=0),
    )
    write_csv_grid(cells, tmp_path / "x.csv", quotes=False)
    assert lines(tmp_path / "x.csv") == [",Total,x,y", "Total,31,10,21", "a,31,10,21", ""]


@pytest.mark.parametrize(
    ("text", "words"),
    [('"a","b"\n', "line 1: a line has 2 codes"), ('"a","b",1,99\n', "line 1: the status"), ('"a","b",1x,3\n', "line 1: the value")],
)
def test_a_damaged_code_value_file_names_its_line(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "x.txt").write_text(text, encoding="utf-8")
    with pytest.raises(FormatError, match=words):
        read_code_value(tmp_path / "x.txt", dimensions=2)


CODES = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Zl", "Zp"]), max_size=5).filter(lambda code: code == code.rstrip())


@settings(max_examples=50, deadline=None)
@given(data=st.data(), statuses=st.booleans(), adjusted=st.booleans(), header=st.booleans())
def test_every_line_of_a_code_value_file_says_what_was_written(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, statuses: bool, adjusted: bool, header: bool
) -> None:
    plain = CODES.filter(lambda code: code.strip() and '"' not in code and code != "Total")
    codes = data.draw(st.lists(plain, min_size=1, max_size=5, unique=True))
    size = len(codes) + 1
    units = st.lists(st.integers(-(10**12), 10**12), min_size=size, max_size=size)
    known = [int(status) for status in ArgusStatus if ArgusStatus.SAFE <= status <= ArgusStatus.SECONDARY_MANUAL]
    empty = np.array(data.draw(st.lists(st.booleans(), min_size=size, max_size=size)))
    status = np.array(data.draw(st.lists(st.sampled_from(known), min_size=size, max_size=size)))
    cells = CellTable(
        response="v",
        dimensions=(Dimension(name="d", trees=(Hierarchy.flat(codes),)),),
        coordinates=np.arange(size).reshape(-1, 1),
        value=ExactColumn(units=np.array(data.draw(units)), decimals=2, missing=empty),
        status=np.where(empty, int(ArgusStatus.EMPTY), status),
        adjusted=ExactColumn(units=np.array(data.draw(units)), decimals=2, missing=empty) if adjusted else None,
    )
    path = tmp_path_factory.mktemp("txt") / "x.txt"
    write_code_value(cells, path, style=Style(statuses=statuses, header=header))
    for row, line in enumerate(read_code_value(path, dimensions=1, header=header)):
        original = None if empty[row] else Decimal(int(cells.value.units[row])).scaleb(-2)
        moved = None if cells.adjusted is None or empty[row] else Decimal(int(cells.adjusted.units[row])).scaleb(-2)
        told = ArgusStatus(int(cells.status[row]))
        hidden = not (statuses or adjusted) and (told.unsafe or told.secondary)
        assert line.codes == cells.codes(row)
        assert line.withheld == hidden
        assert (line.value or 0) == (0 if hidden else (moved if adjusted else original) or 0)
        assert line.status == (told if statuses else None)
        assert line.original == (original if statuses and adjusted else None)
