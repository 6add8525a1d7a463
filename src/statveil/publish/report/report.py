"""The report: one HTML file that needs no network, to be read by the person who signs the release.

The internal edition shows originals and is marked confidential on every page. The external edition is a function of the released
numbers, their labels and the software alone: no original, no status, no count, no objective, no rule and no seed (T20).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from statveil.audit.attacks.verdict import SuiteReport
from statveil.audit.report import AuditReport
from statveil.core.errors import InputError
from statveil.core.limits import Ending
from statveil.core.toml import to_toml
from statveil.protect.adjustment import Adjustment
from statveil.publish.audited import AuditedTable, Edition
from statveil.publish.formats.files import write_bytes
from statveil.publish.formats.numbers import grouped, percent
from statveil.publish.report.attacks import attack_rows
from statveil.publish.report.changes import (
    TUNING,
    CellChanges,
    before_and_after,
    by_level,
    by_reason,
    by_status,
    count,
    measure,
    total_change,
)
from statveil.publish.report.charts import all_charts
from statveil.publish.report.internal.behind import cells_behind
from statveil.publish.report.internal.methods import MethodsSection
from statveil.publish.report.internal.reader_intervals import reader_intervals
from statveil.publish.report.page import ENDINGS, VEGA, asset, json_for_page, render
from statveil.publish.report.slices import internal_slice, released_slice
from statveil.publish.report.utility_tables import released_statistics, utility_charts, utility_section
from statveil.publish.utility import utility_by_subset
from statveil.risk.sensitivity import Sensitivity
from statveil.tables.headlines import moved_in_words
from statveil.tables.table import Table

_PUBLIC_WORDS = {
    "protection": "Every cell that could tell too much about a respondent is moved as far as the office decided",
    "overshoot": "No such cell is moved further than the office decided",
    "bounds": "Every cell stays within the limits that the office decided",
    "frozen": "Every number that the office decided to keep is kept",
}
"""True with repairs and without, so that nothing tells which it was: what gives, and in which order, is the office's decision too."""


_NOT_TOLD = ("repairs", "means", "statistics")
"""Checks of which no reader hears: that there are any tells what gave, or which sums are true."""


def public_checks(report: AuditReport) -> list[str]:
    """What was checked, in words that are the same for every release."""
    return [_PUBLIC_WORDS.get(check.name, check.words) for check in report.checks if check.name not in _NOT_TOLD]


def repair_section(release: AuditedTable) -> dict[str, Any]:
    """What gave, by how much; confidential."""
    decimals = release.protected.decimals
    words = release.repairs_in_words()
    rows = [(where, grouped(each.by, decimals)) for where, each in zip(words, release.relaxations[: TUNING.repairs], strict=False)]
    return {"rows": rows, "all": len(words), "weakened": release.protection_weakened}


def write_report(
    release: AuditedTable,
    path: Path,
    *,
    edition: Edition = "external",
    attacks: SuiteReport | None = None,
    methods: MethodsSection | None = None,
) -> Path:
    """Write the report and return its path."""
    return write_bytes(path, report_html(release, edition, attacks, methods).encode())


def report_html(release: AuditedTable, edition: Edition, attacks: SuiteReport | None = None, methods: MethodsSection | None = None) -> str:
    """The page. What attacks found, and how other methods do, is in the internal edition alone."""
    if edition == "external":
        return render("external.html", _external(release))
    if edition == "internal":
        return render("internal.html", _internal(release, methods) | {"attacks": attack_rows(attacks)})
    raise InputError(f"Unknown edition {edition!r}. Known: external, internal.")


def _common(release: AuditedTable) -> dict[str, Any]:
    views = release.protected.views
    return {
        "title": ", ".join(view.name for view in views),
        "axes": [(view.name, " × ".join(dimension.name for dimension in view.dimensions)) for view in views],
        "software": ", ".join(f"{name} {version}" for name, version in release.provenance.software.items()),
        "release_hash": release.provenance.release_hash,
        "css": asset("templates/report.css"),
        "script": asset("templates/report.js"),
    }


def _external(release: AuditedTable) -> dict[str, Any]:
    views = release.protected.views
    slices = [released_slice(release, view) for view in views]
    return {
        **_common(release),
        "checks": public_checks(release.audit),
        "decimals": release.protected.decimals,
        "left_out": _left_out(slices),
        "statistics": released_statistics(release.protected),
        "page_data": json_for_page({"slices": slices}),
    }


def _internal(release: AuditedTable, methods: MethodsSection | None) -> dict[str, Any]:
    changes = measure(release)
    slices = [internal_slice(release, view, changes) for view in release.protected.views]
    intervals = reader_intervals(release, changes)
    compared = before_and_after(release, changes, intervals.words)
    found = utility_by_subset(release, changes)
    charts = all_charts(changes, release.adjustment) | utility_charts(changes, found) | ({"methods": methods.chart} if methods else {})
    return {
        **_common(release),
        "repairs": repair_section(release),
        "sentences": [*summary(release, changes), *moved_in_words(release.table, release.protected), *_floors_sentence(release)],
        "kept": [] if release.adjustment.quality is None else release.adjustment.quality.in_words(),
        "figures": key_figures(release, changes),
        "checks": release.audit.checks,
        "by_status": by_status(changes),
        "by_level": by_level(changes),
        "by_reason": by_reason(release),
        "far": far_in_words(release.table, release.sensitivity),
        "left_out": _left_out(slices),
        "utility": utility_section(release, changes, found),
        "compared": compared,
        "intervals": intervals.sentences,
        "from_zero": int((~np.isfinite(changes.relative)).sum()),
        "charts": list(charts),
        "methods": methods,
        "adjustment": release.adjustment,
        "ending": ENDINGS[release.adjustment.ending],
        "input_hash": release.provenance.input_hash,
        "parameters": _parameters(release),
        "job": to_toml(release.job) if release.job else "",
        "vega": [asset(f"static/{name}") for name in VEGA],
        "page_data": json_for_page(
            {"slices": slices, "charts": charts, "compared": compared, "behind": cells_behind(release, changes, found)}
        ),
    }


