"""Verdicts on a target show themselves, and as a frame."""

from __future__ import annotations

from statveil.audit.attacks.verdict import SuiteReport, Threat, judged, not_applicable

ALONE = Threat(id="T01", name="differencing", does="Subtracts.", mark="0 cells")
ZEROS = Threat(id="T02", name="zeros", does="Looks for zeros.", mark="0 cells")
PERIODS = Threat(id="T03", name="periods", does="Compares years.", mark="0 cells")
REPORT = SuiteReport(
    target="the village",
    verdicts=(
        judged(ALONE, passed=True, number="0 cells", figures={"cells": 0}),
        judged(ZEROS, passed=False, number="2 cells", figures={"cells": 2}),
        not_applicable(PERIODS, "There is one period only."),
    ),
    facts={"seed": 1},
)


def test_the_display_names_what_failed() -> None:
    assert repr(REPORT).splitlines() == ["SuiteReport on the village: 3 attacks, 1 passed, 1 failed", "  FAILED T02 zeros: 2 cells"]
    assert "<td>not applicable</td>" in REPORT._repr_html_()


def test_a_row_a_threat() -> None:
    frame = REPORT.to_pandas()
    assert frame["verdict"].tolist() == ["passed", "failed", "not applicable"]
    assert frame.columns.tolist() == ["id", "name", "verdict", "number", "mark", "reason"]
    assert REPORT.to_polars()["reason"][2] == "There is one period only."
