"""A village in tau-ARGUS's files, small enough to add up by hand."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

RDA = """region 1 2 99
  <RECODEABLE>
  <HIERCODELIST> "C:\\Program Files\\argus\\Region.hrc"
  <HIERLEADSTRING> "@"
trade 3 2
  <RECODEABLE>
owner 5 2
  <HOLDING>
weight 7 3
  <NUMERIC>
  <DECIMALS> 1
  <WEIGHT>
turnover 10 5
  <NUMERIC>
cost 15 3
  <NUMERIC>
ask 18 1
  <REQUEST> "1"
"""
HRC = "No\r\n@ 1\r\n@ 2\r\nSo\r\n@10"
RECORDS = [
    # region, trade, owner, weight, turnover, cost, ask
    (" 1", "ba", "o1", 1.0, 100, 5, 0),
    (" 1", "ba", "o2", 1.0, 90, 5, 0),
    (" 1", "ba", "o3", 2.0, 80, 5, 0),
    (" 1", "ve", "o4", 1.0, 500, 5, 0),
    (" 2", "ba", "o1", 1.0, 70, 5, 0),
    (" 2", "ba", "o5", 1.0, 60, 5, 1),
    (" 2", "ba", "o6", 1.0, 50, 5, 0),
    (" 2", "ve", "o7", 1.0, 40, 5, 0),
    (" 2", "ve", "o7", 1.0, 40, 5, 0),
    ("10", "ba", "o8", 1.0, 30, 5, 0),
    ("10", "ba", "o9", 1.0, 30, 5, 0),
    ("10", "ve", "p1", 1.0, 20, 5, 0),
    ("10", "ve", "p2", 1.0, 25, 5, 0),
    ("10", "ve", "p3", 1.0, 15, 5, 0),
    ("99", "ve", "p4", 1.0, 10, 5, 0),
]


def record(region: str, trade: str, owner: str, weight: float, turnover: int, cost: int, ask: int) -> str:
    return f"{region}{trade}{owner}{weight:3.1f}{turnover:5d}{cost:3d}{ask}"


@pytest.fixture
def village(tmp_path: Path) -> Path:
    """A folder with blanks in its name: records, metadata and tree."""
    folder = tmp_path / "my data"
    folder.mkdir()
    (folder / "village.rda").write_text(RDA, encoding="utf-8")
    (folder / "region.hrc").write_bytes(HRC.encode())
    (folder / "village.asc").write_text("".join(f"{record(*each)}\r\n" for each in RECORDS), encoding="utf-8", newline="")
    return folder


@pytest.fixture
def batch(village: Path) -> Callable[..., Path]:
    """Write a batch file over the village's records: a rule, then the commands after reading."""

    def write(rule: str, *after: str, spec: str = '"region""trade"|"turnover"|""|""') -> Path:
        lines = [
            '<OPENMICRODATA> "D:\\elsewhere\\VILLAGE.ASC"',
            "<OPENMETADATA> village.rda",
            f"<SPECIFYTABLE> {spec}",
            f"<SAFETYRULE> {rule}",
            "<READMICRODATA>",
            *after,
        ]
        path = village / "job.arb"
        path.write_text("\r\n".join(lines), encoding="utf-8", newline="")
        return path

    return write
