"""An answer as a file: the same bytes for ever, nothing that a spreadsheet would run."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import fastexcel
import numpy as np
import pyarrow.parquet as pq
import pytest

from statveil.publish.read_back.csv_file import read_public_csv
from statveil.server.dataset.query import DimensionChoice, TableQuery
from statveil.server.engine.answer import AnsweredTable
from statveil.server.engine.notes import notes
from statveil.server.web.formats import BY_NAME, FORMATS, choose, dimension_of, title
from statveil.server.web.problems import Problem
from tests.server.fake import FORMULA, FakeService


def asked(*dimensions: DimensionChoice, totals: bool = True, **filters: tuple[str, ...]) -> AnsweredTable:
    return FakeService().answer(TableQuery(dataset="firms", measure="turnover", dimensions=dimensions, filters=filters, totals=totals))


@pytest.fixture
def answer() -> AnsweredTable:
    return asked(DimensionChoice(id="region"), DimensionChoice(id="size"))


def test_json_stat_has_every_number_and_the_hierarchy(answer: AnsweredTable):
    content = json.loads(BY_NAME["json"].write(answer))
    assert content["id"] == ["region", "size"]
    assert content["dimension"]["region"]["category"]["child"] == {"Total": ["N", "S"], "N": ["N1", "N2"], "S": ["S1"]}
    assert content["value"] == [value / 10 for value in answer.values.ravel().tolist()]
    assert content["extension"]["provenance"] == {"release": answer.hash, "software": {}}


def test_codes_that_make_no_tree_are_written_in_every_format():
    answer = asked(DimensionChoice(id="region", codes=("N", "N1", "S1")), DimensionChoice(id="size"), totals=False)
    content = json.loads(BY_NAME["json"].write(answer))
    assert content["dimension"]["region"]["category"]["index"] == ["N", "N1", "S1"]
    assert content["dimension"]["region"]["category"]["child"] == {"N": ["N1"]}
    for form in FORMATS:
        assert form.write(answer)
    assert 'CODES("region")="N","N1","S1";' in BY_NAME["px"].write(answer).decode()


def test_a_tree_stays_a_tree(answer: AnsweredTable):
    assert dimension_of(answer.dimensions[0]).trees[0].total == "Total"


@pytest.fixture
def counted(answer: AnsweredTable) -> AnsweredTable:
    """Enterprises, of which the second number, a count of 1 or 2, is not told."""
    missing = np.zeros(answer.values.shape, dtype=np.bool_)
    missing[0, 1] = True
    values = np.where(missing, 0, 3 + np.arange(missing.size).reshape(missing.shape))
    return replace(
        answer, values=values, missing=missing, counts=True, smallest=3, decimals=0, measure_label="Enterprises", unit="enterprises"
    )


def sheet_of(book: bytes, name: str) -> list[list[str]]:
    """The columns of a sheet, as text."""
    sheet = fastexcel.read_excel(book).load_sheet(name, header_row=None, dtypes="string").to_arrow()
    return [column.to_pylist() for column in sheet.columns]


def test_a_count_that_is_not_told_is_below_3_in_every_format(counted: AnsweredTable):
    written = {form.name: form.write(counted) for form in FORMATS}
    content = json.loads(written["json"])
    assert content["value"][:3] == [3, None, 5]
    assert content["status"] == {"1": "<3"}
    assert written["csv"].decode().splitlines()[2] == "Total,Total,big,<3"
    lines = list(csv.DictReader(io.StringIO(written["sdmx-csv"].decode())))
    assert [(line["OBS_VALUE"], line["OBS_STATUS"], line["CONF_STATUS"], line["COMMENT_OBS"]) for line in lines[:2]] == [
        ("3", "A", "F", ""),
        ("", "Q", "A", "<3"),
    ]
    px = written["px"].decode()
    assert 'DATASYMBOL2="<3";' in px
    assert 'DATA=\n3 ".." 5\n' in px
    table = pq.read_table(io.BytesIO(written["parquet"]))
    assert (table["value"].to_pylist()[:2], table["value_status"].to_pylist()[:2]) == ([3, None], [None, "<3"])
    assert "<td>&lt;3</td>" in written["html"].decode()
    assert sheet_of(written["xlsx"], "Table 1")[3][:4] == ["value", "3", "<3", "5"]


def test_files_tell_the_unit_and_what_is_known_of_their_numbers(counted: AnsweredTable):
    told = notes(counted)
    assert "<3 stands for a count below 3. Counts of 1 and 2 are never told." in told
    content = json.loads(BY_NAME["json"].write(counted))
    assert (content["note"], content["extension"]["unit"]) == (list(told), "enterprises")
    px = BY_NAME["px"].write(counted).decode()
    assert 'UNITS="enterprises";' in px
    assert px.split("NOTE=")[1].split(";\n")[0].replace('"\n"', "").strip('"') == "#".join(told)
    (unit,) = {line["UNIT_MEASURE"] for line in csv.DictReader(io.StringIO(BY_NAME["sdmx-csv"].write(counted).decode()))}
    assert unit == "enterprises"
    assert sheet_of(BY_NAME["xlsx"].write(counted), "Notes") == [[title(counted), *told]]
    assert pq.read_schema(io.BytesIO(BY_NAME["parquet"].write(counted))).metadata[b"statveil.notes"].decode() == "\n".join(told)


def test_a_csv_has_its_unit_and_notes_beside_it(counted: AnsweredTable):
    told = json.loads(BY_NAME["csv-metadata"].write(counted))
    header = BY_NAME["csv"].write(counted).decode().splitlines()[0].split(",")
    assert [column["name"] for column in told["tableSchema"]["columns"]] == header
    assert told["tableSchema"]["columns"][-1]["schema:unitText"] == "enterprises"
    assert told["tableSchema"]["columns"][-1]["null"] == ["<3"]
    assert told["notes"] == list(notes(counted))
    assert (told["url"], told["dc:title"]) == (f"{counted.hash}?format=csv", title(counted))


def test_f11_no_text_is_a_formula_and_no_number_is_changed(answer: AnsweredTable, tmp_path: Path):
    body = BY_NAME["csv"].write(answer).decode()
    rows = list(csv.reader(io.StringIO(body)))
    for text in (field for row in rows for field in row[:-1]):
        assert not text.lstrip().startswith(("=", "+", "-", "@", "\t", "\r")), text
    assert rows[1][-1] == "-2.5", "negative numbers stay as they are"
    (tmp_path / "t.csv").write_text(body)
    labels = read_public_csv(tmp_path / "t.csv").labels[0]
    assert (labels["N1"], labels["S1"]) == (FORMULA, "+31"), "our reader gives the label back"


def test_parquet_has_exact_decimals(answer: AnsweredTable):
    table = pq.read_table(io.BytesIO(BY_NAME["parquet"].write(answer)))
    assert [str(value) for value in table["value"].to_pylist()[:2]] == ["-2.5", "-1.5"]


def test_the_page_of_a_table_shows_labels_as_text(answer: AnsweredTable):
    page = BY_NAME["html"].write(answer).decode()
    assert "=cmd|&#39;/c calc&#39;!A1" in page
    assert "<script" not in page
    assert page.count("</caption>") == 1


def test_the_title_tells_the_slice():
    assert title(asked(DimensionChoice(id="region"), size=("big",))) == "Turnover (EUR); size: big"
    many = tuple(f"c{number}" for number in range(9))
    assert title(asked(DimensionChoice(id="region"), size=many)) == "Turnover (EUR); size: 9 codes"


WRITE_ALL = """
import hashlib, sys
from tests.server.web.test_formats import asked
from statveil.server.web.formats import FORMATS
from statveil.server.dataset.query import DimensionChoice
answer = asked(*(DimensionChoice(id=name) for name in sys.argv[1].split(",")))
print([hashlib.sha256(form.write(answer)).hexdigest() for form in FORMATS])
"""


@pytest.mark.slow
def test_f17_same_bytes_in_another_year_language_place_and_order():
    """faketime is not everywhere: the clock is moved within Python, the rest by the environment."""
    late = "import time, datetime\nreal = time.time\ntime.time = lambda: real() + 4e8\n"
    plain = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    runs = [
        (WRITE_ALL, "region,size", plain),
        (late + WRITE_ALL, "size,region", {**plain, "TZ": "Asia/Kathmandu", "LC_ALL": "tr_TR.UTF-8", "PYTHONHASHSEED": "77"}),
    ]
    started = [
        subprocess.Popen([sys.executable, "-c", code, order], env=env, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[3])
        for code, order, env in runs
    ]
    first, second = (process.communicate()[0] for process in started)
    assert first == second
    assert first.count("'") == 2 * len(FORMATS)


@pytest.mark.parametrize(
    ("accept", "name"),
    [
        ("", "json"),
        ("*/*", "json"),
        ("text/html,application/xhtml+xml,*/*;q=0.8", "html"),
        ("text/csv", "csv"),
        ("text/csv;q=0.2, application/vnd.apache.parquet;q=0.9", "parquet"),
        ("application/vnd.sdmx.data+csv;version=2.0.0", "sdmx-csv"),
        ("image/png, application/*;q=0.5", "json"),
        ("text/csv;q=0, */*;q=0.1", "json"),
        ("text/csv;q=nonsense, application/json", "json"),
    ],
)
def test_the_accept_header_chooses(accept: str, name: str):
    assert choose(None, accept).name == name


def test_a_named_format_wins_and_an_unknown_one_is_refused():
    assert choose("px", "text/csv").name == "px"
    with pytest.raises(Problem) as refused:
        choose("exe", "*/*")
    assert refused.value.status == 422
    with pytest.raises(Problem) as refused:
        choose(None, "image/png")
    assert refused.value.status == 406
