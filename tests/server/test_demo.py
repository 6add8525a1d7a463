"""The server's demonstration: a configuration that its data fit, and a key that only its owner reads."""

from __future__ import annotations

from pathlib import Path

from pyarrow.parquet import read_table

from statveil.jobs.server_config import read_config
from statveil.server.demo import write_demo


def test_the_configuration_fits_the_records(tmp_path: Path) -> None:
    config = read_config(write_demo(tmp_path, records=200))
    (dataset,) = config.parts.dataset
    columns = read_table(tmp_path / "enterprises.parquet").column_names
    assert {*dataset.dimensions, "holding", "turnover", "employment"} <= set(columns)
    assert (tmp_path / "secret.key").stat().st_mode & 0o777 == 0o600
