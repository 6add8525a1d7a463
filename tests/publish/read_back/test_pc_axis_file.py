"""PC-Axis: keywords and headings."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from statveil.core.errors import FormatError
from statveil.data.hierarchy import Hierarchy
from statveil.publish.formats import export
from statveil.publish.read_back.compare import differences
from statveil.publish.read_back.pc_axis_file import read_pc_axis

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


def test_dimensions_that_change_places_are_found_in_pc_axis(trade: Any, tmp_path: Path) -> None:
    [path] = export.write_pc_axis(trade, tmp_path / "x.px")
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace('STUB="from"', 'STUB="to"').replace('HEADING="to"', 'HEADING="from"'), encoding="utf-8")
    assert found(trade, read_pc_axis, path)[0] == "the dimensions are not the table's"


def test_a_keyword_that_is_there_twice_is_refused(trade: Any, tmp_path: Path) -> None:
    [path] = export.write_pc_axis(trade, tmp_path / "x.px")
    edit(path, "DECIMALS=0;\n", "DECIMALS=0;\nDECIMALS=0;\n")
    with pytest.raises(FormatError, match="not a PC-Axis file"):
        found(trade, read_pc_axis, path)


def test_a_list_that_is_none_is_refused(trade: Any, tmp_path: Path) -> None:
    [path] = export.write_pc_axis(trade, tmp_path / "x.px")
    edit(path, 'STUB="from"', 'STUB=TLIST(A1),"from"')
    with pytest.raises(FormatError, match="not a PC-Axis file"):
        found(trade, read_pc_axis, path)
