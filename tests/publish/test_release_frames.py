"""Frames, displays and charts of a release: public numbers at hand, all else behind a word that says so."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import statveil as sv
from tests.publish.stories import FIRMS, protected


@pytest.fixture(scope="module")
def release() -> sv.Release:
    return protected(FIRMS)


TRUE = "90125"


@pytest.fixture(scope="module")
def linked() -> sv.Release:
    specs = [sv.TableSpec(dimensions={name: None}, measure="turnover", name=name) for name in ("region", "trade")]
    return sv.protect_table(FIRMS, specs, rules=[sv.MinimumFrequency(2)], limits=sv.Limits(seconds=300))


def test_the_public_frame_is_the_public_csv(release: sv.Release, tmp_path: Path) -> None:
    [path] = release.to_csv(tmp_path / "x.csv")
    assert release.to_pandas().equals(pd.read_csv(path, dtype={"region": "str", "trade": "str"}))
    assert release.to_arrow().schema.metadata[b"statveil.release"].decode() == release.provenance.release_hash
    assert release.to_polars()["value"].dtype == pl.Decimal(38, 1)
    assert release.protected.to_pandas().equals(release.to_pandas())


def test_released_totals_add_up_in_the_frame(release: sv.Release) -> None:
    frame = release.to_polars()
    inner = frame.filter((pl.col("region") != "Total") & (pl.col("trade") != "Total"))
    total = frame.filter((pl.col("region") == "Total") & (pl.col("trade") == "Total"))
    assert inner["value"].sum() == total["value"].item()


def test_no_true_value_is_in_a_public_frame_or_display(release: sv.Release) -> None:
    shown = [repr(release), release._repr_html_(), release.to_pandas().to_csv(), repr(release.protected), release.protected._repr_html_()]
    shown += [release.chart().to_json(), repr(release.internal), repr(release.table), release.table._repr_html_()]
    shown += [repr(release.sensitivity), release.sensitivity._repr_html_(), repr(release.adjustment), repr(release.table.internal)]
    shown += [repr(release.adjustment.internal), repr(release.sensitivity.internal), release.chart("changes").to_json()]
    assert not any(TRUE in text for text in shown)
    assert all(len(text.splitlines()) <= 10 for text in shown if text.startswith(("Release", "Table", "Sens", "Adj")))


def test_a_display_does_not_tell_what_is_sensitive(release: sv.Release) -> None:
    assert "sensitive" not in repr(release)
    assert str(release.gap) not in repr(release).split()
    assert "confidential: internal, and all" in repr(release)
    assert "<td>Total</td>" in release._repr_html_()


@pytest.mark.parametrize("word", ["table", "sensitivity", "adjustment", "internal"])
def test_what_is_confidential_says_so(word: str, release: sv.Release) -> None:
    assert "confidential" in repr(getattr(release, word))


def test_the_internal_edition_has_originals_and_says_confidential(release: sv.Release) -> None:
    frame = release.internal.to_pandas()
    assert frame.attrs == {"statveil.edition": "internal: confidential"}
    row = frame[(frame["region"] == "north") & (frame["trade"] == "vet")]
    assert (row["original"].item(), row["status"].item()) == (90125.5, "sensitive")
    assert row["adjusted"].item() - row["original"].item() == pytest.approx(row["change"].item())


def test_table_sensitivity_and_adjustment_as_frames(release: sv.Release) -> None:
    cells = release.table.internal.to_pandas()
    assert cells[(cells["region"] == "south") & (cells["trade"] == "vet")][["value", "records"]].values.tolist() == [[7812.0, 3]]
    found = release.sensitivity.internal.to_pandas(release.table)
    alone = found[(found["region"] == "north") & (found["trade"] == "vet")]
    assert alone["sensitive"].item()
    assert "frequency" in alone["reasons"].item()
    assert release.sensitivity.internal.to_polars(release.table).height == len(found) == 9
    moved = release.adjustment.internal.to_arrow()
    assert moved["deviation"].to_pylist() == release.adjustment.deviation.tolist()


def test_of_several_tables_one_is_named(linked: sv.Release) -> None:
    with pytest.raises(sv.InputError, match="'region', 'trade'"):
        linked.to_pandas()
    with pytest.raises(sv.InputError, match="no table 'size'"):
        linked.to_pandas("size")
    assert linked.to_pandas("trade").columns.tolist() == ["trade", "value"]
    assert linked.internal.to_polars(view="region").height == 3
    assert linked.to_pandas("trade")["value"].dtype == "float64"


@pytest.mark.slow
def test_six_tables_are_not_all_listed(release: sv.Release) -> None:
    specs = [sv.TableSpec(dimensions={"region": None}, measure="turnover", name=f"t{place}") for place in range(6)]
    many = sv.protect_table(FIRMS, specs, rules=[sv.MinimumFrequency(1)], limits=sv.Limits(seconds=300))
    assert "and 1 table more" in repr(many)


FRAMES = {
    "polars": pl.from_pandas,
    "arrow": pa.Table.from_pandas,
    "stream": lambda frame: pa.Table.from_pandas(frame).to_reader(),
    "lazy": lambda frame: pl.from_pandas(frame).lazy(),
}


@pytest.mark.slow
@pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES)
def test_any_frame_goes_in_and_gives_the_same_release(make: object, release: sv.Release) -> None:
    again = protected(make(FIRMS))  # type: ignore[operator]
    assert again.provenance.input_hash == release.provenance.input_hash


def test_audit_as_a_frame(release: sv.Release) -> None:
    frame = release.audit.to_pandas()
    assert frame["passed"].all()
    assert len(frame) == len(release.audit.checks)
    assert repr(release.audit).startswith("AuditReport: passed,")
    assert "every" in release.audit._repr_html_().lower()
