"""Sums of record keys: every cell's is that of its records, whatever order they come in."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from statveil.core.errors import InputError
from statveil.core.secret import SecretKey
from statveil.jobs.compare.compare import judged_table
from statveil.jobs.compare.keys import key_sums
from statveil.jobs.table_job import TableJob
from statveil.tables.relations import relations
from statveil.tables.spec import TableSpec
from tests.jobs.compare.stories import RECORDS, village

KEY = SecretKey(bytes(32))


def sums_of(job: TableJob) -> np.ndarray:
    return key_sums(job.microdata, job.specs()[0], judged_table(job).table, KEY)


def test_keys_add_up_as_the_cells_do(tmp_path: Path) -> None:
    job = village(tmp_path)
    judged = judged_table(job)
    sums = sums_of(job)
    assert not (relations(judged.table) @ sums).any()
    assert len(set(sums.tolist())) == sums.size
    assert (sums > 0).all()


def test_the_order_of_the_records_does_not_matter(tmp_path: Path) -> None:
    before = sums_of(village(tmp_path))
    other = village(tmp_path)
    head, *lines = RECORDS.splitlines()
    (tmp_path / "village.csv").write_text("\n".join([head, *reversed(lines)]) + "\n", encoding="utf-8")
    assert np.array_equal(before, sums_of(other))


def test_weights_are_refused(tmp_path: Path) -> None:
    job = village(tmp_path)
    spec = TableSpec(dimensions={"street": None, "trade": None}, measure="income", weight="income")
    with pytest.raises(InputError, match="without weights"):
        key_sums(job.microdata, spec, judged_table(job).table, KEY)
