"""PC-Axis: keywords and headings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from statveil.core.errors import FormatError
from statveil.publish.formats import export
from statveil.publish.read_back.pc_axis_file import read_pc_axis
from tests.publish.read_back.stories import edit, found


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
