"""Charts for notebooks: what is confidential is titled so."""

from __future__ import annotations

from pathlib import Path

import pytest

import statveil as sv
from statveil.publish.report import notebook
from tests.publish.stories import FIRMS, protected


@pytest.fixture(scope="module")
def release() -> sv.Release:
    return protected(FIRMS)


@pytest.mark.parametrize("name", ["changes", "shares", "levels", "balance", "amounts", "search"])
def test_charts_of_changes_are_titled_confidential(name: str, release: sv.Release) -> None:
    found = release.chart(name)
    assert found.confidential
    assert found.spec["title"].startswith("CONFIDENTIAL")
    assert found._repr_mimebundle_()[notebook.MIME]["data"]["values"]


def test_the_public_chart_holds_released_numbers(release: sv.Release, tmp_path: Path) -> None:
    found = release.chart()
    frame = release.to_pandas()
    margin = frame[frame["trade"] == "Total"]
    assert [row["value"] for row in found.spec["data"]["values"]] == margin["value"].tolist()
    assert not found.confidential
    page = found.to_html(tmp_path / "chart.html").read_text(encoding="utf-8")
    assert "vegaEmbed" in page
    assert "https://cdn" not in page


@pytest.mark.slow
def test_an_unknown_chart_and_an_empty_one_are_refused(release: sv.Release) -> None:
    with pytest.raises(sv.InputError, match="Known: values"):
        release.chart("pie")
    nothing = sv.protect_table(FIRMS, sv.TableSpec(dimensions={"trade": None}, measure="turnover"), rules=[sv.MinimumFrequency(1)])
    with pytest.raises(sv.InputError, match="nothing to show"):
        nothing.chart("balance")


def test_altair_is_asked_for_where_it_is_missing(release: sv.Release, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notebook, "find_spec", lambda _name: None)
    with pytest.raises(sv.errors.BackendMissing, match="pip install altair"):
        release.chart().to_altair()


def test_a_chart_stands_in_an_exported_notebook_without_a_network(release: sv.Release) -> None:
    """What exports notebooks draws HTML and no Vega-Lite: the chart brings all that draws it, in a frame of its own."""
    frame = release.chart()._repr_mimebundle_()["text/html"]
    assert frame.startswith("<iframe srcdoc=")
    page = frame.removeprefix('<iframe srcdoc="').split('" style=')[0]
    assert '"' not in page
    assert "vegaEmbed" in page
    assert "&lt;script src" not in page
    assert "&lt;link" not in page
