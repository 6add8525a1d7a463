"""Tables from records where no safe table exists: repaired in the order asked, listed, audited, told to the office alone."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner, Result

import statveil as sv
from statveil.audit.tables import release_hash
from statveil.cli.app import app
from statveil.formats.rcta import Relaxation
from statveil.publish.report.report import report_html
from statveil.risk.rules.manual import ManualCell

FIRMS = pd.DataFrame(
    {
        "area": list("pppppppqqqqq"),
        "trade": list("uuuvvvvuuuvv"),
        "sales": [700, 300, 500, 30, 31, 29, 33, 400, 350, 450, 999, 21],
    }
)
"""One firm has nearly all of q x v (1020), which must move by 100. No other cell may move by more than one percent."""
SPEC = sv.TableSpec(dimensions={"area": None, "trade": None}, measure="sales")
TIGHT = sv.Options(bounds=sv.Bounds(percent_down=1, percent_up=1))
SHORT = sv.Limits(seconds=60)


def protect(repair: sv.repair.TableRepair | None = None, options: sv.Options = TIGHT, rules: Any = None, **more: Any) -> sv.Release:
    rules = [sv.PPercent(10)] if rules is None else rules
    return sv.protect_table(FIRMS, SPEC, rules=rules, options=replace(options, repair=repair), limits=SHORT, **more)


def gave(release: sv.Release) -> set[str]:
    return set(release.repairs_in_words())


@pytest.mark.slow
def test_without_a_repair_the_table_is_refused_with_a_reason() -> None:
    with pytest.raises(sv.InfeasibleProblem, match="No safe table") as failure:
        protect()
    assert "area q x trade v must move" in failure.value.hint


@pytest.mark.slow
def test_inner_cells_give_before_margins_and_all_of_it_is_listed() -> None:
    release = protect(sv.repair.TableRepair())
    assert release.audit.passed
    assert release.relaxations
    assert all("Total" not in words for words in gave(release))
    assert not release.protection_weakened
    assert [check.name for check in release.audit.checks][-2:] == ["repairs", "provenance"]
    assert "but for the repairs listed" in str(release.audit)


@pytest.mark.slow
def test_margins_give_alone_where_only_they_may() -> None:
    release = protect(sv.repair.TableRepair(order=("margins", "inner")))
    assert all("Total" in words for words in gave(release))


@pytest.mark.slow
def test_only_the_cells_named_give() -> None:
    named = sv.repair.GivingCells(cells=[{"area": "q"}, {"trade": "v"}, {}])
    release = protect(sv.repair.TableRepair(order=("margins",), only=(named,)))
    assert gave(release) <= {
        f"{side} bound of {cell} was relaxed"
        for side in ("lower", "upper")
        for cell in ("area=q, trade=Total", "area=Total, trade=v", "area=Total, trade=Total")
    }
    with pytest.raises(sv.InfeasibleProblem, match="No repair in the order inner was found either"):
        protect(sv.repair.TableRepair(order=("inner",), only=(sv.repair.GivingCells(cells=[{"area": "p", "trade": "u"}]),)))


@pytest.mark.slow
def test_protection_gives_only_with_the_flag_and_never_all_of_it() -> None:
    with pytest.raises(sv.InputError, match="Protection gives only"):
        sv.repair.TableRepair(order=("protection",))
    release = protect(sv.repair.TableRepair(order=("protection",), weaken_protection=True))
    assert release.protection_weakened
    (given,) = release.relaxations
    assert "WAS WEAKENED" in release.repairs_in_words()[0]
    assert release.protected.value[given.place] != release.table.value[given.place]


@pytest.mark.slow
@pytest.mark.parametrize("options", [sv.Options(cap=1), sv.Options(variant="exact")])
def test_a_cap_gives_first(options: sv.Options) -> None:
    """q x v must move by 100, p x v by 7 to 14 (or 7), and their total stays: p x v goes further than it was to."""
    office = sv.rules.Manual(
        [
            ManualCell(cell={"area": "p", "trade": "v"}, status="sensitive", lower=7, upper=7),
            ManualCell(cell={"trade": "v"}, status="frozen"),
        ]
    )
    release = protect(sv.repair.TableRepair(), options, rules=[sv.PPercent(10), office])
    assert all("area=p, trade=v" in words for words in gave(release))
    assert release.relaxations[0].what in ("overshoot", "lower", "upper")


@pytest.mark.slow
def test_frozen_cells_give_only_if_they_are_named() -> None:
    corner = {"area": "p", "trade": "v"}
    frozen = sv.rules.Manual([ManualCell(cell=corner, status="frozen"), ManualCell(cell={"area": "q"}, status="frozen")])
    release = protect(sv.repair.TableRepair(), rules=[sv.PPercent(10), frozen])
    assert not any("area=q, trade=Total" in words or "area=p, trade=v" in words for words in gave(release))
    inner = [corner, {"area": "q", "trade": "u"}, {"area": "p", "trade": "u"}]
    alone = sv.repair.TableRepair(order=("inner",), only=(sv.repair.GivingCells(cells=inner),))
    assert any("area=p, trade=v" in words for words in gave(protect(alone, rules=[sv.PPercent(10), frozen])))


def test_sums_never_give() -> None:
    with pytest.raises(sv.InputError, match="sums of a table from records do not give"):
        sv.repair.TableRepair(order=("inner", "relations"))


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"only": ({"cells": []},)}, "list of GivingCells"),
        ({"order": ("luck",)}, "Unknown class"),
        ({"order": ()}, "at least one"),
    ],
)
def test_what_is_asked_wrongly_is_refused(wrong: dict[str, Any], words: str) -> None:
    with pytest.raises(sv.InputError, match=words):
        sv.repair.TableRepair(**wrong)


def test_cells_are_named_by_labels() -> None:
    with pytest.raises(sv.InputError, match="list of"):
        sv.repair.GivingCells(cells="p")  # type: ignore[arg-type]
    with pytest.raises(sv.InputError, match="unknown codes"):
        protect(sv.repair.TableRepair(only=(sv.repair.GivingCells(cells=[{"area": "z"}]),)))
    with pytest.raises(sv.InputError, match="repair"):
        protect("all of it")  # type: ignore[arg-type]


@pytest.mark.slow
def test_a_release_cannot_hide_or_invent_a_repair() -> None:
    release = protect(sv.repair.TableRepair())
    for wrong in (
        (),
        release.relaxations[1:],
        (*release.relaxations, release.relaxations[0]),
        (*release.relaxations, Relaxation("upper", 0, 5)),
        tuple(each._replace(by=each.by + 1) for each in release.relaxations),
        (*release.relaxations, Relaxation("relation", 0, 5)),
    ):
        with pytest.raises(sv.AuditFailed):
            replace(release, relaxations=wrong)


@pytest.mark.slow
def test_a_weaker_number_than_the_job_allows_is_not_released() -> None:
    """The same list, put to a job that never allowed protection to give, or that allowed no repair."""
    weak = protect(sv.repair.TableRepair(order=("protection",), weaken_protection=True))
    strict = protect(sv.repair.TableRepair())
    for requirements in (strict.requirements, replace(strict.requirements, repair=None)):
        with pytest.raises(sv.AuditFailed, match="FAILED  Every repair listed was allowed"):
            replace(weak, requirements=requirements)


@pytest.mark.slow
def test_true_values_are_not_released_by_a_list_that_gives_protection_up() -> None:
    weak = protect(sv.repair.TableRepair(order=("protection",), weaken_protection=True))
    bare = replace(weak.protected, value=weak.table.value.copy())
    cell = weak.relaxations[0].place
    level = int(weak.sensitivity.upper_level[cell])
    with pytest.raises(sv.AuditFailed, match="FAILED"):
        replace(
            weak,
            protected=bare,
            provenance=replace(weak.provenance, release_hash=release_hash(bare)),
            relaxations=(Relaxation("protection-up", cell, level),),
        )


@pytest.mark.slow
def test_the_report_shouts_inside_and_is_silent_outside() -> None:
    quiet, loud = protect(sv.repair.TableRepair()), protect(sv.repair.TableRepair(order=("protection",), weaken_protection=True))
    free = protect(options=sv.Options())
    inside = report_html(loud, "internal")
    assert "WARNING: PROTECTION WAS WEAKENED" in inside
    assert "REPAIRED" in report_html(quiet, "internal")
    assert "WEAKENED" not in report_html(quiet, "internal")
    assert "REPAIRED" not in report_html(free, "internal")
    checks = [_checks(report_html(each, "external")) for each in (quiet, loud, free)]
    assert checks[0] == checks[1] == checks[2]
    for release in (quiet, loud):
        assert "epair" not in report_html(release, "external")


def _checks(html: str) -> str:
    return html[html.index("<h2>Checks</h2>") : html.index("<h2>Provenance</h2>")]


@pytest.mark.slow
def test_linked_tables_are_repaired_together_and_cells_named_by_table() -> None:
    """Turnover is domestic and export sales; only turnover's total may give, which is a margin by the equation alone."""
    data = FIRMS.assign(export=FIRMS["sales"] // 3, domestic=FIRMS["sales"] - FIRMS["sales"] // 3)
    tables = [sv.TableSpec(dimensions={"area": None}, measure=name, name=name) for name in ("sales", "domestic", "export")]
    split = sv.Equation(total="sales", parts=["domestic", "export"])
    office = sv.rules.Manual([ManualCell(cell={"area": "q"}, view="export", status="sensitive", lower=90, upper=90)])
    named = [sv.repair.GivingCells(cells=[{}, {"area": "q"}], view=name) for name in ("sales", "export")]
    release = sv.protect_table(
        data,
        sv.LinkedTables(tables=tables, equations=[split]),
        rules=[office],
        options=replace(TIGHT, repair=sv.repair.TableRepair(order=("margins",), only=tuple(named))),
        limits=SHORT,
    )
    assert release.relaxations
    with pytest.raises(sv.InputError, match="does not say which is meant"):
        sv.protect_table(
            data,
            sv.LinkedTables(tables=tables, equations=[split]),
            rules=[office],
            options=sv.Options(repair=sv.repair.TableRepair(only=(sv.repair.GivingCells(cells=[{"area": "q"}]),))),
        )


# -- the command line ---------------------------------------------------------------------------------------------------

JOB = """
[data]
file = "firms.csv"
[table]
name = "sales"
measure = "sales"
[table.dimensions]
area = "flat"
trade = "flat"
[[rule]]
type = "p-percent"
p = 10
[protection.bounds]
percent_down = 1
percent_up = 1
[limits]
seconds = 60
"""


def run(*words: str | Path) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words])


