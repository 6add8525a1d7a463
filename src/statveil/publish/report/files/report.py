"""The report on a safe file: risk and loss before and after, in one HTML file that needs no network. Confidential."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from statveil.core.toml import to_toml
from statveil.publish.audited_file import AuditedFile, EarlierReleases
from statveil.publish.formats.files import write_bytes
from statveil.publish.formats.numbers import percent
from statveil.publish.report.files import charts as file_charts
from statveil.publish.report.files.perturbed import perturbed_tables
from statveil.publish.report.files.script import has_file, job_content, python_script
from statveil.publish.report.page import ENDINGS, VEGA, asset, json_for_page, render
from statveil.records import risk
from statveil.records.frequencies import unsafe_patterns
from statveil.records.perturb.steps import Step
from statveil.records.plan import FilePlan
from statveil.records.risk import KeyClasses, UnsafeCombinations, find_unsafe
from statveil.records.suppress.problem import row_amount
from statveil.records.suppress.wildcard import wildcard_totals
from statveil.version import VERSION

MOST_TABLES = 12
MOST_DISTRIBUTIONS = 12
MEANINGS = (
    ("original", "a combination with a blank is safe; the others keep the counts of the original file"),
    ("recount", "a blank matches nothing; the released file is counted again"),
    ("wildcard", "a blank matches every value: weak, for comparison only"),
)


def write_file_report(release: AuditedFile, path: Path) -> Path:
    return write_bytes(path, file_report_html(release).encode())


def file_report_html(release: AuditedFile) -> str:
    return render("file.html", _context(release))


def _context(release: AuditedFile) -> dict[str, Any]:
    plan = release.plan
    before, after = risk.classes_before(plan.coded), risk.classes_after(plan)
    unsafe = find_unsafe(plan.coded)
    left = _unsafe_after(plan)
    drawn = _charts(plan, unsafe, left, after)
    return {
        "title": release.path.name,
        "axes": [("", " × ".join(plan.keys.names))],
        "software": f"statveil {VERSION}",
        "release_hash": release.file_hash,
        "css": asset("templates/report.css"),
        "script": asset("templates/charts.js"),
        "vega": [asset(f"static/{name}") for name in VEGA],
        "sentences": _sentences(release, unsafe),
        "figures": _figures(release, unsafe),
        "checks": release.audit.checks,
        "rule": plan.keys.rule,
        "by_rule": _by_rule(release),
        "attacks": [
            (each.name, each.words, percent(each.value), percent(each.limit), "kept" if each.passed else "EXCEEDED")
            for each in release.attacks
        ],
        "attack_findings": [finding for each in release.attacks for finding in each.findings],
        "risks": _risks(release, before, after),
        "worst": _worst(unsafe, left),
        "field_scores": [(name, percent(share)) for name, share in unsafe.field_scores().items()],
        "losses": _losses(plan),
        "perturbed": perturbed_tables(release.perturbed),
        "loss_figures": _loss_figures(plan, before, after),
        "charts": list(drawn),
        "distributions": [(f"field{place}", name) for place, name in enumerate(plan.keys.names) if f"field{place}" in drawn],
        "mosaic": _mosaic_title(plan, drawn),
        "method": plan.method,
        "seed": plan.seed,
        "job": _job(release),
        "python": _python(release),
        "page_data": json_for_page({"charts": drawn}),
    }


def _unsafe_after(plan: FilePlan) -> list[int]:
    """Records in unsafe combinations of the released file, by table and by the plan's own rule."""
    found, problem = plan.suppression, plan.suppression.problem
    codes, amount = problem.blanked(found.key, found.mask), row_amount(problem, found.key, found.records)
    tables = plan.coded.tables
    if plan.keys.rule == "wildcard":
        total = wildcard_totals(problem, codes, found.records)
        return [int(found.records[total[number] < threshold].sum()) for number, (_, threshold) in enumerate(tables)]
    if plan.keys.rule == "recount":
        patterns = unsafe_patterns(codes, amount, problem.maps, tables, problem.levels)
    else:
        patterns = unsafe_patterns(plan.coded.codes, plan.coded.amount, problem.maps, tables, problem.levels)[found.key]
        for number, (places, _) in enumerate(tables):
            blank = (codes[list(places)] < 0).any(axis=0)
            patterns[blank, number // 64] &= ~(np.uint64(1) << np.uint64(number % 64))
    bits = [patterns[:, number // 64] >> np.uint64(number % 64) & np.uint64(1) == 1 for number in range(len(tables))]
    return [int(found.records[bad].sum()) for bad in bits]


def _charts(plan: FilePlan, unsafe: UnsafeCombinations, left: list[int], after: KeyClasses) -> dict[str, Any]:
    sizes = [len(places) for places, _ in plan.coded.tables]
    first = {size: records for size, (_, records) in unsafe.by_size().items()}
    last = {size: sum(number for number, s in zip(left, sizes, strict=True) if s == size) for size in first}
    found = {"unsafe": file_charts.unsafe_by_size(first, last), "blanks": file_charts.blanks_by_field(plan.suppression.blanks)}
    start = file_charts.in_new_classes(plan)
    for place, level in list(enumerate(plan.levels))[:MOST_DISTRIBUTIONS]:
        counts = file_charts.field_counts(start, place, plan.coded.levels[place][level].size)
        found[f"field{place}"] = file_charts.distribution(plan, place, counts, after)
    pair = file_charts.closest_pair(plan, start)
    if pair:
        found["mosaic_before"], found["mosaic_after"] = (file_charts.mosaic(plan, classes, pair) for classes in (start, after))
    return found


def _mosaic_title(plan: FilePlan, drawn: dict[str, Any]) -> str:
    if "mosaic_before" not in drawn:
        return ""
    encoding = drawn["mosaic_before"]["encoding"]
    return f"{encoding['x']['title']} and {encoding['y']['title']}"


def _sentences(release: AuditedFile, unsafe: UnsafeCombinations) -> list[str]:
    plan = release.plan
    recoded = [name for name, level in zip(plan.keys.names, plan.levels, strict=True) if level]
    words = f"{', '.join(recoded)} {'were' if len(recoded) > 1 else 'was'} recoded" if recoded else "No field was recoded"
    total, loss = plan.suppression.total, plan.loss
    return [
        *([f"Wiped in every record: {', '.join(loss.wiped)} ({loss.wiped_values:,} values)."] if loss.wiped else []),
        f"Of the {plan.coded.records:,} records, {unsafe.records:,} ({percent(unsafe.records / plan.coded.records)}) "
        "showed a rare combination of key values.",
        f"{words}, and {total:,} {'value was' if total == 1 else 'values were'} blanked: {loss.lost:,.0f} of {loss.values:,} key values "
        f"({percent(loss.share)}) are lost.",
        f"The written file was recounted: no combination is unsafe under rule '{plan.keys.rule}'.",
    ]


def _figures(release: AuditedFile, unsafe: UnsafeCombinations) -> list[tuple[str, str, str]]:
    plan, loss = release.plan, release.plan.loss
    return [
        *([("Wiped everywhere", f"{len(loss.wiped)} of {len(plan.levels)}", ", ".join(loss.wiped))] if loss.wiped else []),
        ("Lost", percent(loss.share), f"of {loss.values:,} key values"),
        ("Records", f"{plan.coded.records:,}", f"{plan.coded.size:,} different keys"),
        ("Unsafe before", f"{unsafe.records:,}", f"{percent(unsafe.records / plan.coded.records)} of the records"),
        ("Fields recoded", f"{sum(level > 0 for level in plan.levels)}", f"of {len(plan.levels)} key fields"),
        ("Blanks", f"{plan.suppression.total:,}", f"{percent(plan.suppression.total / max(loss.values, 1))} of the key values"),
        ("From best possible", percent(plan.gap), ENDINGS[plan.ending]),
        ("Time", f"{plan.seconds:,.1f} s", f"method {plan.method}"),
    ]


def _by_rule(release: AuditedFile) -> list[tuple[str, str, str, str]]:
    declared, rows = release.plan.keys.rule, list[tuple[str, str, str, str]]()
    for rule, meaning in MEANINGS:
        found = release.unsafe[rule]
        rows.append((rule, meaning, "declared" if rule == declared else "for comparison", "not counted" if found is None else f"{found:,}"))
    return rows


def _risks(release: AuditedFile, before: KeyClasses, after: KeyClasses) -> list[tuple[str, str, str]]:
    first, last = risk.risk(before), risk.risk(after)
    rows = [
        ("Smallest class of the full key (k-anonymity)", f"{first.smallest_class:,}", f"{last.smallest_class:,}"),
        ("Records unique on the full key", f"{first.uniques:,}", f"{last.uniques:,}"),
        ("Expected re-identifications (weights)", _share(first.global_risk), _share(last.global_risk)),
        ("Largest individual risk (weights)", _share(first.largest_risk), _share(last.largest_risk)),
        ("Sample uniques unique in the population (estimate)", _number(first.population_uniques), _number(last.population_uniques)),
    ]
    for name in dict.fromkeys((*release.sensitive, *release.plan.keys.sensitive)):
        one, two = risk.diversity(release.data, release.plan, name, key=release.key)
        if release.perturbed is not None:
            one, _ = risk.diversity(release.perturbed.original, release.plan, name, key=release.key)
        rows.append((f"Fewest different values of {name} in a class (l-diversity)", f"{one.least_values}", f"{two.least_values}"))
        rows.append((f"The same by entropy (entropy l-diversity) of {name}", f"{one.least_effective:.2f}", f"{two.least_effective:.2f}"))
        rows.append(
            (f"Largest distance of {name} from the whole file (t-closeness)", f"{one.largest_distance:.3f}", f"{two.largest_distance:.3f}")
        )
    return rows


def _share(value: float | None) -> str:
    return "needs weights" if value is None else percent(value)


def _number(value: float | None) -> str:
    return "needs weights" if value is None else f"{value:,.1f}"


def _worst(unsafe: UnsafeCombinations, left: list[int]) -> list[tuple[str, str, str, str, str]]:
    rows = list(zip(unsafe.by_combination(), left, strict=True))
    rows.sort(key=lambda row: -row[0].unsafe_records)
    return [
        (" × ".join(each.fields), f"{each.threshold:,}", f"{each.unsafe_cells:,}", f"{each.unsafe_records:,}", f"{after:,}")
        for each, after in rows[:MOST_TABLES]
    ]


def _losses(plan: FilePlan) -> list[tuple[str, ...]]:
    kept = risk.entropy_kept(plan)
    return [
        (
            name,
            plan.recoding[name],
            f"{len(plan.coded.values[place]):,}",
            f"{plan.coded.levels[place][plan.levels[place]].size:,}",
            f"{plan.suppression.blanks[name]:,}",
            percent(plan.suppression.blanks[name] / plan.coded.records),
            percent(kept[name]),
            f"{plan.loss.fields[name].lost:,.0f}{' (wiped)' if plan.loss.fields[name].wiped else ''}",
        )
        for place, name in enumerate(plan.keys.names)
    ]


def _loss_figures(plan: FilePlan, before: KeyClasses, after: KeyClasses) -> list[tuple[str, str]]:
    pairs = risk.discernibility(before), risk.discernibility(after)
    notes = [(name.capitalize(), f"{number:,}") for name, number in plan.suppression.notes.items()]
    alone = [] if plan.blanks_alone is None else [("Cost of blanks alone, without recoding", f"{plan.blanks_alone:,.6g}")]
    return [
        ("Cost of the plan", f"{plan.cost:,.6g}"),
        ("of which recoding", f"{plan.recoding_cost:,.6g}"),
        ("of which blanks", f"{plan.suppression.cost:,.6g}"),
        ("of which against guessing", f"{plan.suppression.extra_cost:,.6g}"),
        ("Proved lower bound of what the rule needs", f"{plan.bound:,.6g}"),
        *alone,
        ("Discernibility before", f"{pairs[0]:,}"),
        ("Discernibility after", f"{pairs[1]:,}"),
        *notes,
    ]


def _python(release: AuditedFile) -> str:
    plan, options = release.plan, _output(release)
    waiver = options.pop("waiver")
    if waiver:
        options["earlier"] = EarlierReleases(release.earlier, waiver=waiver)
    return python_script(
        release.data, plan.coded, recoding=plan.recoding, seed=plan.seed, target=release.path.name, options=options, steps=_steps(release)
    )


def _job(release: AuditedFile) -> str:
    """The job as it was given; of a release that was made without one, a job that gives the same."""
    if release.job:
        return to_toml(release.job)
    if not has_file(release.data):
        return ""
    plan, output = release.plan, {"file": release.path.name, **_output(release)}
    return to_toml(
        job_content(release.data, plan.coded, recoding=plan.recoding, seed=plan.seed, folder=None, output=output, steps=_steps(release))
    )


def _steps(release: AuditedFile) -> tuple[Step, ...]:
    return () if release.perturbed is None else release.perturbed.steps


def _output(release: AuditedFile) -> dict[str, Any]:
    """What `apply_plan` was told. The secret of the shuffle is in it: the report stays in the office."""
    return {
        "drop": list(release.dropped),
        "sensitive": list(release.sensitive),
        "earlier": list(release.earlier),
        "waiver": release.waiver,
        "key": release.key,
    }
