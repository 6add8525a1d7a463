"""A release attacked before it is written: told to the office, refused where the job says so, never told to readers."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import statveil as sv
from statveil.audit.attacks.attacker import Effort
from statveil.audit.attacks.suite import THREAT_BY_ID
from statveil.audit.attacks.verdict import SuiteReport, VerdictStatus, not_applicable
from statveil.core.errors import AuditFailed
from statveil.core.limits import Limits, Progress
from statveil.jobs import schema
from statveil.jobs.folders import tables as folders
from statveil.jobs.table_job import TableJob, read_job
from statveil.jobs.tables import own_attacks
from statveil.jobs.tables.own_attacks import (
    OVER,
    OWN_ATTACKS,
    ReleaseOrigin,
    attack_release,
    contributions_of,
    release_case,
    seconds_for_attacks,
)
from statveil.tables.table import levels_of
from tests.jobs.test_attack_targets import BOTH, FAST, JOB, P_PERCENT, PAPERS, RECORDS

TREE = "code,parent\nN,\nS,\nN1,N\nN2,N\nS1,S\nS2,S\n"
RICH = 'weight = "hours"\nweight_policy = "contribution"\nshadow = "hours"\nwaiver = "waives"\nrequest = "asks"'
RULES = P_PERCENT + '[[rule]]\ntype = "waiver"\ncells = [{ street = "N1", trade = "vet" }]\n[[rule]]\ntype = "request"\npercent = 70\n'


def job(folder: Path, *, more: str = "", rules: str = P_PERCENT, protection: str = FAST) -> TableJob:
    head, *lines = RECORDS.splitlines()
    flags = [f"{line},{str(number % 5 == 0).lower()},{str(number % 7 == 0).lower()}" for number, line in enumerate(lines)]
    (folder / "village.csv").write_text("\n".join([f"{head},waives,asks", *flags]) + "\n", encoding="utf-8")
    (folder / "streets.csv").write_text(TREE, encoding="utf-8")
    path = folder / "job.toml"
    path.write_text(JOB.format(name="income", dimensions=BOTH, more=more, rules=rules, protection=protection), encoding="utf-8")
    return read_job(path)


def origin_of(made: TableJob) -> ReleaseOrigin:
    return ReleaseOrigin(data=made.microdata, linked=made.linked(), rules=made.rules(), options=made.options())


@pytest.mark.slow
def test_what_attacks_found_is_told_to_the_office_alone(tmp_path: Path) -> None:
    stages: list[str] = []

    def hear(progress: Progress) -> None:
        stages.append(progress.stage)

    made = job(tmp_path, protection=f'{PAPERS}\nattacks = "report"')
    outcome = folders.protect_to_folder(made, tmp_path / "out", internal=True, on_progress=hear)
    assert sorted(each.threat.id for each in outcome.attacks.verdicts) == sorted(OWN_ATTACKS)
    assert outcome.attacks["T11"].status is VerdictStatus.FAILED  # least change leaves cells at their level
    assert {"attack T11", "attack T12"} <= set(stages)
    run = json.loads((tmp_path / "out" / "run.json").read_text(encoding="utf-8"))
    assert [each["id"] for each in run["attacks"]["verdicts"]] == [each.threat.id for each in outcome.attacks.verdicts]
    inside = (tmp_path / "out" / "internal" / "report-internal.html").read_text(encoding="utf-8")
    assert "T11 minimal safe value" in inside
    public = [path for path in (tmp_path / "out" / "public").rglob("*") if path.suffix in (".html", ".csv", ".json")]
    assert public
    for path in public:
        assert "attack" not in path.read_text(encoding="utf-8").lower()
        assert "T11" not in path.read_text(encoding="utf-8")


@pytest.mark.slow
def test_what_attacks_break_is_refused_where_the_job_says_so(tmp_path: Path) -> None:
    made = job(tmp_path, protection=f'{PAPERS}\nattacks = "refuse"')
    with pytest.raises(AuditFailed, match="T11 minimal safe value") as refused:
        folders.protect_to_folder(made, tmp_path / "out")
    assert refused.value.exit_code == 5
    assert 'attacks = "report"' in refused.value.hint
    assert "wider ones help" not in refused.value.hint
    assert not (tmp_path / "out").exists()
    values = {str(abs(int(value))) for value in folders.protect(made).table.value.tolist() if abs(int(value)) > 99}
    assert not any(value in refused.value.message for value in values)


@pytest.mark.slow
def test_wider_bounds_are_offered_where_the_job_has_narrow_ones(tmp_path: Path) -> None:
    made = job(tmp_path, protection=f'{PAPERS}\nattacks = "refuse"\ncap = 3')
    with pytest.raises(AuditFailed, match="T11") as refused:
        folders.protect_to_folder(made, tmp_path / "out")
    assert "wider ones help against T11 and T12" in refused.value.hint


@pytest.mark.slow
def test_drawn_levels_withstand_what_exact_ones_do_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STATVEIL_KEY", "5a" * 32)
    made = job(tmp_path, more=RICH, rules=RULES, protection='attacks = "report"')
    report = folders.protect_to_folder(made, tmp_path / "out").attacks
    assert report["T11"].passed
    assert report["T27"].passed
    assert report["T17"].passed


@pytest.mark.slow
def test_where_nothing_is_sensitive_nothing_is_found_out(tmp_path: Path) -> None:
    made = job(tmp_path, rules="", protection=f'{PAPERS}\nattacks = "refuse"')
    text = made.text.replace("n = 3", "n = 1")
    (tmp_path / "job.toml").write_text(text, encoding="utf-8")
    outcome = folders.protect_to_folder(read_job(tmp_path / "job.toml"), tmp_path / "out")
    assert not outcome.attacks.failed


def test_the_word_of_the_job_has_one_default() -> None:
    assert schema.ProtectionPart().attacks == schema.DEFAULT_ATTACKS


@pytest.mark.slow
@pytest.mark.parametrize("more", ["", RICH, 'weight = "hours"', "decimals = -1", "decimals = 2"])
def test_every_kind_of_table_is_attacked(tmp_path: Path, more: str) -> None:
    made = job(tmp_path, more=more, rules=RULES if "waiver" in more else P_PERCENT)
    report = attack_release(folders.protect(made), origin_of(made), seconds=60)
    assert report["T11"].status is VerdictStatus.FAILED
    assert report["T17"].status is VerdictStatus.PASSED
    assert report["T13"].status is not VerdictStatus.NOT_APPLICABLE
    assert (report["T19"].status is VerdictStatus.FAILED) is (more == "decimals = 2" and "more decimals" in report["T19"].number)


@pytest.mark.slow
def test_truth_and_release_are_compared_in_the_finer_units(tmp_path: Path) -> None:
    made = job(tmp_path, more="decimals = -2")
    release = folders.protect(made)
    case = release_case(release.table, release.protected, origin_of(made), effort=Effort())
    assert case.unit == 100
    assert (case.published.released == release.protected.value * 100).all()
    assert (case.originals.value == release.table.value).all()
    moved = np.abs(case.published.released - case.originals.value)[case.originals.sensitive]
    assert (moved >= case.originals.lower[case.originals.sensitive]).all()


@pytest.mark.slow
def test_profits_and_losses_are_released_and_tell_no_coalition(tmp_path: Path) -> None:
    """Levels once ignored negative contributions, and the attacks before writing left no way out."""
    rng = np.random.default_rng(3)
    profit = np.round(rng.lognormal(5, 1.8, 150) * rng.choice([1, 1, -1], 150)).astype(int)
    rows = [f"{'NSEW'[a]},{'uvxyz'[b]},{c}" for a, b, c in zip(rng.integers(0, 4, 150), rng.integers(0, 5, 150), profit, strict=True)]
    (tmp_path / "firms.csv").write_text("\n".join(["area,trade,profit", *rows]) + "\n", encoding="utf-8")
    (tmp_path / "job.toml").write_text(
        '[data]\nfile = "firms.csv"\n[table]\nname = "profit"\nmeasure = "profit"\ndimensions = { area = {}, trade = {} }\n'
        '[[rule]]\ntype = "p-percent"\np = 40\n[limits]\nseconds = 20\n',
        encoding="utf-8",
    )
    outcome = folders.protect_to_folder(read_job(tmp_path / "job.toml"), tmp_path / "out")
    assert outcome.release.sensitivity.sensitive.sum() >= 5
    assert outcome.attacks["T13"].status is VerdictStatus.PASSED


@pytest.mark.slow
def test_no_time_no_attack(tmp_path: Path) -> None:
    made = job(tmp_path)
    report = attack_release(folders.protect(made), origin_of(made), seconds=0)
    assert {each.reason for each in report.verdicts} == {OVER}
    assert not report.failed


@pytest.mark.slow
def test_what_others_take_is_not_taken_from_the_way_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made, given = job(tmp_path), []
    release = folders.protect(made)

    def attacked(*_: Any, only: tuple[str], **__: Any) -> SuiteReport:
        time.sleep(0.1)
        return SuiteReport(target="", verdicts=(not_applicable(THREAT_BY_ID[only[0]], "tried"),), facts={})

    monkeypatch.setattr(own_attacks, "reverse_by_adjustment", lambda *, seconds, longest: given.append((seconds, longest)))
    monkeypatch.setattr(own_attacks, "attack_system", attacked)
    report = attack_release(release, origin_of(made), seconds=0.05)
    assert {each.threat.id for each in report.verdicts if each.reason == OVER} == set(OWN_ATTACKS) - {"T11", "T12"}
    assert given[-1] == (0.025, own_attacks.TUNING.longest)


def test_attacks_take_a_share_of_the_time_and_no_more_than_some_seconds() -> None:
    assert seconds_for_attacks(Limits(seconds=10)) == 2
    assert seconds_for_attacks(Limits(seconds=3600)) == 15


def test_a_shadow_variable_gives_shares_of_the_value(tmp_path: Path) -> None:
    made = job(tmp_path, more='shadow = "hours"')
    table = sv.tabulate(made.microdata, made.specs(), top=3)
    for cell, parts in enumerate(contributions_of(table, made.microdata, made.specs(), np.arange(table.size), 1)):
        assert abs(int(parts.amount.sum()) - int(table.value[cell])) <= parts.amount.size
        assert parts.protected.all()


def test_cells_of_one_level_have_one_number(tmp_path: Path) -> None:
    made = job(tmp_path)
    table = sv.tabulate(made.microdata, made.specs())
    level, view = levels_of(table), table.views[0]
    assert len(np.unique(level)) == 6  # three depths of streets times two of trades
    assert level[view.cell[0]] == 0


@pytest.mark.slow
def test_bounds_that_a_reader_may_know_are_told_and_the_way_back_is_still_tried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The summary says that they narrow the way back, which T12 tries with them."""
    monkeypatch.setenv("STATVEIL_KEY", "5a" * 32)
    narrow = 'attacks = "report"\n[protection.bounds]\npercent_down = 60\npercent_up = 60'
    made = job(tmp_path, more=RICH, rules=RULES, protection=narrow)
    outcome = folders.protect_to_folder(made, tmp_path / "out")
    assert outcome.attacks["T12"].status != "not applicable"
    assert "wider ones help" in folders.figures(outcome.release)["narrow"]
