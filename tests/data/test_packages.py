"""Files of SPSS, Stata, SAS and Excel: the same records whatever they come from, and a clear word when a package is missing."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import xlsxwriter

from statveil.core.errors import BackendMissing, FormatError, InputError
from statveil.data import packages
from statveil.data.readers import read_microdata
from statveil.tables.spec import TableSpec
from statveil.tables.tabulate.tabulate import tabulate

pyreadstat = pytest.importorskip("pyreadstat")

FIRMS = pd.DataFrame({"region": [1.0, 2.0, 2.0], "trade": ["01", " x", "Øl"], "turnover": [10.5, 0.1, 7.0]})
WRITERS = {
    "firms.sav": pyreadstat.write_sav,
    "firms.zsav": lambda frame, path: pyreadstat.write_sav(frame, path, compress=True),
    "firms.por": pyreadstat.write_por,
    "firms.dta": pyreadstat.write_dta,
    "firms.xpt": pyreadstat.write_xport,
}


def workbook(path: Path, rows: list[list[Any]]) -> Path:
    book = xlsxwriter.Workbook(str(path))
    sheet = book.add_worksheet()
    for line, row in enumerate(rows):
        sheet.write_row(line, 0, row)
    book.close()
    return path


@pytest.mark.parametrize("name", WRITERS)
def test_codes_stay_codes_and_amounts_add_up(tmp_path: Path, name: str) -> None:
    frame = FIRMS if name != "firms.por" else FIRMS.assign(trade=["01", " x", "Ol"])
    WRITERS[name](frame, str(tmp_path / name))
    data = read_microdata(tmp_path / name)
    columns = [next(column for column in data.columns if column.lower() == wanted) for wanted in ("region", "trade", "turnover")]
    table = tabulate(data, TableSpec(dimensions={columns[0]: None, columns[1]: None}, measure=columns[2]))
    assert table.views[0].dimensions[0].codes == ("Total", "1", "2")
    assert "01" in table.views[0].dimensions[1].codes
    assert (table.value[0], table.scale) == (176, 1)


def test_a_declared_missing_value_is_missing_and_refused(tmp_path: Path) -> None:
    pyreadstat.write_sav(FIRMS.assign(turnover=[10.5, 99.0, 7.0]), str(tmp_path / "x.sav"), missing_ranges={"turnover": [99.0]})
    with pytest.raises(InputError, match="one missing value, in row 2"):
        tabulate(read_microdata(tmp_path / "x.sav"), TableSpec(dimensions={"region": None}, measure="turnover"))


def test_codes_beside_missing_values_stay_codes(tmp_path: Path) -> None:
    frame = pd.DataFrame({"code": [None, 1.0, 2.0], "amount": [1.5, None, 2.0], "none": [None, None, None], "text": ["", "x", "y"]})
    for ending, write in (("sav", pyreadstat.write_sav), ("dta", pyreadstat.write_dta)):
        write(frame.astype({"none": float}), str(tmp_path / f"x.{ending}"))
        found = packages.read_stats(tmp_path / f"x.{ending}").to_pydict()
        assert found == {"code": [None, 1, 2], "amount": [1.5, None, 2.0], "none": [None] * 3, "text": [None, "x", "y"]}
        assert [type(value) for value in found["code"][1:]] == [int, int]


@pytest.mark.parametrize("name", WRITERS)
def test_a_file_read_in_pieces_is_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    days = [date(2020, 1, each) for each in range(1, 11)]
    frame = pd.DataFrame({"A": [*range(9), 1.5], "B": ["", *"abcdefghi"], "C": [None] * 5 + [1.0] * 5, "D": days, "E": [None] * 9 + ["x"]})
    WRITERS[name](frame, str(tmp_path / name))
    whole = packages.read_stats(tmp_path / name)
    assert whole.num_rows == 10
    for values in (1, 10, 15, 50, 55):
        monkeypatch.setattr(packages, "PIECE_VALUES", values)
        assert packages.read_stats(tmp_path / name).equals(whole)


def test_excel_is_read_as_text(tmp_path: Path) -> None:
    path = workbook(tmp_path / "x.xlsx", [["region", "turnover"], ["01", 10.5], [" 2", 1], ["01", 0.1]])
    table = tabulate(read_microdata(path), TableSpec(dimensions={"region": None}, measure="turnover"))
    assert table.views[0].dimensions[0].codes == ("Total", " 2", "01")
    assert (table.value[0], table.scale) == (116, 1)


def test_a_column_without_a_name_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="line 1: column 2 has no name"):
        read_microdata(workbook(tmp_path / "x.xlsx", [["region", ""], ["01", 10.5]]))


@pytest.mark.parametrize("name", ["x.sav", "x.dta", "x.sas7bdat", "x.xpt", "x.xlsx", "x.ods"])
def test_a_damaged_file_is_refused_without_quoting_it(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"SECRET 12345 not such a file" * 20)
    with pytest.raises(FormatError, match="cannot be read as a") as caught:
        read_microdata(tmp_path / name)
    assert "SECRET" not in str(caught.value)


@pytest.mark.parametrize(("name", "extra"), [("x.sav", "stats"), ("x.xlsx", "excel")])
def test_a_missing_package_is_named_with_its_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, extra: str) -> None:
    (tmp_path / name).write_bytes(b"x")
    monkeypatch.setattr(packages, "find_spec", lambda _name: None)
    with pytest.raises(BackendMissing, match=rf"statveil\[{extra}\]"):
        read_microdata(tmp_path / name)
