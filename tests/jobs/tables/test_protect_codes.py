"""Ugly codes and files: each gives a safe table, or an error in words."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

import statveil as sv
from tests.jobs.tables.stories import FIVE, original, protect, released, table

UGLY = ["01.1", " 01.1", "01.1 ", "a b", "Ærø", "Łódź", "東京", "=1+1", "Total ", "null", "NaN", 'say "hi"', "x;y", "it's", "-1"]


@pytest.mark.slow
def test_ugly_codes_are_kept_apart_and_as_they_are(tmp_path: Path) -> None:
    data = {"area": UGLY * 2, "trade": ["u"] * len(UGLY) + ["v"] * len(UGLY), "sales": range(11, 11 + 2 * len(UGLY))}
    pd.DataFrame(data).to_csv(tmp_path / "ugly.csv", index=False)
    release = protect(tmp_path / "ugly.csv", table("area", "trade"), sv.MinimumFrequency(2, level=5))
    assert {codes[0] for codes in released(release)} == {*UGLY, "Total"}
    assert [original(release)[code, "u"] for code in UGLY] == list(range(11, 11 + len(UGLY)))
    for write in (release.to_csv, release.to_json_stat, release.to_sdmx_csv, release.to_parquet):
        assert write(tmp_path / f"{write.__name__}.out")


def test_a_code_that_is_called_as_the_total_is_refused() -> None:
    with pytest.raises(sv.errors.HierarchyError, match="'Total'"):
        protect({"area": ["Total", "p"], "sales": [1, 2]}, table("area"), sv.PPercent(10))


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["latin-1", "utf-8", "utf-8-sig"])
def test_letters_survive_every_encoding(tmp_path: Path, encoding: str) -> None:
    (tmp_path / "a.csv").write_bytes("région;sales\nCôte-d'Or;10\nÎle;200\nÎle;300\n".encode(encoding))
    release = protect(tmp_path / "a.csv", table("région"), sv.MinimumFrequency(2))
    assert set(released(release)) == {("Total",), ("Côte-d'Or",), ("Île",)}


def test_a_column_that_is_not_there_is_named() -> None:
    with pytest.raises(sv.errors.UnknownColumn, match="no column 'region'"):
        protect(FIVE, table("region"), sv.PPercent(10))


def test_codes_that_the_hierarchy_lacks_are_named() -> None:
    with pytest.raises(sv.errors.HierarchyError, match="'q'"):
        protect(FIVE, table(dimensions={"area": sv.Hierarchy.flat("pr")}), sv.PPercent(10))
