"""SDMX-CSV: columns of both versions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from statveil.publish.formats import export
from statveil.publish.read_back.csv_file import read_sdmx_csv
from tests.publish.read_back.stories import edit, found


@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_both_versions_of_sdmx_csv_are_read(trade: Any, tmp_path: Path, version: str) -> None:
    [path] = export.write_sdmx_csv(trade, tmp_path / "x.sdmx.csv", version=version)  # type: ignore[arg-type]
    assert found(trade, read_sdmx_csv, path) == []
    edit(path, "FROM,TO", "TO,FROM")
    assert found(trade, read_sdmx_csv, path)[0] == "the columns are not the table's dimensions and attributes"
