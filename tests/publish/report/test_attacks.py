"""The page on attacks: every verdict with its number and mark, nothing loaded from elsewhere."""

from __future__ import annotations

import json
import math
from pathlib import Path

from statveil.audit.attacks.verdict import SuiteReport, Threat, judged, not_applicable
from statveil.publish.report.attacks import attack_report_html, in_words, write_attack_report

HERE = "at most 12.0%"
ONE = Threat(id="T02", name="averaging", does="Averages <b>.", mark="rho >= 1")
OTHER = Threat(id="T07", name="differencing", does="Subtracts.", mark="0 records")
LAST = Threat(id="T22", name="key rotation", does="Turns the key.", mark="refused")
REPORT = SuiteReport(
    target="village",
    verdicts=(
        judged(ONE, passed=True, number="least rho 1.50", figures={"least rho": 1.5, "targets": 1234, "no bound": math.inf}, here=HERE),
        judged(OTHER, passed=False, number="5 of 5 exact", figures={"exact": 5}),
        not_applicable(LAST, "Needs the operator."),
    ),
    facts={"records": 100_000},
)


def test_the_page_tells_every_verdict() -> None:
    page = attack_report_html(REPORT)
    for words in (
        "1 of 2 attacks succeeded beyond their mark: T07.",
        "least rho 1.50",
        "<dd>rho &gt;= 1: here at most 12.0%</dd>",
        "<dd>0 records</dd>",
        "FAILED",
        "Needs the operator.",
        "1,234",
        "100,000",
    ):
        assert words in page
    assert "Averages &lt;b&gt;." in page
    assert "http://" not in page
    assert "https://" not in page


def test_a_clean_sheet_is_told_in_a_sentence() -> None:
    clean = SuiteReport(target="village", verdicts=REPORT.verdicts[:1], facts={})
    assert "All 1 attacks that could be made were withstood." in attack_report_html(clean)


def test_the_json_lies_beside_the_page(tmp_path: Path) -> None:
    page, data = write_attack_report(REPORT, tmp_path / "attacks.html")
    assert page.read_text(encoding="utf-8") == attack_report_html(REPORT)
    content = json.loads(data.read_text(encoding="utf-8"))
    assert [each["verdict"] for each in content["verdicts"]] == ["passed", "failed", "not applicable"]
    assert content["verdicts"][0]["figures"] == {"least rho": 1.5, "targets": 1234, "no bound": None}


def test_figures_have_the_digits_they_deserve() -> None:
    assert [in_words(each) for each in (1234567, 0.123456, "yes", math.inf)] == ["1,234,567", "0.1235", "yes", "without end"]
