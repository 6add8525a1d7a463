"""Metadata files: three dialects, tags in any order, and a complaint that names file and line for everything else."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from statveil.core.errors import FormatError
from statveil.formats.argus.metadata import ArgusVariable, Metadata, VariableRole, read_metadata, write_metadata

FIXED = """Year 1  2 99
  <RECODEABLE>
Industry 4  5 99999 88888
  <RECODABLE>
  <HIERLEVELS>  3 1 1 0 0
  <DISTANCE>  1  3  5
Region 12 2 "99"
  <RECODEABLE>
  <CODELIST> "my regions.cdl"
  <HIERCODELIST> "C:\\old folder\\region2.hrc"
  <HIERLEADSTRING> "@"
Weight 15 4
  <NUMERIC>
  <DECIMALS> 1
  <WEIGHT>
Turnover 19 10
  <NUMERIC>
Request 99 1
  <REQUEST> "1" "2"
"""


def written(folder: Path, text: str, encoding: str = "utf-8") -> Path:
    path = folder / "file.rda"
    path.write_bytes(text.encode(encoding))
    return path


def test_records_of_fixed_width(tmp_path: Path) -> None:
    metadata = read_metadata(written(tmp_path, FIXED))
    year, industry, region, weight, turnover, request = metadata.variables
    assert metadata.dialect == "fixed"
    assert (year.start, year.width, year.missing) == (1, 2, ("99",))
    assert (industry.digits, industry.distances, industry.missing) == ((3, 1, 1), (1, 3, 5), ("99999", "88888"))
    assert (region.tree, region.lead, region.codelist) == ("C:\\old folder\\region2.hrc", "@", "my regions.cdl")
    assert (weight.role, weight.decimals, turnover.role) == (VariableRole.WEIGHT, 1, VariableRole.RESPONSE)
    assert (request.role, request.requests) == (VariableRole.REQUEST, ("1", "2"))


def test_a_path_with_blanks_may_stand_without_quotation_marks(tmp_path: Path) -> None:
    text = "A 1 2\n<RECODABLE>\n<HIERCODELIST> C:\\my data\\my tree.hrc\n<HIERLEADSTRING> @\n"
    assert read_metadata(written(tmp_path, text)).variables[0].tree == "C:\\my data\\my tree.hrc"


def test_separated_records_have_no_start(tmp_path: Path) -> None:
    metadata = read_metadata(written(tmp_path, '<SEPARATOR> ","\r\r\nregion 1\r\r\n  <RECODEABLE>\r\r\nvalue 6 999\r\r\n<NUMERIC>'))
    assert (metadata.dialect, metadata.separator) == ("free", ",")
    assert [(each.name, each.start, each.width) for each in metadata.variables] == [("region", None, 1), ("value", None, 6)]


def test_a_table_has_letters_for_statuses_and_two_tags_on_a_line(tmp_path: Path) -> None:
    text = (
        '<SEPARATOR> ";"\n<PROTECT> "Z"\nSize "99"\n<RECODEABLE>\n<TOTCODE> "All"\nVar\n<NUMERIC>\nLow\n<NUMERIC> <LOWERPL>\nS\n<STATUS>\n'
    )
    metadata = read_metadata(written(tmp_path, text))
    assert (metadata.dialect, metadata.protect, metadata.safe) == ("table", "Z", "S")
    assert [each.role for each in metadata.variables] == [
        VariableRole.NONE,
        VariableRole.RESPONSE,
        VariableRole.LOWER_LEVEL,
        VariableRole.STATUS,
    ]
    assert (metadata.variables[0].total, metadata.variables[0].missing) == ("All", ("99",))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1", "cp1252"])
def test_names_in_latin_1_and_utf_8(tmp_path: Path, encoding: str) -> None:
    assert read_metadata(written(tmp_path, "Région 1 2\n<RECODEABLE>\n", encoding)).variables[0].name == "Région"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "line 1: the file is empty"),
        ("<RECODEABLE>\n", "line 1: <RECODEABLE> stands before any variable"),
        ("A 1 2\nA 3 2\n", "line 2: variable 'A' is there twice"),
        ("A 1\n", "line 1: variable 'A' has no width"),
        ("A one 2\n", "line 1: start must be a whole number"),
        ("A 1 99999999999\n", "line 1: width must be a whole number"),
        ("A 1 2\n<WHAT>\n", "line 2: unknown tag <WHAT>"),
        ("A 1 5\n<HIERLEVELS> 3 1\n", "line 2: <HIERLEVELS> adds up to 4"),
        ("A 1 5\n<HIERLEVELS> 0 5\n", "line 2: <HIERLEVELS> must be"),
        ('A 1 5\n<CODELIST> "my" "file.cdl"\n', "line 2: <CODELIST> takes one word"),
        ('A 1 5\n<CODELIST> "my file.cdl\n', "line 2: a quotation mark is not closed"),
        ('<SEPARATOR> ";;"\nA 1\n', "line 1: the separator must be one character"),
        ("A 1 2\n\nB\0 1 2\n", "line 3: a byte that belongs in no text file"),
        ("A 1 2 3 4 5\n", "line 1: variable 'A' has more than two missing values"),
    ],
)
def test_a_complaint_names_file_and_line(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(FormatError) as caught:
        read_metadata(written(tmp_path, text), table=False)
    assert f"file.rda, {words}" in str(caught.value)


def test_tags_may_stand_on_the_line_of_their_variable(tmp_path: Path) -> None:
    apart, joined = tmp_path / "apart.rda", tmp_path / "joined.rda"
    apart.write_text('area 1 2 "99"\n<RECODEABLE>\n<TOTCODE> "T"\nsales 3 5\n<NUMERIC>\n<DECIMALS> 1\n')
    joined.write_text('area 1 2 "99" <RECODEABLE> <TOTCODE> "T"\nsales 3 5 <NUMERIC>\n<DECIMALS> 1\n')
    assert read_metadata(apart).variables == read_metadata(joined).variables


def test_the_mark_of_utf_8_before_latin_1_is_no_part_of_a_name(tmp_path: Path) -> None:
    path = tmp_path / "a.rda"
    path.write_bytes(b"\xef\xbb\xbfR\xe9gion 1 2\n<RECODEABLE>\n")
    assert read_metadata(path).variables[0].name == "Région"


def test_a_table_may_not_have_a_weight_nor_records_a_status(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="line 2: <WEIGHT> does not belong to a table"):
        read_metadata(written(tmp_path, "A\n<WEIGHT>\n"), table=True)
    with pytest.raises(FormatError, match="line 2: <STATUS> does not belong to records"):
        read_metadata(written(tmp_path, "A 1 2\n<STATUS>\n"), table=False)


NAMES = st.text(st.characters(codec="utf-8", exclude_characters='"', exclude_categories=["C", "Z"]), min_size=1, max_size=8)
CODES = st.text(st.characters(codec="utf-8", exclude_characters='"', exclude_categories=["C", "Z"]), min_size=1, max_size=4)


@st.composite
def variables(draw: st.DrawFn, dialect: str) -> ArgusVariable:
    spans = draw(st.booleans())
    digits = draw(st.one_of(st.just(()), st.lists(st.integers(1, 4), min_size=1, max_size=5).map(tuple))) if spans else ()
    tree = draw(st.one_of(st.none(), NAMES)) if spans and not digits else None
    roles = {
        "table": (
            VariableRole.STATUS,
            VariableRole.FREQUENCY,
            VariableRole.SHADOW,
            VariableRole.COST,
            VariableRole.RESPONSE,
            VariableRole.TOP,
            VariableRole.LOWER_LEVEL,
        )
    }
    role = (
        VariableRole.NONE
        if spans
        else draw(
            st.sampled_from(roles.get(dialect, (VariableRole.RESPONSE, VariableRole.WEIGHT, VariableRole.HOLDING, VariableRole.REQUEST)))
        )
    )
    return ArgusVariable(
        name=draw(NAMES),
        start=draw(st.integers(1, 500)) if dialect == "fixed" else None,
        width=None if dialect == "table" else sum(digits) or draw(st.integers(1, 20)),
        missing=draw(st.lists(CODES, max_size=2).map(tuple)),
        recodable=spans,
        role=role,
        total=draw(CODES) if spans else "Total",
        codelist=draw(st.one_of(st.none(), NAMES)),
        hierarchical=bool(digits or tree),
        digits=digits,
        tree=tree,
        lead=draw(st.sampled_from(["@", "..", "#"])) if tree else "@",
        distances=draw(st.lists(st.integers(0, 9), max_size=5).map(tuple)),
        decimals=draw(st.integers(0, 9)),
        requests=draw(st.lists(CODES, max_size=2).map(tuple)) if role is VariableRole.REQUEST else (),
        truncable=draw(st.booleans()),
    )


@st.composite
def descriptions(draw: st.DrawFn) -> Metadata:
    dialect = draw(st.sampled_from(["fixed", "free", "table"]))
    found = draw(st.lists(variables(dialect), min_size=1, max_size=4, unique_by=lambda each: each.name.casefold()))
    letters = draw(st.permutations("SUPZX")) if dialect == "table" else "SUP"
    separator = draw(st.sampled_from(";,|\t")) if dialect != "fixed" else ";"
    return Metadata(dialect=dialect, variables=tuple(found), separator=separator, safe=letters[0], unsafe=letters[1], protect=letters[2])


@pytest.mark.slow
@given(metadata=descriptions())
def test_everything_a_metadata_file_can_hold_survives_writing_and_reading(
    tmp_path_factory: pytest.TempPathFactory, metadata: Metadata
) -> None:
    path = tmp_path_factory.mktemp("rda") / "x.rda"
    write_metadata(metadata, path)
    assert read_metadata(path, table=metadata.dialect == "table") == metadata


@pytest.mark.shared
@pytest.mark.parametrize("name", ["Demodata", "Demofree", "Samhh"])
def test_metadata_of_the_sister_program_are_read(shared_data: Path, name: str) -> None:
    metadata = read_metadata(shared_data / "microdata" / "muargus" / f"{name}.rda", table=False)
    assert len(metadata.variables) >= 10
