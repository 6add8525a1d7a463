"""A released linear system: what can be tried without records."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from statveil.audit.attacks.attacker import Effort
from statveil.audit.attacks.case import SystemCase, SystemOriginals
from statveil.audit.attacks.one_table.last_digits import last_digits
from statveil.audit.attacks.one_table.minimal_safe_value import allowance
from statveil.audit.attacks.one_table.reverse_optimisation import reversed_verdict
from statveil.audit.attacks.public import ReleasedSystem, around
from statveil.audit.attacks.suite import attack_system
from statveil.audit.attacks.verdict import SuiteReport, VerdictStatus, percent
from statveil.jobs.reverse import reverse_by_adjustment

TRUE = np.array([300, 500, 200, 1000])
LEVELS = np.array([30, 0, 20, 0])


def system(released: list[int], *, high: float = np.inf) -> SystemCase:
    """Three parts and their total; the first and the third are sensitive."""
    public = ReleasedSystem(
        relations=csr_matrix([[1, 1, 1, -1]]),
        rhs=np.zeros(1, dtype=np.int64),
        released=np.array(released),
        low=np.zeros(4),
        high=np.full(4, high),
        known_bounds=bool(np.isfinite(high)),
    )
    secret = SystemOriginals(value=TRUE, sensitive=LEVELS > 0, lower=LEVELS, upper=LEVELS)
    reverse = reverse_by_adjustment(seconds=60, method="alternate")
    return SystemCase(published=public, originals=secret, cap=2.0, effort=Effort(), reverse=reverse)


def made(report: SuiteReport) -> dict[str, VerdictStatus]:
    return {each.threat.id: each.status for each in report.verdicts if each.status is not VerdictStatus.NOT_APPLICABLE}


@pytest.mark.slow
def test_the_closest_safe_table_is_safe_and_can_be_guessed() -> None:
    """270 + 510 + 220 = 1000: safe, but both sensitive parts lie exactly at their level."""
    report = attack_system(system([270, 510, 220, 1000]), target="small")
    assert made(report)["T01"] is VerdictStatus.PASSED
    assert made(report)["T11"] is VerdictStatus.FAILED
    assert made(report)["T18"] is VerdictStatus.PASSED
    assert report["T11"].figures["exactly at the level"] == 1
    assert "neither records nor respondents" in report["T02"].reason
    assert report.facts["sensitive cells"] == 2


@pytest.mark.slow
def test_the_reverse_problem_finds_the_original_of_a_table_in_balance() -> None:
    """From 270 + 500 + 230 the cheapest way back by 30 and 30 is there where it came from."""
    case = system([270, 500, 230, 1000])
    same = np.array([30, 0, 30, 0])
    case = dataclasses.replace(case, originals=dataclasses.replace(case.originals, lower=same, upper=same))
    report = attack_system(case, target="balance")
    assert report["T12"].figures["recovered within 0.1 p"] in (0.0, 1.0)
    assert report["T12"].figures["tables"] == 1


@pytest.mark.slow
def test_faults_are_counted() -> None:
    report = attack_system(system([299, 500, 180, 1000]), target="bad")
    assert report["T01"].figures == {"cells": 4, "under-protected": 1, "broken sums": 1, "negative": 0}


@pytest.mark.slow
def test_a_bound_of_the_file_narrows_the_interval() -> None:
    report = attack_system(system([270, 510, 220, 1000], high=305.0), target="bounded")
    assert report["T08"].status is VerdictStatus.FAILED
    assert "bounds known" in report["T08"].number


@pytest.mark.slow
def test_an_impossible_way_back_is_no_way_back() -> None:
    case = system([270, 510, 220, 1000], high=1000.0)
    still = dataclasses.replace(case.published, low=case.published.released * 1.0, high=case.published.released * 1.0)
    assert "backwards" in attack_system(dataclasses.replace(case, published=still), target="still")["T12"].reason


def test_a_system_without_sensitive_cells_has_nothing_to_recover() -> None:
    case = system([300, 500, 200, 1000])
    nothing = dataclasses.replace(case.originals, sensitive=np.zeros(4, dtype=bool))
    verdict = reversed_verdict([(case.published, nothing)], case.reverse, 2.0)
    assert verdict.status is VerdictStatus.NOT_APPLICABLE


def test_last_digits_that_tell_the_touched_are_found() -> None:
    value = np.arange(10_000, 14_000) * 10 + 5
    touched = np.arange(4000) % 2 == 0
    found = last_digits(np.where(touched, value + 2, value), value, touched, constant=True)
    assert found.status is VerdictStatus.FAILED
    free = np.random.Generator(np.random.PCG64(0)).integers(10_000, 99_999, 4000)
    assert last_digits(free, np.where(touched, free - 10, free), touched, constant=True).passed
    assert last_digits(free, free, np.zeros(4000, bool), constant=True).status is VerdictStatus.NOT_APPLICABLE
    assert last_digits(free, free, np.zeros(4000, bool), constant=False).status is VerdictStatus.FAILED


def test_what_is_known_around_a_released_number() -> None:
    low, high = around(np.array([0, 110]), 0.1)
    assert low.tolist() in ([0, 99], [0, 100])  # rounded outwards
    assert high.tolist() == [0, 123]
    assert around(np.array([110]), 2.0)[1][0] == np.inf
    assert around(np.array([0, 5]), None)[1].tolist() == [0, np.inf]


def test_a_wide_cap_leaves_less_to_guess() -> None:
    assert allowance(2) == pytest.approx(0.12)
    assert allowance(3) == pytest.approx(0.07)


def test_a_narrow_cap_excuses_nothing() -> None:
    assert allowance(1) == allowance(1.1) == allowance(2)


@pytest.mark.slow
def test_the_report_is_plain_json() -> None:
    report = attack_system(system([270, 510, 220, 1000]), target="small")
    content = report.as_json()
    assert [each["id"] for each in content["verdicts"]][:2] == ["T01", "T02"]
    assert content["facts"]["cells"] == 4
    assert next(each for each in content["verdicts"] if each["id"] == "T08")["figures"]["least width / 2p, bounds not known"] is None
    assert {each.threat.id for each in report.failed} == {"T11", *({"T12"} if not report["T12"].passed else set())}


def test_small_shares_are_not_shown_as_nothing() -> None:
    assert percent(0.00012) == "0.012%"
    assert percent(0.5) == "50.0%"
