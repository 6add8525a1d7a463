"""The same job gives the same bytes: run twice, with the records in another order, with another hash seed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from statveil.systems import write_jj
from statveil_lab.generators.random_tables import random_problem

pytestmark = pytest.mark.slow

JOB = """
[data]
file = "firms.csv"
[table]
name = "turnover"
measure = "turnover"
weight = "weight"
holding = "owner"
decimals = 0
[table.dimensions]
region = { hierarchy = "regions.csv" }
trade = "flat"
[[rule]]
type = "p-percent"
p = 12.5
[[rule]]
type = "minimum-frequency"
n = 3
[limits]
seconds = 60
gap = 0.02
[output]
formats = ["csv", "json-stat", "sdmx-csv", "parquet"]
"""

REGIONS = ["code,parent,label", "N,Total,Nord", "S,Total,Süd", *(f"{r}{i},{r},{r}-{i}" for r in "NS" for i in range(1, 4))]


def firms() -> list[str]:
    """300 records with weights of two decimals and owners of several firms."""
    rng = np.random.default_rng(11)
    columns = (
        rng.choice([f"{r}{i}" for r in "NS" for i in range(1, 4)], 300),
        rng.choice(["vet", "baker", "smith", "mølle"], 300),
        rng.lognormal(5, 1.4, 300).round(0).astype(int) + 1,
        rng.choice(["1", "1.25", "2.4"], 300),
        rng.integers(0, 150, 300),
    )
    return [",".join(map(str, each)) for each in zip(*columns, strict=True)]


def protect(folder: Path, records: list[str], *, hash_seed: int) -> dict[str, bytes]:
    """All public files of a run of the command, by name, and its provenance."""
    folder.mkdir()
    (folder / "firms.csv").write_text("\n".join(["region,trade,turnover,weight,owner", *records]) + "\n", encoding="utf-8")
    (folder / "regions.csv").write_text("\n".join(REGIONS) + "\n", encoding="utf-8")
    (folder / "job.toml").write_text(JOB, encoding="utf-8")
    command = [sys.executable, "-c", "from statveil.cli import main; main()", "protect", "job.toml", "--out", "out"]
    done = subprocess.run(
        command, cwd=folder, env={**os.environ, "PYTHONHASHSEED": str(hash_seed)}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    files = [*(folder / "out" / "public").iterdir(), folder / "out" / "provenance.json"]
    return {file.name: file.read_bytes() for file in files if file.name != "report.html"}


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    return protect(tmp_path_factory.mktemp("repeatable") / "first", firms(), hash_seed=0)


def shuffled() -> list[str]:
    records = firms()
    return [records[i] for i in np.random.default_rng(2).permutation(len(records))]


def test_all_formats_are_compared(first: dict[str, bytes]) -> None:
    assert sorted(first) == ["provenance.json", "turnover.csv", "turnover.json", "turnover.parquet", "turnover.sdmx.csv"]
    assert all(first.values())


def test_again_with_another_order_of_records_and_another_hash_seed_it_gives_the_same_bytes(first: dict[str, bytes], tmp_path: Path) -> None:
    assert protect(tmp_path / "again", shuffled(), hash_seed=4242) == first


def adjusted(folder: Path, *, cores: set[int]) -> bytes:
    """The solution file of a run of `statveil adjust` on a 3-D table, held to these cores."""
    command = f"import os; os.sched_setaffinity(0, {cores}); from statveil.cli import main; main()"
    options = ["--weights", "unit", "--seconds", "60", "--gap", "0.3", "--out", "table.sol"]
    done = subprocess.run(
        [sys.executable, "-c", command, "adjust", "table.jj", *options], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return (folder / "table.sol").read_bytes()


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="cores cannot be chosen here")
def test_one_core_gives_the_bytes_of_two(tmp_path: Path) -> None:
    write_jj(random_problem((6, 6, 6), seed=3), tmp_path / "table.jj")
    cores = sorted(os.sched_getaffinity(0))
    assert adjusted(tmp_path, cores={cores[0]}) == adjusted(tmp_path, cores=set(cores[:2]))