def _parameters(release: AuditedTable) -> str:
    text = json.dumps(release.provenance.parameters, indent=1, ensure_ascii=False, sort_keys=True, default=str)
    return text if len(text) <= TUNING.parameters else f"{text[: TUNING.parameters]}\n... cut here; the provenance file has them all."


def _left_out(slices: list[dict[str, Any]]) -> list[str]:
    """What of a large table is not shown, in words."""
    return [
        f"{view['name']}: {len(dimension['codes'])} of the {dimension['all']:,} codes of {dimension['name']} are shown,"
        " the highest levels first and then the largest."
        for view in slices
        for dimension in view["dimensions"]
        if len(dimension["codes"]) < dimension["all"]
    ]


def summary(release: AuditedTable, changes: CellChanges) -> list[str]:
    """The release in a few sentences."""
    cells, sensitive = changes.original.size, int(changes.sensitive.sum())
    others = int((changes.changed & ~changes.sensitive).sum())
    if not sensitive:
        return [f"None of the {cells:,} cells is sensitive.", _others_sentence(others), "The independent audit found no fault."]
    words = "is sensitive. It has" if sensitive == 1 else "are sensitive. Each has"
    moved = f"Of the {cells:,} cells, {sensitive:,} ({percent(sensitive / cells)}) {words} been moved to a safe value."
    return [moved, _others_sentence(others), _quality_sentence(release, changes), "The independent audit found no fault."]


def _floors_sentence(release: AuditedTable) -> list[str]:
    """What drawing the levels cost, where they were drawn and it is known."""
    floors, cost = release.provenance.parameters.get("options", {}).get("floors", {}), release.adjustment.drawing_cost
    if floors.get("scheme") != "drawn" or cost is None:
        return []
    raised = f"Levels were drawn up to {floors['cap']:g} times those of the rules"
    return [f"{raised}: with every cell moved the same way, that makes changes {percent(max(cost, 0))} dearer."]


def far_in_words(table: Table, found: Sensitivity) -> str:
    """Which sensitive cells change by more than all they are worth, and why: they make the largest changes in percent."""
    least = np.minimum(found.lower_level, found.upper_level)
    far = int((found.sensitive & (least > np.abs(table.value))).sum())
    if not far:
        return ""
    cells = "1 sensitive cell has" if far == 1 else f"{far:,} sensitive cells have"
    return (
        f"{cells} to move by more than the whole value: zero or tiny beside the neighbours, and given a size that those have, as else "
        "its smallness would give it away. These cells, and sums of them, make the largest changes in percent."
    )


def _others_sentence(others: int) -> str:
    if not others:
        return "No other cell was changed."
    return f"{others:,} other {'cell was' if others == 1 else 'cells were'} adjusted so that every total still adds up."


def _quality_sentence(release: AuditedTable, changes: CellChanges) -> str:
    share = percent(_share_of_total(changes))
    adjustment = release.adjustment
    if adjustment.gap == 0:
        return f"All changes together come to {share} of the sum of the cells, proved to be the best possible."
    claimed = " A solver says that it is the best possible; that is not certified." if adjustment.ending is Ending.CLAIMED else ""
    near = f", certified within {percent(adjustment.gap)} of the best possible"
    known = near if np.isfinite(adjustment.gap) else "; how far that is from the best possible is not known"
    return f"All changes together come to {share} of the sum of the cells{known}.{claimed}"


def _share_of_total(changes: CellChanges) -> float:
    total = float(np.abs(changes.original).astype(np.float64).sum())
    return float(np.abs(changes.change).astype(np.float64).sum()) / total if total else 0.0


def key_figures(release: AuditedTable, changes: CellChanges) -> list[tuple[str, str, str]]:
    """Name, figure, remark."""
    cells, adjustment = changes.original.size, release.adjustment
    every = np.ones(cells, dtype=np.bool_)
    return [
        ("Cells", f"{cells:,}", "distinct, totals included"),
        ("Sensitive", count(changes.sensitive), _share_of(changes.sensitive)),
        ("Changed", count(changes.changed), _share_of(changes.changed)),
        ("Total change", grouped(_rounded(changes, every, release.protected.decimals), min(release.protected.decimals, 0)),
         f"{percent(_share_of_total(changes))} of the sum of the cells"),
        ("From best possible", "0%" if adjustment.gap == 0 else percent(adjustment.gap), _certified(adjustment)),
        ("Time", f"{adjustment.seconds:,.1f} s", f"method {adjustment.method}"),
    ]  # fmt: skip


def _certified(adjustment: Adjustment) -> str:
    words = ENDINGS[adjustment.ending]
    return f"certified; {words}" if np.isfinite(adjustment.gap) else words


def _share_of(members: np.ndarray[Any, np.dtype[np.bool_]]) -> str:
    return f"{percent(float(members.mean()))} of the cells" if members.size else ""


def _rounded(changes: CellChanges, every: np.ndarray[Any, np.dtype[np.bool_]], decimals: int) -> int:
    """The sum of all changes in whole units (or in the published thousands)."""
    unit = int(10 ** (changes.decimals - min(decimals, 0)))
    return (total_change(changes, every) + unit // 2) // unit
