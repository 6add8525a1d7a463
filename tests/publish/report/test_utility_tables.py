"""The section on statistics, inside and for the public."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from statveil.data.hierarchy import Hierarchy
from statveil.publish.report.changes import measure
from statveil.publish.report.report import report_html
from statveil.publish.report.utility_tables import (
    TUNING,
    amount,
    utility_charts,
    utility_section,
)
from statveil.publish.utility import utility
from statveil.tables.spec import Dimension
from tests.publish.conftest import build_release
from tests.publish.stories import MakeRelease, section_of


def test_a_table_without_cells_has_a_section(make_release: MakeRelease) -> None:
    release = make_release({"r": Hierarchy.flat([])}, {}, trace=())
    assert "has no cells" in section_of(report_html(release, "internal"), "utility")


def test_the_internal_report_shows_the_section(village: Any) -> None:
    text = section_of(report_html(village, "internal"), "utility")
    for words in ("Variance ratio", "Rank correlation", "Quantiles before and after", "The largest of: all cells", "region = U Urk"):
        assert words in text


@pytest.mark.parametrize(("value", "words"), [(0.0, "0"), (12.3456, "12.35"), (-0.5, "-0.500"), (1234.5, "1,234"), (54321.7, "54,322")])
def test_amounts_are_short(value: float, words: str) -> None:
    assert amount(value) == words


def test_the_public_section_holds_no_true_value_and_no_word_on_quality(village: Any) -> None:
    text = section_of(report_html(village, "external"), "statistics").replace(",", "")
    assert "999000" in text  # the vet of Urk as released
    true = measure(village).original
    for canary in (*true.tolist(), int(true.mean()), 777123, 782123, 221877):
        assert str(canary) not in text or str(canary) in " ".join(map(str, village.protected.value.tolist()))
    for word in ("before", "sensitive", "correlation", "slope", "kept", "unchanged", "true"):
        assert word not in text.lower()


@pytest.mark.slow
def test_scales_reach_a_little_beyond_the_points(village: Any) -> None:
    """Amounts that are all positive have no negative half."""
    spec = utility_charts(measure(village), [])["sizes"]
    for axis, field in (("x", "size"), ("y", "percent")):
        low, high = spec["encoding"][axis]["scale"]["domain"]
        least, most = (end(each[field] for each in spec["data"]["values"]) for end in (min, max))
        assert low < min(least, 0.0)
        assert most < high < 2 * most
    assert spec["encoding"]["x"]["scale"]["domain"][0] > -10


def test_the_charts_of_three_hundred_thousand_cells_show_a_sample_of_them() -> None:
    rng = np.random.Generator(np.random.PCG64(3))
    codes = [[f"{name}{place}" for place in range(size)] for name, size in (("r", 550), ("c", 550))]
    dimensions = tuple(Dimension(name=name, trees=(Hierarchy.flat(each),)) for name, each in zip("rc", codes, strict=True))
    leaves = rng.integers(1, 10**6, (550, 550))
    change = np.where(rng.random((550, 550)) < 0.1, leaves // 10, 0)
    release = build_release(dimensions, leaves, change, np.ones_like(leaves), sensitive=lambda value, count: value % 50 == 0)
    changes, found = measure(release), utility(release)
    utility_section(release, changes, found)
    charts = utility_charts(changes, found)
    assert len(charts["sizes"]["data"]["values"]) == 2 * TUNING.points
    assert len(found) == 3 + 3 + 4 + 20