@pytest.fixture
def job(tmp_path: Path) -> Path:
    FIRMS.to_csv(tmp_path / "firms.csv", index=False)
    path = tmp_path / "job.toml"
    path.write_text(JOB)
    return path


@pytest.mark.slow
def test_a_job_without_repair_ends_with_the_reason(job: Path) -> None:
    result = run("protect", job)
    assert result.exit_code == 3
    assert "area q x trade v must move by its protection level or more" in result.output


@pytest.mark.slow
def test_a_repaired_job_lists_what_gave_and_is_audited_again(job: Path) -> None:
    job.write_text(JOB + "[repair]\n")
    result = run("protect", job, "--internal")
    assert result.exit_code == 0, result.output
    assert "REPAIRED" in result.output
    folder = job.with_name("job-release")
    listed = json.loads((folder / "repairs.json").read_text())
    assert listed["repairs"]
    assert all("bound of area=" in each["words"] for each in listed["repairs"])
    assert json.loads((folder / "run.json").read_text())["repairs"] == len(listed["repairs"])
    assert not list(folder.glob("public/*repair*"))
    assert run("audit", folder).exit_code == 0


@pytest.mark.slow
def test_a_job_that_needs_no_repair_says_so_in_an_empty_list(job: Path) -> None:
    job.write_text(JOB.replace("percent_down = 1\npercent_up = 1", "") + "[repair]\n")
    result = run("protect", job)
    assert result.exit_code == 0, result.output
    assert "REPAIRED" not in result.output
    assert json.loads((job.with_name("job-release") / "repairs.json").read_text())["repairs"] == []


