"""The report on attacks: one HTML file that needs no network, and the same as JSON. Confidential."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from statveil.audit.attacks.verdict import Number, SuiteReport, Verdict, VerdictStatus
from statveil.publish.formats.files import write_bytes
from statveil.publish.report.page import asset, json_for_page, render
from statveil.version import VERSION

_STYLES = {VerdictStatus.PASSED: "passed", VerdictStatus.FAILED: "failed", VerdictStatus.NOT_APPLICABLE: "idle"}


def write_attack_report(report: SuiteReport, path: Path) -> tuple[Path, Path]:
    """The page at `path` and its JSON beside it."""
    page = write_bytes(path, attack_report_html(report).encode())
    text = json.dumps({**report.as_json(), "software": f"statveil {VERSION}"}, indent=1, ensure_ascii=False, allow_nan=False)
    return page, write_bytes(path.with_suffix(".json"), (text + "\n").encode())


def attack_report_html(report: SuiteReport) -> str:
    count = {status: sum(each.status is status for each in report.verdicts) for status in VerdictStatus}
    context: dict[str, Any] = {
        "title": report.target,
        "axes": [],
        "software": f"statveil {VERSION}",
        "css": asset("templates/report.css"),
        "script": "",
        "page_data": json_for_page({}),
        "sentences": _sentences(report, count),
        "figures": [
            ("Attacks", str(len(report.verdicts)), "of the catalogue of threats"),
            ("Passed", str(count[VerdictStatus.PASSED]), "the mark is met"),
            ("Failed", str(count[VerdictStatus.FAILED]), "the attacker learns more than allowed"),
            ("Not applicable", str(count[VerdictStatus.NOT_APPLICABLE]), "with a reason"),
        ],
        "verdicts": [_verdict(each) for each in report.verdicts],
        "facts": [(name, in_words(number)) for name, number in report.facts.items()],
    }
    return render("attacks.html", context)


def _sentences(report: SuiteReport, count: dict[VerdictStatus, int]) -> list[str]:
    made = count[VerdictStatus.PASSED] + count[VerdictStatus.FAILED]
    if not count[VerdictStatus.FAILED]:
        return [f"All {made} attacks that could be made were withstood."]
    names = ", ".join(each.threat.id for each in report.failed)
    return [f"{count[VerdictStatus.FAILED]} of {made} attacks succeeded beyond their mark: {names}."]


def attack_rows(report: SuiteReport | None) -> list[tuple[str, str, str, str]]:
    """Attack, verdict, what it found (or why it could not be made), and its mark."""
    verdicts = () if report is None else report.verdicts
    return [(f"{e.threat.id} {e.threat.name}", str(e.status), e.reason or e.number, e.mark) for e in verdicts]


def _verdict(verdict: Verdict) -> dict[str, Any]:
    return {
        "id": verdict.threat.id,
        "name": verdict.threat.name,
        "does": verdict.threat.does,
        "mark": verdict.mark,
        "status": str(verdict.status),
        "style": _STYLES[verdict.status],
        "number": verdict.number,
        "reason": verdict.reason,
        "figures": [(name, in_words(number)) for name, number in verdict.figures.items()],
    }


def in_words(number: Number) -> str:
    """A figure with as many digits as it deserves."""
    if isinstance(number, str):
        return number
    if math.isinf(number):
        return "without end"
    if float(number).is_integer():
        return f"{int(number):,}"
    return f"{number:.4g}"
