"""A release that went the whole way, from records through the gate, is published by its own methods."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import statveil as sv
from statveil.publish.read_back.csv_file import read_public_csv


@pytest.fixture(scope="module")
def release() -> sv.Release:
    firms = pd.DataFrame(
        {
            "region": ["north", "north", "north", "south", "south", "south", "south"],
            "trade": ["vet", "baker", "baker", "vet", "vet", "vet", "baker"],
            "turnover": [90125, 4011, 3977, 2503, 2604, 2705, 1801],
        }
    )
    spec = sv.TableSpec(dimensions={"region": None, "trade": None}, measure="turnover", name="turnover")
    return sv.protect_table(firms, spec, rules=[sv.MinimumFrequency(2), sv.PPercent(10)], limits=sv.Limits(seconds=300))


def test_every_format_is_written(release: sv.Release, tmp_path: Path) -> None:
    files = [
        *release.to_csv(tmp_path / "x.csv"),
        *release.to_csv(tmp_path / "internal.csv", edition="internal"),
        *release.to_parquet(tmp_path / "x.parquet"),
        *release.to_excel(tmp_path / "x.xlsx"),
        *release.to_json_stat(tmp_path / "x.json"),
        *release.to_sdmx_csv(tmp_path / "x.sdmx.csv"),
        *release.to_sdmx_csv(tmp_path / "old.sdmx.csv", version="1.0"),
        *release.to_sdmx_ml(tmp_path / "x.xml"),
        *release.to_pc_axis(tmp_path / "x.px"),
        release.to_report(tmp_path / "x.html"),
        release.to_report(tmp_path / "internal.html", edition="internal"),
    ]
    assert sorted(files) == sorted(tmp_path.iterdir())


def test_the_public_csv_holds_the_released_numbers(release: sv.Release, tmp_path: Path) -> None:
    [path] = release.to_csv(tmp_path / "x.csv")
    table = read_public_csv(path)
    assert np.array_equal(table.units, release.protected.value[release.protected.views[0].cell])


def test_the_lone_vet_of_the_north_is_in_no_public_file(release: sv.Release, tmp_path: Path) -> None:
    files = [*release.to_csv(tmp_path / "x.csv"), *release.to_json_stat(tmp_path / "x.json"), release.to_report(tmp_path / "x.html")]
    assert not any("90125" in file.read_text(encoding="utf-8") for file in files)