@pytest.mark.slow
def test_weakened_protection_is_shouted_about(job: Path) -> None:
    weakened = JOB + '[repair]\norder = ["protection"]\nweaken_protection = true\n'
    job.write_text(weakened)
    assert run("protect", job).exit_code == 5  # attacks break it, and nobody said that this is only to be told
    job.write_text(weakened.replace("[protection.bounds]", '[protection]\nattacks = "report"\n[protection.bounds]'))
    result = run("protect", job)
    assert result.exit_code == 0, result.output
    assert "WARNING: PROTECTION WAS WEAKENED" in result.output
    assert json.loads((job.with_name("job-release") / "run.json").read_text())["protection_weakened"]


@pytest.mark.slow
def test_single_cells_are_named_in_the_job(job: Path) -> None:
    job.write_text(JOB + '[repair]\norder = ["margins"]\n[[repair.only]]\ncells = [{ area = "q" }, { trade = "v" }, {}]\n')
    result = run("protect", job)
    assert result.exit_code == 0, result.output
    assert run("audit", job.with_name("job-release")).exit_code == 0


@pytest.mark.slow
def test_a_list_of_repairs_that_was_changed_or_is_gone_is_found(job: Path) -> None:
    job.write_text(JOB + "[repair]\n")
    assert run("protect", job).exit_code == 0
    folder = job.with_name("job-release")
    file = folder / "repairs.json"
    content = json.loads(file.read_text())
    content["repairs"][0]["by"] = str(int(content["repairs"][0]["by"]) + 1)
    file.write_text(json.dumps(content))
    result = run("audit", folder)
    assert result.exit_code == 5
    assert "Every repair listed was allowed, and is used as it is listed" in result.output
    file.unlink()
    result = run("audit", folder)
    assert result.exit_code == 5
    assert "repairs.json is missing or damaged" in result.output


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ('order = ["inner", "relations"]', "repair: The sums of a table from records do not give"),
        ('order = ["protection"]', "repair: Protection gives only"),
        ('order = ["luck"]', "repair.order[1]: 'luck' is not allowed"),
        ("weaken = true", "unknown key 'weaken'"),
        ("[[repair.only]]\ncells = 3", "repair.only[1].cells: must be a list"),
    ],
)
def test_a_wrong_repair_in_a_job_is_refused(job: Path, keys: str, words: str) -> None:
    job.write_text(f"{JOB}[repair]\n{keys}\n")
    result = run("protect", job)
    assert result.exit_code == 2
    assert words in result.output


