"""The curve of risk and utility: a row a threshold, proved or how far from it, on a page that loads nothing."""

from __future__ import annotations

from pathlib import Path

from statveil.publish.report.files.risk_curve import COLUMNS, curve_rows, write_risk_curve
from statveil.records.risk_curve import RiskUtilityPoint


def points() -> list[RiskUtilityPoint]:
    return [
        RiskUtilityPoint(threshold=0, expected=0.25, largest=1.0, kept=1.0, blanks=0, recoded=0, cost=0.0, bound=0.0),
        RiskUtilityPoint(threshold=3, expected=0.01, largest=0.2, kept=0.9, blanks=1200, recoded=1, cost=12.0, bound=12.0),
        RiskUtilityPoint(threshold=5, expected=0.005, largest=0.1, kept=0.8, blanks=2, recoded=2, cost=15.0, bound=12.0),
    ]


def test_each_row_says_how_far_from_the_best_it_is() -> None:
    rows = curve_rows(points())
    assert [dict(zip(COLUMNS, row, strict=True))["from best possible"] for row in rows] == ["-", "proved best", "at most 25.00%"]
    assert rows[1] == ("3", "1.000%", "20.0%", "90.0%", "1,200", "1", "proved best")


def test_the_page_is_one_file_that_loads_nothing(tmp_path: Path) -> None:
    page = write_risk_curve(points(), "people", ["town", "sex"], tmp_path / "curve.html").read_text(encoding="utf-8")
    assert "town × sex" in page
    assert "src=" not in page.split("<script>")[0]
