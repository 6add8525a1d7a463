"""Small datasets for the server's tests: few enough records to check by hand."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from statveil.core.secret import SecretKey, new_key_file
from statveil.jobs.server_config import ServerConfig, check_config
from statveil.server.dataset.query import DimensionChoice, TableQuery
from statveil.server.engine.service import TableService

Record = tuple[str, str, str, str, int]
"""Unit, holding, region, trade, turnover."""

VILLAGE: tuple[Record, ...] = (
    ("bakery", "bakery", "N1", "food", 400),
    ("butcher", "butcher", "N1", "food", 300),
    ("grocer", "grocer", "N1", "food", 350),
    ("smith", "smith", "N1", "metal", 900),
    ("mill", "mill", "N2", "food", 800),
    ("dairy", "dairy", "N2", "food", 60),
    ("tinner", "tinner", "N2", "metal", 120),
    ("foundry", "steel", "N2", "metal", 500),
    ("forge", "steel", "S1", "metal", 700),
    ("lathe", "lathe", "S1", "metal", 650),
    ("press", "press", "S1", "metal", 620),
    ("inn", "inn", "S1", "food", 90),
    ("shut", "shut", "S1", "food", 0),
    ("fish", "fish", "S2", "food", 210),
    ("oil", "oil", "S2", "food", 190),
    ("wine", "wine", "S2", "food", 205),
)
REGIONS = "code,parent\nN,Total\nS,Total\nN1,N\nN2,N\nS1,S\nS2,S\n"


def write_village(folder: Path, records: Sequence[Record] = VILLAGE) -> None:
    columns = list(zip(*records, strict=True))
    names = ("unit", "holding", "region", "trade", "turnover")
    pq.write_table(pa.table(dict(zip(names, map(list, columns), strict=True))), folder / "records.parquet")
    (folder / "regions.csv").write_text(REGIONS, encoding="utf-8")
    if not (folder / "key").exists():
        new_key_file(folder / "key")


def village_content(*, store: Mapping[str, Any] | None = None, limits: Mapping[str, Any] | None = None, **dataset: Any) -> dict[str, Any]:
    """The configuration of the village, as a TOML file would hold it."""
    return {
        "key": {"file": "key"},
        "store": dict(store or {"file": "store.sqlite"}),
        "limits": dict(limits or {}),
        "dataset": [
            {
                "id": "village",
                "file": "records.parquet",
                "unit": "unit",
                "holding": "holding",
                "filters": ["trade", "region"],
                "dimensions": {"region": {"hierarchy": "regions.csv", "levels": ["part", "region"]}, "trade": {}},
                "measure": [{"id": "turnover", "column": "turnover"}, {"id": "units", "count": True}],
                "rule": [{"type": "p-percent", "p": 10}, {"type": "minimum-frequency", "n": 3, "level": 10}],
                **dataset,
            }
        ],
    }


def write_server(folder: Path, records: Sequence[Record] = VILLAGE, *, web: Mapping[str, Any], **changes: Any) -> Path:
    """The village and its configuration as a file, for a server that runs by itself."""
    write_village(folder, records)
    path = folder / "server.toml"
    content = {**village_content(**changes), "web": web}
    path.write_text("\n".join(f"{name} = {_toml(part)}" for name, part in content.items()), encoding="utf-8")
    return path


def _toml(part: Any) -> str:
    """Text, numbers and true or false are written as in JSON."""
    if isinstance(part, Mapping):
        return "{ " + ", ".join(f"{json.dumps(name)} = {_toml(each)}" for name, each in part.items()) + " }"
    return f"[{', '.join(map(_toml, part))}]" if isinstance(part, list) else json.dumps(part)


def village_config(folder: Path, records: Sequence[Record] = VILLAGE, **changes: Any) -> ServerConfig:
    write_village(folder, records)
    return check_config(village_content(**changes), base=folder)


def open_village(folder: Path, records: Sequence[Record] = VILLAGE, **changes: Any) -> TableService:
    config = village_config(folder, records, **changes)
    return TableService.open(config, config.key())


def key_of(number: int = 1) -> SecretKey:
    """One of several keys that are the same in every run."""
    return SecretKey(bytes([number]) * 32)


def ask(
    *dimensions: str, measure: str = "turnover", totals: bool = True, filters: Mapping[str, tuple[str, ...]] | None = None
) -> TableQuery:
    """`region:part` is a level, `region=N1+N2` codes, `region` the lowest level."""
    return TableQuery(dataset="village", measure=measure, dimensions=tuple(map(_choice, dimensions)), totals=totals, filters=filters or {})


def _choice(text: str) -> DimensionChoice:
    name, _, codes = text.partition("=")
    if codes:
        return DimensionChoice(id=name, codes=tuple(codes.split("+")))
    name, _, level = text.partition(":")
    return DimensionChoice(id=name, level=level or None)
