"""The folder of a table: which files it gets, which of them are hashed, what is refused before any search."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

import statveil as sv
from statveil.jobs.folders.tables import file_hashes, protect_to_folder, public_files, relative
from statveil.jobs.table_job import TableJob, read_job

JOB = """
[data]
file = "shops.csv"
[table]
name = "shop sales"
measure = "sales"
[table.dimensions]
area = "flat"
trade = "flat"
[[rule]]
type = "minimum-frequency"
n = 2
[limits]
seconds = 60
[output]
{output}
"""


def job(folder: Path, output: str = "") -> TableJob:
    (folder / "shops.csv").write_text("area,trade,sales\np,u,7\np,v,3\nq,u,1\nq,v,50\nq,v,20\n", encoding="utf-8")
    (folder / "job.toml").write_text(JOB.format(output=output), encoding="utf-8")
    return read_job(folder / "job.toml")


def test_the_way_back_to_the_data_is_relative(tmp_path: Path) -> None:
    assert relative(tmp_path / "data", tmp_path / "out" / "release") == "../../data"
    assert relative(tmp_path, tmp_path) == "."


def test_every_format_has_a_file_of_its_own(tmp_path: Path) -> None:
    asked = job(tmp_path, 'formats = ["csv", "json-stat", "pc-axis", "csv"]')
    files = public_files(tmp_path, asked, sv.tabulate(asked.microdata, asked.linked().specs[0]).views)
    assert {wanted: [path.name for path in paths] for wanted, paths in files.items()} == {
        "csv": ["shop_sales.csv"],
        "json-stat": ["shop_sales.json"],
        "pc-axis": ["shop_sales.px"],
    }


def test_what_is_public_is_hashed_and_what_is_not_is_not(tmp_path: Path) -> None:
    for name in ("public/a.csv", "internal/b.csv", "job.toml", "notes.txt"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(name, encoding="utf-8")
    assert file_hashes(tmp_path) == {name: hashlib.sha256(name.encode()).hexdigest() for name in ("job.toml", "public/a.csv")}


def test_a_comparison_that_nobody_would_see_is_refused(tmp_path: Path) -> None:
    with pytest.raises(sv.InputError, match="internal report"):
        protect_to_folder(job(tmp_path, "compare = true"), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_format_whose_package_is_missing_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("statveil.jobs.folders.tables.find_spec", lambda name: None)
    with pytest.raises(sv.errors.BackendMissing, match="xlsxwriter"):
        protect_to_folder(job(tmp_path, 'formats = ["excel"]'), tmp_path / "out")
    assert not (tmp_path / "out").exists()
