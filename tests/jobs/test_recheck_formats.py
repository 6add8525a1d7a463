"""One changed unit is found in every public format, whatever hashes the forger writes anew; what nobody changed passes.

The market has what formats stumble over: Latin-1 records, negative numbers and decimals, a combination that cannot exist, an empty one,
codes and labels with quotation marks, commas, formula signs and blanks, and two linked tables.
"""

from __future__ import annotations

import json
import re
import shutil
import zipfile
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from statveil.audit.report import AuditReport
from statveil.audit.tables import release_hash
from statveil.core.errors import AuditFailed
from statveil.jobs.folders.tables import file_hashes, protect_to_folder, public_files
from statveil.jobs.recheck import audit_folder, read_protected
from statveil.jobs.table_job import read_job
from statveil.jobs.tables.assess import assess_records
from statveil.publish.formats.numbers import grouped
from statveil.tables.table import Table, View

TOWNS = {"Zürich": "=1+1", 'A "B"': "+Alt, die", "-5": "Ort  5", "O'Neil": "'-quoted"}
RECORDS = "town;goods;profit\n" + "".join(
    f'"{town.replace(chr(34), chr(34) * 2)}";{goods};{profit}\n'
    for town, goods, profits in [
        ("Zürich", "bread", ("10.25", "-3.10", "7.00", "9.95")),
        ("Zürich", "=wine", ("120.40",)),
        ('A "B"', "bread", ("9.95", "0.05", "-20.00")),
        ('A "B"', "=wine", ("55.55", "44.45", "12.34")),
        ("-5", "bread", ("-9.95", "-1.15", "-2.75")),
        ("-5", "=wine", ("8.41", "8.40", "8.39")),
        ("O'Neil", "bread", ("1.01", "2.02", "3.03")),
        ("O'Neil", "fish", ("4.04", "5.05", "6.06")),
    ]
    for profit in profits
)
JOB = """
[data]
file = "market.csv"
encoding = "latin-1"
[[table]]
name = "profit by goods"
measure = "profit"
structural_zeros = [{ town = "Zürich", goods = "fish" }]
[table.dimensions]
town = { hierarchy = "towns.csv" }
goods = "flat"
[[table]]
name = "profit"
measure = "profit"
[table.dimensions]
town = { hierarchy = "towns.csv" }
[[rule]]
type = "minimum-frequency"
n = 3
[limits]
seconds = 10
[output]
formats = ["csv", "parquet", "json-stat", "sdmx-csv", "sdmx-ml", "pc-axis", "excel"]
"""


