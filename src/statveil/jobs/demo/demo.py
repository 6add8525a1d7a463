"""The demonstration: invented enterprises, and the whole way from records to an audited, published table."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path
from typing import Any

from statveil.core.limits import OnProgress
from statveil.data.hierarchy import Hierarchy
from statveil.jobs.folders.tables import FolderRelease, run_in
from statveil.jobs.staging import moved, staged
from statveil.jobs.table_job import read_job

JOB = """\
# The demonstration's job: turnover of invented enterprises by region, industry and size.
# Change it and run it again:   statveil protect job.toml --out ../mine

[data]
file = "input/enterprises.csv"

[table]
name = "turnover"
measure = "turnover"
holding = "holding"

[table.dimensions]
region = { hierarchy = "input/regions.csv" }
industry = { hierarchy = "input/industries.csv" }
size = { hierarchy = "input/sizes.csv" }

[[rule]]
type = "p-percent"
p = 10

[[rule]]
type = "minimum-frequency"
n = 3

[protection]
hold = ["total"]                # readers know the grand total: it stays as it is

[limits]
seconds = 120
gap = 0.045

[output]
formats = ["csv", "parquet", "json-stat", "sdmx-csv"]
internal = true
"""


def run_demo(
    folder: Path, *, records: int = 40_000, seconds: float | None = None, force: bool = False, on_progress: OnProgress | None = None
) -> FolderRelease:
    """Invent the records, then protect them as any job would be; everything ends up in one folder."""
    with staged(folder, force=force) as place:
        inputs = write_inputs(place, records=records)
        job = read_job(place / "job.toml").within(seconds)
        written = run_in(place, job, internal=True, paths_from=".", on_progress=on_progress)
    return replace(written, folder=folder, files=moved({**inputs, **written.files}, place, folder))


def write_inputs(place: Path, *, records: int) -> dict[str, Path]:
    """Records, trees and the job, as a user would have them."""
    from statveil.jobs.demo.enterprises import enterprises, industry_tree, region_tree, size_tree

    folder = place / "input"
    folder.mkdir()
    _write_records(enterprises(records=records), folder / "enterprises.csv")
    for tree, name in ((region_tree(), "regions.csv"), (industry_tree(), "industries.csv"), (size_tree(), "sizes.csv")):
        write_tree(tree, folder / name)
    (place / "job.toml").write_text(JOB, encoding="utf-8", newline="\n")
    return {"records": folder / "enterprises.csv"}


def _write_records(records: Any, path: Path) -> None:
    from pyarrow.csv import write_csv

    write_csv(records, path)


def write_tree(tree: Hierarchy, path: Path) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        lines = csv.writer(file, lineterminator="\n")
        lines.writerow(["code", "parent", "label"])
        lines.writerows([code, tree.parent.get(code, ""), tree.labels.get(code, "")] for code in tree.codes)