# -- many tables --------------------------------------------------------------------------------------------------------


def random_records(seed: int) -> tuple[pd.DataFrame, sv.TableSpec, sv.Options, sv.repair.TableRepair]:
    """Records with weights, negative amounts and rounding now and then, and bounds that are too tight."""
    rng = np.random.default_rng(seed)
    size = int(rng.integers(6, 25))
    data = pd.DataFrame(
        {
            "area": rng.choice(list("abc"), size),
            "trade": rng.choice(list("xyz"), size),
            "sales": rng.integers(-20 if seed % 4 == 0 else 0, 400, size),
            "weight": rng.choice(["1", "1.5", "2.25"], size),
        }
    )
    spec = sv.TableSpec(
        dimensions={"area": None, "trade": None}, measure="sales", weight="weight" if seed % 2 else None, decimals=0 if seed % 2 else None
    )
    percent = float(rng.choice([0, 1, 3]))
    options = sv.Options(
        variant="exact" if seed % 5 == 0 else "at-least",
        cap=float(rng.choice([1, 1.5])) if seed % 3 == 0 else None,
        bounds=sv.Bounds(percent_down=percent, percent_up=percent),
    )
    order = (("cap", "inner", "margins"), ("margins",), ("inner", "cap", "margins", "protection"))[seed % 3]
    return data, spec, options, sv.repair.TableRepair(order=order, weaken_protection="protection" in order)  # type: ignore[arg-type]


def ending(seed: int) -> str:
    data, spec, options, repair = random_records(seed)
    try:
        rules = [sv.MinimumFrequency(2), sv.PPercent(20)]
        release = sv.protect_table(data, spec, rules=rules, options=replace(options, repair=repair), limits=SHORT, method="exact")
    except sv.InfeasibleProblem:
        return "explained"
    if not release.relaxations:
        return "safe"
    with pytest.raises(sv.AuditFailed):
        replace(release, relaxations=release.relaxations[:-1])
    return "repaired"


@pytest.mark.slow
def test_seven_tables_that_ask_too_much_are_repaired_and_audited_or_explained() -> None:
    endings = [ending(seed) for seed in range(7)]
    assert endings.count("repaired") >= 3