@pytest.fixture(scope="module")
def _market(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("market")
    (folder / "market.csv").write_bytes(RECORDS.encode("latin-1"))
    quoted = [[f'"{word.replace(chr(34), chr(34) * 2)}"' for word in (code, "All of them", label)] for code, label in TOWNS.items()]
    lines = ["code,parent,label", *(",".join(row) for row in quoted), '"All of them",,all']
    (folder / "towns.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (folder / "job.toml").write_text(JOB, encoding="utf-8")
    protect_to_folder(read_job(folder / "job.toml"), folder / "out")
    return folder


@pytest.fixture
def out(_market: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(_market, tmp_path / "copy")) / "out"


def forge(out: Path) -> None:
    """Every hash of a file as it is now."""
    run = json.loads((out / "run.json").read_text(encoding="utf-8"))
    (out / "run.json").write_text(json.dumps({**run, "files": file_hashes(out)}), encoding="utf-8")


def findings(report: AuditReport) -> dict[str, Any]:
    return {check.name: check.findings for check in report.checks if not check.passed}


TABULATED: list[Table] = []
"""The market's table, once it was tabulated: it is the same for all."""


def public_side(out: Path) -> tuple[Table, dict[str, list[Path]]]:
    """The table as it is tabulated anew, and the files that the job writes of it."""
    job = read_job(out / "job.toml", base=out.parent)
    if not TABULATED:
        TABULATED.append(assess_records(job.microdata, job.linked(), job.rules())[0])
    return TABULATED[0], public_files(out / "public", job, TABULATED[0].views)


class Cell:
    """A position of a view: its number before and after a unit is added, and where it stands."""

    def __init__(self, out: Path, wanted: str, view: int, *codes: str) -> None:
        table, files = public_side(out)
        protected = read_protected(table, read_job(out / "job.toml", base=out.parent), out)
        self.view: View = table.views[view]
        self.path = files[wanted][view] if wanted in files else out / "public" / "report.html"
        self.codes = codes
        at = tuple(dimension.position[code] for dimension, code in zip(self.view.dimensions, codes, strict=True))
        self.units = int(protected.value[self.view.cell[(self.view.coordinates == at).all(axis=1)]][0])
        self.place = int(np.ravel_multi_index(at, [len(dimension.codes) for dimension in self.view.dimensions]))
        self.old, self.new = (grouped(units, 2).replace(",", "") for units in (self.units, self.units + 1))
        self.words = ", ".join(f"{dimension.name}={code}" for dimension, code in zip(self.view.dimensions, codes, strict=True))

    def rewrite(self, change: Callable[[str], str]) -> None:
        before = self.path.read_text(encoding="utf-8")
        after = change(before)
        assert after != before
        self.path.write_text(after, encoding="utf-8", newline="")

    def line(self, text: str) -> str:
        """The line of a file with one line a position changed."""
        lines = text.splitlines(keepends=True)
        start = len(lines) - np.prod([len(dimension.codes) for dimension in self.view.dimensions])
        lines[start + self.place] = lines[start + self.place].replace(self.old, self.new, 1)
        return "".join(lines)


def in_csv(cell: Cell) -> None:
    cell.rewrite(cell.line)


def in_parquet(cell: Cell) -> None:
    table = pq.read_table(cell.path)
    numbers = table["value"].to_pylist()
    numbers[cell.place] += Decimal("0.01")
    changed = table.set_column(table.num_columns - 1, "value", pa.array(numbers, table.schema.types[-1]))
    pq.write_table(changed, cell.path)


def in_json_stat(cell: Cell) -> None:
    def change(text: str) -> str:
        head, _, values = text.partition('"value":[')
        numbers = values.split(",")
        numbers[cell.place] = numbers[cell.place].replace(cell.old, cell.new)
        return f'{head}"value":[{",".join(numbers)}'

    cell.rewrite(change)


def in_sdmx_ml(cell: Cell) -> None:
    def change(text: str) -> str:
        parts = text.split("<gen:Obs>")
        parts[cell.place + 1] = parts[cell.place + 1].replace(f'ObsValue value="{cell.old}"', f'ObsValue value="{cell.new}"')
        return "<gen:Obs>".join(parts)

    cell.rewrite(change)


def in_pc_axis(cell: Cell) -> None:
    def change(text: str) -> str:
        head, _, data = text.partition("DATA=\n")
        numbers = data.replace(";", "").split()
        assert numbers[cell.place] == cell.old
        numbers[cell.place] = cell.new
        return f"{head}DATA=\n{' '.join(numbers)};\n"

    cell.rewrite(change)


def in_excel(cell: Cell) -> None:
    def change(xml: str) -> str:
        rows = xml.split("<row ")
        rows[cell.place + 2] = rows[cell.place + 2].replace(f"<v>{cell.old}</v>", f"<v>{cell.new}</v>")
        return "<row ".join(rows)

    rewrite_part(cell.path, "xl/worksheets/sheet1.xml", change)


def rewrite_part(path: Path, part: str, change: Callable[[str], str]) -> None:
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    after = change(parts[part].decode("utf-8")).encode()
    assert after != parts[part]
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in {**parts, part: after}.items():
            archive.writestr(name, content)


def in_report(cell: Cell) -> None:
    def change(text: str) -> str:
        def data(found: re.Match[str]) -> str:
            content = json.loads(found[2])
            [mine] = [each for each in content["slices"] if each["name"] == cell.view.name]
            mine["released"][cell.place] += 1
            return found[1] + json.dumps(content) + found[3]

        return re.sub(r'(id="page-data">)(.*?)(</script>)', data, text, flags=re.DOTALL)

    cell.rewrite(change)


CHANGES = {
    "parquet": in_parquet,
    "json-stat": in_json_stat,
    "sdmx-csv": in_csv,
    "sdmx-ml": in_sdmx_ml,
    "pc-axis": in_pc_axis,
    "excel": in_excel,
    "report": in_report,
}
PLACES = [(0, ("-5", "bread")), (0, ('A "B"', "Total")), (1, ("O'Neil",)), (1, ("All of them",))]


def test_what_nobody_changed_is_sound_in_every_format(out: Path) -> None:
    report = audit_folder(out)
    assert findings(report) == {}
    checked = {check.name: check.checked for check in report.checks}
    assert all(checked[name] == 5 * 4 + 5 for name in ("csv", *CHANGES) if name != "report")
    assert checked["report"] > 5 * 4 + 5


@pytest.mark.parametrize("wanted", CHANGES)
@pytest.mark.parametrize(("view", "codes"), PLACES, ids=str)
def test_one_unit_in_one_format_is_found_where_it_stands(out: Path, wanted: str, view: int, codes: tuple[str, ...]) -> None:
    cell = Cell(out, wanted, view, *codes)
    CHANGES[wanted](cell)
    forge(out)
    found = findings(audit_folder(out))
    assert set(found) == {wanted}
    named = cell.view.name if wanted == "report" else cell.path.name
    assert f"{named}: {cell.words}: another number than in the table audited" in found[wanted]
    assert cell.old not in str(found)
    assert cell.new not in str(found)


@pytest.mark.parametrize(("view", "codes"), PLACES, ids=str)
def test_one_unit_in_the_csv_file_is_found_though_it_is_the_table_audited(out: Path, view: int, codes: tuple[str, ...]) -> None:
    """The forger writes the hash of the changed numbers into the provenance too."""
    cell = Cell(out, "csv", view, *codes)
    in_csv(cell)
    table, _ = public_side(out)
    protected = read_protected(table, read_job(out / "job.toml", base=out.parent), out)
    told = json.loads((out / "provenance.json").read_text(encoding="utf-8"))
    (out / "provenance.json").write_text(json.dumps({**told, "release": release_hash(protected)}), encoding="utf-8")
    forge(out)
    found = findings(audit_folder(out))
    assert "provenance" not in found
    if view == 0:
        assert {"additivity", *CHANGES} <= set(found)
    else:  # the number at the first place counts, and this one differs from it
        assert set(found) == {"csv"}
        assert found["csv"] == (f"{cell.path.name}: {cell.words}: another number than at its other place",)


@pytest.mark.parametrize(
    ("name", "old", "new", "words"),
    [
        ("profit_by_goods.csv", "Ort  5", "Ort 5", "town=-5: another label"),
        ("profit_by_goods.sdmx.csv", ",F,2", ",C,2", "CONF_STATUS: another word than the release has"),
        ("profit_by_goods.sdmx.csv", ",F,2", ",F,0", "DECIMALS: another word than the release has"),
        ("profit_by_goods.sdmx.csv", ",M,F", ",A,F", "OBS_STATUS: another word than the release has"),
        ("profit_by_goods.json", '"-5":"Ort  5"', '"-5":"Bern"', "town=-5: another label"),
        ("profit_by_goods.json", '"decimals":2', '"decimals":1', "it tells other decimals"),
        ("profit_by_goods.json", '"class":"dataset"', '"class":"dataset","note":["9"]', "it has keys that a release does not write"),
        ("profit_by_goods.json", "null", "0.00", "town=Zürich, goods=fish: a number where none can be"),
        ("profit_by_goods.px", '"Ort  5"', '"Bern"', "town=-5: another label"),
        ("profit_by_goods.px", '"."', "0.00", "town=Zürich, goods=fish: a number where none can be"),
        ("profit_by_goods.px", "SHOWDECIMALS=2", "SHOWDECIMALS=0", "it tells other decimals"),
        ("profit_by_goods.px", 'LANGUAGE="en";', 'LANGUAGE="en";NOTE="9";', "it has keywords that a release does not write"),
        ("profit_by_goods.xml", 'value="M"', 'value="A"', "an observation has other dimensions or attributes than the release"),
        ("profit_by_goods.xml", 'id="GOODS" value="bread"', 'id="GOODS" value="brede"', "codes that the table lacks"),
        ("profit_by_goods.xml", 'structureRef="PROFIT_BY_GOODS"', 'structureRef="X"', "it is of another table"),
        ("report.html", '"Ort  5"', '"Bern"', "town=-5: another label"),
        ("report.html", '"decimals":2', '"decimals":3', "another name, other decimals or other dimensions"),
        ("report.html", "null", "0", "town=Zürich, goods=fish: a number where none can be"),
        ("report.html", "</main>", "<table><tr><td>9</td></tr></table></main>", "it has a table that no report has"),
    ],
)
def test_what_surrounds_the_numbers_is_compared_too(out: Path, name: str, old: str, new: str, words: str) -> None:
    stem = name.replace("profit_by_goods.", "profit_by_goods-profit_by_goods.")
    path = next(path for path in (out / "public").iterdir() if path.name in (name, stem) or path.name.endswith(f"-{name}"))
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8", newline="")
    forge(out)
    [(_, found)] = findings(audit_folder(out)).items()
    assert any(words in each for each in found)


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        (r'(<td>all numbers</td><td class="number">\d+</td><td class="number">)([^<]*)', "profit by goods, all numbers: another statistic"),
        (r'(<td>goods: its total</td><td class="number">)([^<]*)', "profit by goods, goods: its total: another statistic"),
        (
            r"(<th class=\"number\">Released</th>.*?<td class=\"number\">)([^<]*)",
            "profit by goods: the largest numbers are not those of the table",
        ),
        (r"(<code>)([0-9a-f]{64})", "profit: it names another release"),
    ],
    ids=["mean", "count", "largest", "hash"],
)
def test_what_the_report_prints_is_worked_out_again(out: Path, pattern: str, words: str) -> None:
    path = out / "public" / "report.html"
    text = path.read_text(encoding="utf-8")
    changed = re.sub(pattern, lambda found: found[1] + another_digit(found[2]), text, count=1, flags=re.DOTALL)
    assert changed != text
    path.write_text(changed, encoding="utf-8")
    forge(out)
    found = findings(audit_folder(out))
    assert set(found) == {"report"}
    assert any(each.startswith(words) for each in found["report"])


