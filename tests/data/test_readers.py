"""Files become records: delimiter, encoding, lines and types found, or refused in our words."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import xlsxwriter

from statveil.core.errors import BackendMissing, FormatError, InputError, StatveilError, UnknownColumn
from statveil.data import readers
from statveil.data.readers import read_microdata
from statveil.tables.spec import TableSpec
from statveil.tables.tabulate import tabulate
from tests.data.read_files import FRAME, rows


def written(folder: Path, content: str | bytes, name: str = "firms.csv") -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1", "cp1252", "utf-16"])
def test_delimiter_and_encoding_are_found_and_text_is_kept(tmp_path: Path, delimiter: str, encoding: str) -> None:
    text = "région,code\n Århus ,01\n'Ö. b',1.5\n".replace(",", delimiter)
    data = read_microdata(written(tmp_path, text.encode(encoding)))
    assert data.columns == ("région", "code")
    assert rows(data) == [(" Århus ", "01"), ("'Ö. b'", "1.5")]


def test_windows_line_ends_quotes_and_no_last_line_end(tmp_path: Path) -> None:
    assert rows(read_microdata(written(tmp_path, 'a;b\r\n"x;y";1\r\n"say ""hi""";2'))) == [('say "hi"', "2"), ("x;y", "1")]


def test_a_single_column_needs_no_delimiter(tmp_path: Path) -> None:
    assert rows(read_microdata(written(tmp_path, "a\nx\ny\n"))) == [("x",), ("y",)]


def test_columns_that_differ_in_case_only_are_two(tmp_path: Path) -> None:
    data = read_microdata(written(tmp_path, "Code,code\nA,b\n"))
    assert (data.columns, rows(data)) == (("Code", "code"), [("A", "b")])


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "is empty"),
        ("\n\n", "has no header"),
        ("a,b,a\n1,2,3\n", "two columns named 'a'"),
        ("a,,c\n1,2,3\n", "column 2 has no name"),
        ("a,b\n1,2\n3\n", "line 3: 1 field, but the header has 2"),
        ("a,b\n1,2\n3,4,5\n", "line 3: 3 fields, but the header has 2"),
        ("a,b,c\n1,2,3\n1,2,3,4,5\n", "line 3: 5 fields, but the header has 3"),
        ('a,b,c\n\n1,"2\n\n2",3\n1,2,3,4,5\n', "line 6: 5 fields, but the header has 3"),
        ("\na,b\n1,2\n", "begins with a blank line"),
        ('a,b\n1,"2\n3,4\n', "line 2: not a record"),
        (b"a,b\n1,\x81\n", "byte 6: not text in cp1252"),
        (b"a,b\n1,\x00\n", "not text"),
    ],
)
def test_an_ugly_file_is_refused_in_our_words(tmp_path: Path, content: str | bytes, words: str) -> None:
    with pytest.raises(FormatError) as caught:
        read_microdata(written(tmp_path, content))
    assert words in str(caught.value)
    assert "firms.csv" in str(caught.value)
    assert caught.value.__cause__ is None


@pytest.mark.parametrize("options", [{"delimiter": ";;"}, {"decimal": "'"}, {"encoding": "klingon"}])
def test_unknown_options_are_refused(tmp_path: Path, options: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        read_microdata(written(tmp_path, "a;b\n1;2\n"), **options)


def test_a_wrong_encoding_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="byte 4: not text in utf-8"):
        read_microdata(written(tmp_path, b"a;b\n\xc5;2\n"), encoding="utf-8")


def test_there_must_be_a_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no file"):
        read_microdata(tmp_path / "nowhere.csv")
    with pytest.raises(InputError, match="no file"):
        read_microdata(tmp_path)


def test_parquet_is_read_where_it_lies(tmp_path: Path) -> None:
    pq.write_table(pa.table({"Code": ["01"], "code": [2]}), tmp_path / "firms.parquet")
    data = read_microdata(tmp_path / "firms.parquet")
    assert (data.columns, rows(data)) == (("Code", "code"), [("01", 2)])


def test_what_is_no_parquet_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="not a Parquet file"):
        read_microdata(written(tmp_path, "a,b\n", "firms.parquet"))


def test_a_parquet_file_that_vanished_is_reported(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [1]}), tmp_path / "firms.parquet")
    data = read_microdata(tmp_path / "firms.parquet")
    (tmp_path / "firms.parquet").unlink()
    with pytest.raises(StatveilError, match=r"firms\.parquet cannot be read"):
        rows(data)


def test_an_unknown_column_is_answered_with_the_known_ones() -> None:
    with pytest.raises(UnknownColumn, match=r"no column 'nace'\. Its columns: 'code', 'turnover'"):
        read_microdata(pa.table(FRAME)).require(["nace"])


def test_microdata_does_not_show_itself() -> None:
    assert repr(read_microdata(pa.table(FRAME))) == "Microdata (confidential): The frame, 2 columns\n  columns: code, turnover"


