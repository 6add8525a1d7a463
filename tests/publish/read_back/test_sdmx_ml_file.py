"""SDMX-ML: dimensions and attributes of observations."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from statveil.publish.formats import export
from statveil.publish.read_back.sdmx_ml_file import read_sdmx_ml
from tests.publish.read_back.stories import edit, found


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
