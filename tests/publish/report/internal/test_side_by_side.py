"""Two releases of the same table on one page."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from statveil.core.errors import InputError
from statveil.publish.report.internal import side_by_side as module
from statveil.publish.report.internal.side_by_side import side_by_side_html, write_side_by_side


def named(release: Any, name: str, *, moved: int = 0) -> Any:
    """The same release with one unit more in a cell and its totals, as another method would have it."""
    value = release.protected.value.copy()
    value[-1] += moved
    protected = SimpleNamespace(value=value, decimals=release.protected.decimals, views=release.protected.views)
    return SimpleNamespace(name=name, table=release.table, sensitivity=release.sensitivity, protected=protected)


def test_what_differs_is_listed_with_both_numbers(village: Any) -> None:
    html = unescape(side_by_side_html(named(village, "plain"), named(village, "kept", moved=-500)))
    assert "Of the 9 cells of the table, 1 differ" in html
    row = re.search(r"<tbody>\s*<tr class=\"\">(.*?)</tr>\s*</tbody>", html, re.DOTALL)
    assert row is not None
    assert re.findall(r"<td[^>]*>(.*?)</td>", row[1]) == ["Ens", "vet", "600,500", "378,623", "378,123", "-500", "36.9%", "37.0%", ""]
    assert "sensitive cells: plain" in html
    assert "sensitive cells: kept" in html


def test_only_the_largest_differences_are_listed(village: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "TUNING", module.SideBySideTuning(cells=1))
    other = named(village, "b", moved=3)
    other.protected.value[0] += 7
    html = side_by_side_html(named(village, "a"), other)
    assert "The 1 largest of 2 differences." in html


def test_releases_of_one_name_are_told_apart(village: Any, tmp_path: Path) -> None:
    path = write_side_by_side(named(village, "a"), named(village, "a"), tmp_path / "page.html")
    html = path.read_text(encoding="utf-8")
    assert "a (first) and a (second)" in html
    assert html.count("CONFIDENTIAL") >= 2


def test_other_tables_are_refused(village: Any, make_release: Any) -> None:
    from dataclasses import replace

    other = named(village, "b")
    other.table = replace(village.table, value=village.table.value + np.int64(1))
    with pytest.raises(InputError, match="not releases of the same table"):
        side_by_side_html(named(village, "a"), other)
    from statveil.data.hierarchy import Hierarchy

    small = make_release({"trade": Hierarchy.flat(["baker"])}, {("baker",): 1})
    with pytest.raises(InputError, match="not releases of the same table"):
        side_by_side_html(named(village, "a"), named(small, "b"))