@pytest.mark.parametrize(
    ("content", "line"),
    [
        ("a,b\nx,1\ny,\nz,\n", 3),
        ('a,b\n\n"x\n\nx",1\n\ny,\n', 7),
        ("a\nx\n\ny\n", 3),
        ("a;b\r\n\xe9;1\r\ny;\r\n".encode("latin-1"), 3),
    ],
    ids=["plain", "blank lines and a record of three", "one column", "latin-1"],
)
def test_a_record_is_found_by_its_line(tmp_path: Path, content: str | bytes, line: int) -> None:
    data = read_microdata(written(tmp_path, content))
    with data.engine.session() as session:
        assert data.engine.place(session.first(f"c{len(data.columns) - 1} IS NULL")) == f"line {line}"


def test_the_first_record_of_many_is_the_first_in_the_file(tmp_path: Path) -> None:
    size = 300_000
    table = pa.table({"a": [None if row in (123_456, 250_000, size - 1) else "x" for row in range(size)]})
    pq.write_table(table, tmp_path / "firms.parquet", row_group_size=20_000)
    for source in (tmp_path / "firms.parquet", table):
        with read_microdata(source).engine.session() as session:
            assert session.first("c0 IS NULL") == 123_457


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
        found = readers.read_stats(tmp_path / f"x.{ending}").to_pydict()
        assert found == {"code": [None, 1, 2], "amount": [1.5, None, 2.0], "none": [None] * 3, "text": [None, "x", "y"]}
        assert [type(value) for value in found["code"][1:]] == [int, int]


@pytest.mark.parametrize("name", WRITERS)
def test_a_file_read_in_pieces_is_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    days = [date(2020, 1, each) for each in range(1, 11)]
    frame = pd.DataFrame({"A": [*range(9), 1.5], "B": ["", *"abcdefghi"], "C": [None] * 5 + [1.0] * 5, "D": days, "E": [None] * 9 + ["x"]})
    WRITERS[name](frame, str(tmp_path / name))
    whole = readers.read_stats(tmp_path / name)
    assert whole.num_rows == 10
    for values in (1, 10, 15, 50, 55):
        monkeypatch.setattr(readers, "TUNING", readers.TUNING._replace(piece_values=values))
        assert readers.read_stats(tmp_path / name).equals(whole)


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
    monkeypatch.setattr(readers, "find_spec", lambda _name: None)
    with pytest.raises(BackendMissing, match=rf"statveil\[{extra}\]"):
        read_microdata(tmp_path / name)


@pytest.mark.parametrize("pattern", ["", "/*.csv"])
def test_several_csv_files_are_one(tmp_path: Path, pattern: str) -> None:
    written(tmp_path, "code;sales\n01;5\n02;7\n", "b.csv")
    written(tmp_path, "code;sales\n\u00e9;1,5\n".encode("cp1252"), "a.csv")
    written(tmp_path, "", "_SUCCESS")
    data = read_microdata(f"{tmp_path}{pattern}")
    assert sorted(rows(data)) == [("01", "5"), ("02", "7"), ("\u00e9", "1,5")]
    assert data.engine.place(3).endswith(f"line 3 of {tmp_path / 'b.csv'}")


def test_several_parquet_files_are_one(tmp_path: Path) -> None:
    for place in range(3):
        pq.write_table(pa.table({"code": [f"{place:02d}"], "sales": [place]}), tmp_path / f"{place}.parquet")
    assert sorted(rows(read_microdata(tmp_path))) == [("00", 0), ("01", 1), ("02", 2)]
    assert len(rows(read_microdata(tmp_path / "[01].parquet"))) == 2


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({"a.csv": "x,y\n1,2\n", "b.csv": "x,z\n1,2\n"}, "other columns"),
        ({"a.csv": "x,y\n1,2\n", "b.csv": "x;y\n1;2\n"}, "delimiter"),
        ({"a.csv": "x,y\n1,2\n", "b.parquet": pa.table({"x": [1]})}, "Parquet files and others"),
        ({"a.parquet": pa.table({"x": [1]}), "b.parquet": pa.table({"x": ["1"]})}, "of other types"),
        ({"a.csv": "x\n1\n", "b.xlsx": "no"}, "must be CSV or Parquet"),
        ({"year=2024/a.csv": "x\n1\n"}, "folders within folders"),
        ({}, "There is no file"),
    ],
)
def test_several_files_that_do_not_fit_are_refused(tmp_path: Path, files: dict[str, Any], words: str) -> None:
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        pq.write_table(content, tmp_path / name) if isinstance(content, pa.Table) else (tmp_path / name).write_text(content)
    with pytest.raises(StatveilError, match=words):
        read_microdata(tmp_path)


@pytest.mark.parametrize(
    "address", ["s3://bucket/firms.csv", "https://office/firms.csv", "postgresql://host/base", "postgresql://host/base#a.b.c"]
)
def test_an_address_that_is_not_read_is_refused(address: str) -> None:
    with pytest.raises(InputError, match=r"address"):
        read_microdata(address)
