"""A release folder audited again: what was changed since it was written is found, whichever file it is in."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from statveil.audit.report import AuditReport
from statveil.jobs.folders.tables import protect_to_folder
from statveil.jobs.recheck import audit_folder
from statveil.jobs.table_job import read_job

RECORDS = "a,a_label,income\n" + "".join(
    f"{street},{trade},{income}\n"
    for street, trade, incomes in [
        ("N", "vet", (900,)),
        ("N", "baker", (100, 120, 140)),
        ("S", "vet", (200, 180)),
        ("S", "baker", (50, 60)),
    ]
    for income in incomes
)
JOB = """
[data]
file = "village.csv"
[table]
name = "income"
measure = "income"
[table.dimensions]
a = { hierarchy = "streets.csv" }
a_label = "flat"
[[rule]]
type = "p-percent"
p = 10
[limits]
seconds = 10
"""


@pytest.fixture(scope="module")
def _village(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("village")
    (folder / "village.csv").write_text(RECORDS, encoding="utf-8")
    (folder / "streets.csv").write_text("code,parent,label\nN,,North\nS,,South\n", encoding="utf-8")
    (folder / "job.toml").write_text(JOB, encoding="utf-8")
    protect_to_folder(read_job(folder / "job.toml"), folder / "out")
    return folder


@pytest.fixture
def out(_village: Path, tmp_path: Path) -> Path:
    """A release of a village where a dimension is called like the labels of another."""
    return Path(shutil.copytree(_village, tmp_path / "copy")) / "out"


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def findings(report: AuditReport) -> dict[str, Any]:
    return {check.name: check.findings for check in report.checks if not check.passed}


def test_a_dimension_called_like_the_labels_of_another_is_no_fault(out: Path) -> None:
    assert (out / "public" / "income.csv").read_text(encoding="utf-8").startswith("a,a_label,a_label_,value\n")
    assert findings(audit_folder(out)) == {}


def test_weakened_rules_are_found(out: Path) -> None:
    edit(out / "job.toml", "p = 10", "p = 1")
    found = findings(audit_folder(out))
    assert found["job"] == ("rules: job.toml and provenance.json differ",)
    assert found["contents"] == ("job.toml: changed since the release",)


@pytest.mark.parametrize(
    ("old", "new", "part"),
    [
        ("[limits]", '[protection]\nvariant = "exact"\n[limits]', "options"),
        ("[limits]", "[protection]\nseed = 3\n[limits]", "seed"),
        ("[limits]", '[protection]\nmethod = "exact"\n[limits]', "method"),
        ('a_label = "flat"', 'a_label = { total = "Total" }', "tables"),
    ],
)
def test_any_other_wish_is_found(out: Path, old: str, new: str, part: str) -> None:
    edit(out / "job.toml", old, new)
    assert findings(audit_folder(out))["job"] == (f"{part}: job.toml and provenance.json differ",)


def test_rules_weakened_in_both_files_are_found(out: Path) -> None:
    edit(out / "job.toml", "p = 10", "p = 1")
    edit(out / "provenance.json", '"p": 10', '"p": 1')
    assert findings(audit_folder(out)) == {
        "contents": ("job.toml: changed since the release", "provenance.json: changed since the release")
    }


def test_only_the_wording_of_the_job_may_not_change_either(out: Path) -> None:
    edit(out / "job.toml", "p = 10", "p = 10  # as ever")
    assert set(findings(audit_folder(out))) == {"contents"}


@pytest.mark.parametrize("name", ["income.csv", "income.parquet", "income.json", "income.sdmx.csv", "report.html"])
def test_a_byte_in_any_public_file_is_found(out: Path, name: str) -> None:
    with (out / "public" / name).open("ab") as file:
        file.write(b"\n")
    assert findings(audit_folder(out))["contents"] == (f"public/{name}: changed since the release",)


def test_a_missing_and_an_extra_public_file_are_found(out: Path) -> None:
    (out / "public" / "income.json").unlink()
    (out / "public" / "draft").mkdir()
    (out / "public" / "draft" / "notes.txt").write_text("", encoding="utf-8")
    assert findings(audit_folder(out)) == {
        "contents": ("public/draft/notes.txt: not part of the release", "public/income.json: missing"),
        "files": ("public/draft/notes.txt: not a file that the job writes",),
        "json-stat": ("income.json is missing.",),
    }


@pytest.mark.parametrize("files", [None, {}, [], {"job.toml": 3}])
def test_a_run_file_without_its_hashes_is_a_fault(out: Path, files: Any) -> None:
    run = json.loads((out / "run.json").read_text(encoding="utf-8"))
    (out / "run.json").write_text(json.dumps({**run, "files": files}), encoding="utf-8")
    assert "contents" in findings(audit_folder(out))


def test_every_public_file_has_its_hash_in_the_run_file(out: Path) -> None:
    files = json.loads((out / "run.json").read_text(encoding="utf-8"))["files"]
    public = {f"public/{path.name}" for path in (out / "public").iterdir()}
    assert set(files) == {"job.toml", "provenance.json", *public}
    assert all(len(digest) == 64 for digest in files.values())
