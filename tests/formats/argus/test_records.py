"""Records in columns and separated, decimal commas, missing values, requests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from statveil.core.errors import FormatError
from statveil.data.microdata import Microdata
from statveil.formats.argus.lines import ArgusLine, find_file
from statveil.formats.argus.metadata import read_metadata
from statveil.formats.argus.records import dimension_trees, fields_of, read_records
from statveil.tables.spec import TableSpec
from statveil.tables.tabulate import tabulate

RDA = "Region 1 2 99\n<RECODEABLE>\nName 3 3\nTurnover 6 6 999999\n<NUMERIC>\n<DECIMALS> 1\nAsk 12 1\n<REQUEST> 1 2\n"
ASC = " 1 Åb  12,51\r\n 2 Bo   3,00\r\n99 Cæ  10,32\r\n"


def records(folder: Path, asc: str | bytes, rda: str = RDA) -> Microdata:
    (folder / "x.rda").write_text(rda, encoding="utf-8")
    (folder / "x.asc").write_bytes(asc.encode("latin-1") if isinstance(asc, str) else asc)
    return read_records(folder / "x.asc", read_metadata(folder / "x.rda", table=False))


def rows(data: Microdata) -> list[tuple[Any, ...]]:
    with data.engine.session() as session:
        answer = session.query("SELECT * FROM records")
    return sorted(zip(*(answer[name].to_pylist() for name in answer.column_names), strict=True), key=str)


@pytest.mark.parametrize("encoding", ["latin-1", "utf-8"])
def test_codes_keep_their_blanks_and_numbers_their_commas(tmp_path: Path, encoding: str) -> None:
    data = records(tmp_path, ASC.encode(encoding))
    assert rows(data) == [
        (" 1", " Åb", "12,5", "1", "true", "true", "false"),
        (" 2", " Bo", "3,0", "0", "false", "false", "false"),
        ("99", " Cæ", "10,3", "2", "true", "false", "true"),
    ]
    assert data.decimal == ","


def test_a_decimal_comma_adds_up_exactly(tmp_path: Path) -> None:
    table = tabulate(records(tmp_path, ASC), TableSpec(dimensions={"Region": None}, measure="Turnover"))
    assert (table.value[0], table.scale) == (258, 1)


@pytest.mark.parametrize(
    ("asc", "words"),
    [
        (" 1 Ab  12,51\n 2 Bo\n", "x.asc, line 2: the record has 5 characters, but 'Ask' ends at 12"),
        (" 1 Ab  12,51\n\n 2 Bo  1x,01\n", "x.asc, line 3: 'Turnover' is not a number"),
        (" 1 Ab  12,51\n 2 Bo  12.51\n", "x.asc, line 2: decimal commas and decimal points"),
        (" 1 Ab  12,51\n 2 B\0  12,51\n", "x.asc, line 2: a byte that belongs in no text file"),
    ],
)
def test_a_complaint_names_file_and_line(tmp_path: Path, asc: str, words: str) -> None:
    with pytest.raises(FormatError) as caught:
        records(tmp_path, asc)
    assert words in str(caught.value)


def test_a_number_that_equals_its_missing_value_is_missing_and_refused_when_used(tmp_path: Path) -> None:
    data = records(tmp_path, " 1 Ab  12,51\n 2 Bo9999990\n")
    with pytest.raises(Exception, match="line 2"):
        tabulate(data, TableSpec(dimensions={"Region": None}, measure="Turnover"))


FREE = '<SEPARATOR> ";"\nregion 5\n<RECODEABLE>\nvalue 6\n<NUMERIC>\n'


def test_separated_records_with_quotation_marks_and_a_closing_separator(tmp_path: Path) -> None:
    data = records(tmp_path, '.A;1,5\r\r\n"B;C";2;\r\r\n " D"  ;3\r\r\n', FREE)
    assert rows(data) == [(" D", "3"), (".A", "1,5"), ("B;C", "2")]


def test_a_record_with_too_few_fields_names_its_line(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"x.asc, line 2: the record has 1 fields, but the .rda file names 2 variables"):
        records(tmp_path, "A;1\nB\n", FREE)


def test_the_tree_takes_the_padding_of_the_data(tmp_path: Path) -> None:
    (tmp_path / "tree.hrc").write_text("North\n@1\n@ 2\n", encoding="utf-8")
    data = records(tmp_path, " 1;5\n 2;6\n", FREE.replace("<RECODEABLE>", '<RECODEABLE>\n<HIERCODELIST> "D:\\x\\TREE.HRC"'))
    metadata = read_metadata(tmp_path / "x.rda")
    tree = dimension_trees(data, metadata, metadata.variables[0], folders=[tmp_path])
    assert tree.codes == ("Total", "North", " 1", " 2")


def test_missing_codes_and_digits_make_a_tree(tmp_path: Path) -> None:
    rda = "Code 1 3 999\n<RECODEABLE>\n<HIERLEVELS> 2 1\nValue 4 2\n<NUMERIC>\n"
    data = records(tmp_path, "011 5\n012 6\n021 7\n999 8\n", rda)
    metadata = read_metadata(tmp_path / "x.rda")
    tree = dimension_trees(data, metadata, metadata.variables[0], folders=[tmp_path])
    assert tree.parent == {"01": "Total", "011": "01", "012": "01", "02": "Total", "021": "02", "999": "Total"}


def test_a_tree_that_is_not_there_is_told_at_its_line(tmp_path: Path) -> None:
    data = records(tmp_path, "A;5\n", FREE.replace("<RECODEABLE>", "<RECODEABLE>\n<HIERCODELIST> none.hrc"))
    metadata = read_metadata(tmp_path / "x.rda")
    with pytest.raises(FormatError, match=r"x.rda, line 2: 'region' has the tree 'none.hrc', and there is no such file"):
        dimension_trees(data, metadata, metadata.variables[0], folders=[tmp_path])


def test_files_are_found_under_paths_of_windows_with_blanks_and_in_other_case(tmp_path: Path) -> None:
    folder = tmp_path / "my data"
    folder.mkdir()
    (folder / "Tau TestW.RDA").write_text("x", encoding="utf-8")
    for written in ("C:\\Users\\me\\my data\\tau testw.rda", "tau testw.rda", "Tau TestW.RDA", "\\\\server\\x\\Tau TestW.RDA"):
        assert find_file(written, [folder]) == folder / "Tau TestW.RDA"
    assert find_file("my data\\Tau TestW.RDA", [tmp_path]) == folder / "Tau TestW.RDA"
    assert find_file("other.rda", [folder]) is None


@given(fields=st.lists(st.text(st.characters(codec="utf-8", exclude_categories=["C", "Zl", "Zp"]), max_size=6), min_size=1, max_size=5))
def test_fields_in_quotation_marks_are_what_was_written(fields: list[str]) -> None:
    text = ";".join('"' + field.replace('"', '""') + '"' for field in fields)
    assert fields_of(ArgusLine(file="x", number=1, text=text), ";") == fields


def test_records_in_an_spss_file(tmp_path: Path) -> None:
    pyreadstat, pandas = pytest.importorskip("pyreadstat"), pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {"REGION": [1.0, 2.0, 2.0], "trade": ["ba", "ve", "ba"], "turnover": [10.5, 999.0, 1.0], "ask": ["1", "0", "2"]}
    )
    pyreadstat.write_sav(frame, str(tmp_path / "x.sav"))
    rda = "<SPSS>\nRegion 1 2\n<RECODEABLE>\ntrade 3 2\n<RECODEABLE>\nturnover 5 6 999.0\n<NUMERIC>\nask 9 1\n<REQUEST> 1 2\n"
    (tmp_path / "x.rda").write_text(rda, encoding="utf-8")
    metadata = read_metadata(tmp_path / "x.rda")
    data = read_records(tmp_path / "x.sav", metadata, recoded={"trade": {"ve": "vet"}})
    assert metadata.dialect == "spss"
    assert rows(data) == [
        ("1", "ba", "10.5", "1", "true", "true", "false"),
        ("2", "ba", "1.0", "2", "true", "false", "true"),
        ("2", "vet", None, "0", "false", "false", "false"),
    ]
    with pytest.raises(FormatError, match=r"x.rda, line 1: x.rda is no file of SPSS"):
        read_records(tmp_path / "x.rda", metadata)
