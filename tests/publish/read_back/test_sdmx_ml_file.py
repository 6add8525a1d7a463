"""SDMX-ML: dimensions and attributes of observations."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from statveil.data.hierarchy import Hierarchy
from statveil.publish.formats import export
from statveil.publish.read_back.compare import differences
from statveil.publish.read_back.sdmx_ml_file import read_sdmx_ml

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


def test_dimensions_that_change_places_are_found_in_sdmx_ml(trade: Any, tmp_path: Path) -> None:
    [path] = export.write_sdmx_ml(trade, tmp_path / "x.xml")
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace('id="FROM"', 'id="?"').replace('id="TO"', 'id="FROM"').replace('id="?"', 'id="TO"'), encoding="utf-8")
    assert "from=q, to=p: another number than in the table audited" in found(trade, read_sdmx_ml, path)


def test_an_observation_that_says_a_thing_twice_is_found(trade: Any, tmp_path: Path) -> None:
    [path] = export.write_sdmx_ml(trade, tmp_path / "x.xml")
    edit(path, '<gen:ObsValue value="7"/>', '<gen:ObsValue value="7"/><gen:ObsValue value="8"/>')
    assert "from=p, to=q: not a number, or one with other decimals" in found(trade, read_sdmx_ml, path)
    edit(path, '<gen:Value id="CONF_STATUS" value="F"/>', '<gen:Value id="CONF_STATUS" value="C"/><gen:Value id="CONF_STATUS" value="F"/>')
    assert "an observation says one thing twice" in found(trade, read_sdmx_ml, path)