def another_digit(words: str) -> str:
    """The last digit changed: by more than rounding half-way up or down could."""
    return words[:-1] + str((int(words[-1], 16) + 3) % 10)


def keep_only(out: Path, *formats: str) -> None:
    """The release as if no other format had been asked for."""
    job = (out / "job.toml").read_text(encoding="utf-8")
    (out / "job.toml").write_text(re.sub(r"formats = .*", f"formats = {json.dumps(formats)}", job), encoding="utf-8")
    kept = {path for paths in public_side(out)[1].values() for path in paths}
    for path in (out / "public").iterdir():
        if path not in kept and path.name != "report.html":
            path.unlink()
    forge(out)


@pytest.mark.parametrize("wanted", CHANGES)
def test_a_release_without_a_csv_file_is_audited_from_what_it_has(out: Path, wanted: str) -> None:
    cell = Cell(out, wanted, 0, "-5", "bread")
    keep_only(out, *([] if wanted == "report" else [wanted]))
    assert findings(audit_folder(out)) == {}
    CHANGES[wanted](cell)
    forge(out)
    found = findings(audit_folder(out))
    assert {"additivity", "provenance", "report"} <= set(found)


def test_a_file_that_is_not_the_job_s_is_found_though_its_hash_is_there(out: Path) -> None:
    keep_only(out, "parquet")
    (out / "public" / "market.csv").write_text("town,value\nBern,9\n", encoding="utf-8")
    forge(out)
    assert findings(audit_folder(out)) == {"files": ("public/market.csv: not a file that the job writes",)}


@pytest.mark.parametrize("wanted", CHANGES)
def test_a_file_that_cannot_be_read_is_a_finding_and_no_crash(out: Path, wanted: str) -> None:
    cell = Cell(out, wanted, 0, "-5", "bread")
    cell.path.write_bytes(b"nothing of ours")
    forge(out)
    assert set(findings(audit_folder(out))) == {wanted}


def test_without_any_file_that_can_be_read_nothing_is_audited(out: Path) -> None:
    keep_only(out, "pc-axis")
    Cell(out, "pc-axis", 0, "-5", "bread").path.write_text("DATA=", encoding="utf-8")
    with pytest.raises(AuditFailed, match=r"The public files cannot be read: .*px is not a PC-Axis file"):
        audit_folder(out)
