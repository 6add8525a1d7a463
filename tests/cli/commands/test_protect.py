"""`statveil protect`: what it writes and where, what it refuses, nothing half-written."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import statveil.jobs.folders.tables
from statveil.jobs.table_job import read_job
from statveil.publish.release import Release
from tests.cli.stories import JOB, VILLAGE, failing, run, told


@pytest.mark.slow
def test_protect_writes_what_may_be_published(village: Path) -> None:
    result = run("protect", village / "job.toml", "--out", village / "out")
    assert result.exit_code == 0, result.output
    names = sorted(path.relative_to(village / "out").as_posix() for path in (village / "out").rglob("*") if path.is_file())
    public = ["income.csv", "income.json", "income.parquet", "income.sdmx.csv", "report.html"]
    assert names == ["job.toml", "provenance.json", *(f"public/{name}" for name in public), "run.json"]
    assert (village / "out" / "job.toml").read_text(encoding="utf-8") == JOB
    for name in names:
        assert name in result.output


@pytest.mark.slow
def test_internal_files_come_only_on_request(released: Path, village: Path) -> None:
    internal = [path.name for path in (released / "out" / "internal").iterdir()]
    assert sorted(internal) == ["income-internal.csv", "report-internal.html"]
    (village / "job.toml").write_text(JOB + "[output]\ninternal = true\nformats = ['csv']\n", encoding="utf-8")
    assert run("protect", village / "job.toml", "--out", village / "out").exit_code == 0
    assert (village / "out" / "internal" / "income-internal.csv").is_file()
    assert not (village / "out" / "public" / "income.parquet").exists()


@pytest.mark.slow
def test_a_job_writes_the_older_sdmx_csv(village: Path) -> None:
    (village / "job.toml").write_text(JOB + '[output]\nformats = ["csv", "sdmx-csv"]\nsdmx_csv = "1.0"\n', encoding="utf-8")
    assert run("protect", village / "job.toml", "--out", village / "out").exit_code == 0
    assert (village / "out" / "public" / "income.sdmx.csv").read_text().startswith("DATAFLOW,")


@pytest.mark.slow
def test_the_folder_is_named_after_the_job_by_default(village: Path) -> None:
    assert run("protect", village / "job.toml").exit_code == 0
    assert (village / "job-release" / "public" / "income.csv").is_file()


@pytest.mark.slow
def test_json_is_one_object_on_stdout_and_lines_on_stderr(village: Path) -> None:
    result = run("protect", village / "job.toml", "--out", village / "out", "--json", "--seconds", "60")
    assert result.exit_code == 0
    outcome = json.loads(result.stdout)
    assert set(outcome) >= {"folder", "paths", "objective", "bound", "gap", "ending", "cells", "seconds", "audit"}
    assert outcome["audit"]["passed"] is True
    assert Path(outcome["paths"]["csv"]).is_file()
    lines = [json.loads(line)["progress"] for line in result.stderr.splitlines()]
    assert {"stage", "seconds", "objective", "bound", "gap", "seconds_left"} == set(lines[0])
    assert read_job(village / "out" / "job.toml").limits().seconds == 60


@pytest.mark.slow
def test_the_same_job_gives_the_same_bytes(released: Path) -> None:
    assert run("protect", released / "job.toml", "--out", released / "again").exit_code == 0
    for file in [*(released / "again" / "public").iterdir(), released / "again" / "provenance.json"]:
        assert file.read_bytes() == (released / "out" / file.relative_to(released / "again")).read_bytes(), file.name


LINKED = """
[data]
file = "village.csv"
[[table]]
name = "by street"
measure = "income"
decimals = {decimals}
dimensions = {{ street = "flat" }}
[[table]]
name = "by trade"
measure = "income"
decimals = {decimals}
dimensions = {{ trade = "flat", street = {{ total = "Everywhere" }} }}
[[rule]]
type = "p-percent"
p = 10
[[rule]]
type = "manual"
file = "apriori.csv"
"""


@pytest.mark.slow
@pytest.mark.parametrize("decimals", [-1, 0, 2])
def test_linked_tables_have_a_file_each_and_agree(village: Path, decimals: int) -> None:
    (village / "village.csv").write_text(VILLAGE.replace("A,", "=A,").replace(",vet", ',"vet, cattle"'), encoding="utf-8")
    (village / "apriori.csv").write_text("street,view,status\nB,by street,sensitive\n", encoding="utf-8")
    (village / "job.toml").write_text(LINKED.format(decimals=decimals), encoding="utf-8")
    result = run("protect", village / "job.toml", "--out", village / "out", "--json", "--seconds", "10")
    assert result.exit_code == 0, result.output
    streets, trades = (Path(path) for name, path in json.loads(result.stdout)["paths"].items() if name.startswith("csv "))
    released = dict(line.split(",") for line in streets.read_text(encoding="utf-8").splitlines()[1:])
    for line in trades.read_text(encoding="utf-8").splitlines()[1:]:
        if line.startswith("Total,"):
            _, street, income = line.split(",")
            assert released["Total" if street == "Everywhere" else street] == income
    assert (village / "out" / "public" / "tables-by_street.sdmx.csv").is_file()
    assert "sdmx-csv tables-by_street" in json.loads(result.stdout)["paths"]
    assert run("audit", village / "out").exit_code == 0
    streets.write_text(streets.read_text(encoding="utf-8").replace(f"B,{released['B']}", f"B,{released['C']}"), encoding="utf-8")
    assert run("audit", village / "out").exit_code == 5


SPREAD = """
[data]
file = "village.csv"
[table]
measure = "income"
[table.dimensions]
street = { hierarchy = "streets.csv" }
[[rule]]
type = "minimum-frequency"
n = 12
[[rule]]
type = "manual"
file = "apriori.csv"
"""


@pytest.mark.slow
def test_what_a_safe_total_reached_is_told(village: Path) -> None:
    (village / "streets.csv").write_text("code,parent\nWest,\nA,West\nEast,\nB,East\nC,East\n", encoding="utf-8")
    (village / "apriori.csv").write_text("street,status\nWest,safe\n", encoding="utf-8")
    (village / "job.toml").write_text(SPREAD, encoding="utf-8")
    refused = run("protect", village / "job.toml", "--out", village / "out")
    assert refused.exit_code == 2
    assert "street = A is the same records" in " ".join(refused.output.split())
    (village / "job.toml").write_text(SPREAD + "spread = true\n", encoding="utf-8")
    result = run("protect", village / "job.toml", "--out", village / "out")
    assert result.exit_code == 0, result.output
    words = "street = West was declared safe, which a rule calls sensitive; so was street = A, the same records"
    assert words in result.stdout
    assert json.loads((village / "out" / "run.json").read_text())["safe_by_spread"] == [words]


@pytest.mark.slow
def test_the_result_says_how_many_cells_are_sensitive(village: Path) -> None:
    result = run("protect", village / "job.toml", "--out", village / "out")
    assert re.match(r"Protected a table of 12 cells, \d+ of them sensitive, in [\d.]+ s: ", result.stdout), result.stdout
    assert ": 0 checked" not in result.stdout
    assert ": nothing to check\n" in result.stdout


@pytest.mark.slow
def test_a_table_without_sensitive_cells_is_told_so(village: Path) -> None:
    (village / "job.toml").write_text(JOB.replace("p = 10", "p = 1").replace("n = 3", "n = 1"), encoding="utf-8")
    (village / "village.csv").write_text("street,trade,income\n" + "A,vet,9\nB,vet,9\n" * 9, encoding="utf-8")
    result = run("protect", village / "job.toml", "--out", village / "out")
    assert "Nothing was sensitive; " in told(result)
    assert "best possible" not in result.stdout


@pytest.mark.slow
def test_no_safe_table_exists_when_nothing_else_may_move(village: Path) -> None:
    (village / "job.toml").write_text(JOB + "[protection.bounds]\npercent_up = 0\npercent_down = 0\n", encoding="utf-8")
    result = run("protect", village / "job.toml")
    assert result.exit_code == 3
    assert "InfeasibleProblem" in told(result)


def test_a_missing_package_is_told_before_the_work_begins(village: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statveil.jobs.folders.tables, "find_spec", lambda _: None)
    (village / "job.toml").write_text(JOB + '[output]\nformats = ["excel"]\n', encoding="utf-8")
    result = run("protect", village / "job.toml")
    assert result.exit_code == 6
    assert "statveil[excel]" in told(result)


# -- where to write -----------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_an_earlier_release_is_replaced_only_by_force(released: Path) -> None:
    result = run("protect", released / "job.toml", "--out", released / "out")
    assert result.exit_code == 2
    assert "--force" in told(result)
    assert run("protect", released / "job.toml", "--out", released / "out", "--force").exit_code == 0
    assert not (released / "out" / "internal").exists()


def test_a_folder_with_other_files_is_never_touched(released: Path) -> None:
    (released / "out" / "thesis.tex").write_text("years of work", encoding="utf-8")
    for folder in (released / "out", released):
        result = run("protect", released / "job.toml", "--out", folder, "--force")
        assert result.exit_code == 2
        assert "no release of statveil" in told(result)
    assert (released / "out" / "thesis.tex").is_file()
    assert run("protect", released / "job.toml", "--out", released / "job.toml").exit_code == 2


@pytest.mark.slow
def test_an_empty_folder_is_used(village: Path) -> None:
    (village / "out").mkdir()
    assert run("protect", village / "job.toml", "--out", village / "out").exit_code == 0


@pytest.mark.slow
@pytest.mark.parametrize("existing", [True, False])
def test_nothing_is_left_when_the_last_file_fails(village: Path, monkeypatch: pytest.MonkeyPatch, existing: bool) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Release, "to_report", full)
    if existing:
        (village / "out").mkdir()
    result = run("protect", village / "job.toml", "--out", village / "out")
    assert result.exit_code == 2
    assert "No space left on device" in told(result)
    assert (village / "out").exists() is existing
    assert not existing or not list((village / "out").iterdir())


def test_an_earlier_release_survives_a_failure(released: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = {path: path.read_bytes() for path in (released / "out").rglob("*") if path.is_file()}
    failing(monkeypatch, RuntimeError())
    assert run("protect", released / "job.toml", "--out", released / "out", "--force").exit_code == 1
    assert {path: path.read_bytes() for path in (released / "out").rglob("*") if path.is_file()} == before


# -- ugly inputs --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"[data\n", "not valid TOML"),
        (b'[data]\nfile = "caf\xe9.csv"\n', "not UTF-8"),
        (b"", "data: is missing"),
        (b"\x00\x01", "not valid TOML"),
        (JOB.replace("measure", "mesure").encode(), "Did you mean 'measure'?"),
        (JOB.replace("village.csv", "hamlet.csv").encode(), "There is no file hamlet.csv"),
        (JOB.replace('measure = "income"', 'measure = "wage"').encode(), "wage"),
        (JOB.replace('measure = "income"', 'measure = "trade"').replace('trade = "flat"\n', "").encode(), "not numbers"),
        (JOB.replace('measure = "income"', 'measure = "trade"').encode(), "'trade' is the measure and cannot be a dimension"),
    ],
)
def test_an_ugly_job_is_refused_in_words(village: Path, content: bytes, words: str) -> None:
    (village / "job.toml").write_bytes(content)
    result = run("protect", village / "job.toml", "--out", village / "out")
    assert result.exit_code == 2
    assert words in told(result)
    assert not (village / "out").exists()


def test_a_job_that_is_not_there_is_refused(tmp_path: Path) -> None:
    assert run("protect", tmp_path / "none.toml").exit_code == 2
    assert run("protect", tmp_path).exit_code == 2


@pytest.mark.parametrize(
    "data", [b"", b"street,trade,income\n", b"\xff\xfe\x00", b"street,trade,income\nA,vet\n", b"street,trade,income\nA,,3\n"]
)
def test_ugly_data_are_refused_in_words(village: Path, data: bytes) -> None:
    (village / "village.csv").write_bytes(data)
    result = run("protect", village / "job.toml", "--out", village / "out")
    assert result.exit_code in (0, 2)
    told(result)
