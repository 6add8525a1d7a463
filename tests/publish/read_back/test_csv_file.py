"""SDMX-CSV: columns of both versions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from statveil.data.hierarchy import Hierarchy
from statveil.publish.formats import export
from statveil.publish.read_back.compare import differences
from statveil.publish.read_back.csv_file import read_sdmx_csv

MakeRelease = Callable[..., Any]


@pytest.fixture
def trade(make_release: MakeRelease) -> Any:
    """From p and q to p and q: both dimensions have the same codes, so that only their names tell them apart."""
    tree = Hierarchy.flat("pq")
    return make_release({"from": tree, "to": tree}, {("p", "q"): 7, ("q", "p"): 5})


def found(release: Any, read: Callable[..., Any], path: Path) -> list[str]:
    [view] = release.protected.views
    return differences(view, read(path, view, release.protected.decimals), release.protected).first


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_both_versions_of_sdmx_csv_are_read(trade: Any, tmp_path: Path, version: str) -> None:
    [path] = export.write_sdmx_csv(trade, tmp_path / "x.sdmx.csv", version=version)  # type: ignore[arg-type]
    assert found(trade, read_sdmx_csv, path) == []
    edit(path, "FROM,TO", "TO,FROM")
    assert found(trade, read_sdmx_csv, path)[0] == "the columns are not the table's dimensions and attributes"
