"""Datasets for the tests of the cube, loaded as the server loads them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from statveil.core.secret import SecretKey
from statveil.jobs.server_config import check_config
from statveil.server.dataset.dataset import ServedData, load_dataset
from statveil.server.dataset.layout import Layout, resolve
from statveil.server.dataset.query import DimensionChoice, TableQuery
from tests.server.village import VILLAGE, Record, village_content, write_village

KEY = SecretKey(b"the key of these tests, 32 bytes")


def village(folder: Path, records: Sequence[Record] = VILLAGE, **changes: Any) -> ServedData:
    write_village(folder, records)
    config = check_config(village_content(**changes), base=folder)
    return load_dataset(config, config.datasets[0], KEY)


def table(data: ServedData, measure: str, *dimensions: str, filters: dict[str, tuple[str, ...]] | None = None) -> Layout:
    """A layout by dimensions such as "region" or "region:part"."""
    choices = tuple(DimensionChoice(id=name, level=level or None) for name, _, level in (each.partition(":") for each in dimensions))
    query = TableQuery(dataset=data.part.id, measure=measure, dimensions=choices, filters=filters or {})
    return resolve(query, data.dimensions, cells=10_000)[1]
