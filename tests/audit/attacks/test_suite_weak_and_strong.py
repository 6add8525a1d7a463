"""Every attack breaks a weak server and is withstood by a strong one: a check that cannot fail is a defect."""

from __future__ import annotations

from functools import cache

import pytest

from statveil.audit.attacks.suite import ATTACKS, THREAT_BY_ID, attack_all
from statveil.audit.attacks.verdict import SuiteReport, VerdictStatus
from statveil.core.errors import InputError
from statveil.jobs.reverse import reverse_by_adjustment
from tests.audit.attacks.stories import LITTLE, OperatorSide, case, village
from tests.reference import servers
from tests.reference.servers import Server

REVERSE = reverse_by_adjustment(seconds=60, method="alternate")
WEAK = [
    ("T01", "Bare"), ("T02", "Naive"), ("T02", "Bare"), ("T03", "Naive"), ("T04", "Section4"), ("T05", "WithZeros"), ("T06", "Section4"),
    ("T06", "Naive"), ("T07", "Section4"), ("T09", "Naive"), ("T10", "Section4"), ("T11", "Section4"), ("T12", "Section4"),
    ("T13", "Bare"), ("T14", "Bare"), ("T15", "ByRecord"), ("T17", "CutAtZero"), ("T18", "CutAtZero"), ("T20", "Naive"),
    ("T24", "Section4"), ("T27", "Section4"),
]  # fmt: skip
ONLY = {
    "ByRecord": ("T02", "T15"),
    "Tripled": ("T24",),
    "CutAtZero": ("T07", "T17", "T18"),
    "WithZeros": ("T05",),
    "Bare": ("T01", "T02", "T07", "T13", "T14"),
}


@cache
def report(name: str) -> SuiteReport:
    server: Server = getattr(servers, name)(village(), catalogue=village().catalogue(counts=name != "Anchored"))
    chosen = ONLY.get(name, ())
    return attack_all(case(server, reverse=REVERSE, operator=OperatorSide(server)), target=name, only=chosen)


@pytest.mark.slow
@pytest.mark.parametrize(("threat", "server"), WEAK)
def test_the_attack_breaks_the_weak_server(threat: str, server: str) -> None:
    assert report(server)[threat].status is VerdictStatus.FAILED, report(server)[threat]


@pytest.mark.slow
@pytest.mark.parametrize("threat", [each for each in THREAT_BY_ID if each not in ("T19", "T23", "T24", "T27")])
def test_no_attack_breaks_the_anchored_server(threat: str) -> None:
    assert report("Anchored")[threat].status is VerdictStatus.PASSED, report("Anchored")[threat]


@pytest.mark.slow
def test_numbers_in_proportion_stay_small_where_they_were_small() -> None:
    """A fifth more of next to nothing is next to nothing: noise in proportion hides how much, not that it is little (T27)."""
    assert report("Anchored")["T27"].status is VerdictStatus.FAILED


@pytest.mark.slow
def test_consistent_senses_alone_withstand_averaging_and_nothing_else() -> None:
    """docs/science.md, section 8: the paper's scheme meets T02 and T03, and its sensitive releases sit exactly at the level."""
    found = report("Section4")
    assert found["T02"].passed
    assert found["T03"].passed
    assert found["T11"].figures["exactly at the level"] > 0.9
    assert found["T07"].figures["exact"] == found["T07"].figures["pairs"] > 0
    assert found["T06"].figures["median error"] < 0.05


@pytest.mark.slow
def test_averaging_tells_everything_about_senses_drawn_anew() -> None:
    assert report("Naive")["T02"].figures["least rho, midrange"] == 0
    assert report("Naive")["T03"].figures["cells with both signs"] > 0


@pytest.mark.slow
def test_a_server_that_counts_zeros_gives_opposite_answers() -> None:
    assert report("WithZeros")["T05"].figures["opposite signs"] > 0
    assert report("Section4")["T05"].figures["opposite signs"] == 0


def test_a_factor_per_variable_keeps_ratios_apart_and_one_factor_does_not() -> None:
    one, each = (ATTACKS["T23"](case(kind(village(records=300)))) for kind in (servers.OneFactor, servers.Anchored))
    assert one.status is VerdictStatus.FAILED
    assert one.figures["median error"] < 0.05 < each.figures["median error"]


def test_everyone_counted_three_times_is_safe() -> None:
    assert report("Tripled")["T24"].passed, report("Tripled")["T24"]


def test_the_same_seed_gives_the_same_report() -> None:
    def run() -> SuiteReport:
        server = servers.Section4(village())
        return attack_all(case(server), target="again", only=("T02", "T06", "T11"))

    assert run() == run()


def test_an_unknown_attack_is_refused_with_the_known_ones() -> None:
    with pytest.raises(InputError, match="T99"):
        attack_all(case(servers.Bare(village())), target="", only=("T99",))


def test_progress_names_each_attack() -> None:
    heard: list[str] = []
    attack_all(case(servers.Bare(village())), target="", only=("T01", "T02"), on_progress=heard.append)
    assert [each[:3] for each in heard] == ["T02", "T01"]


def test_all_threats_of_the_catalogue_have_an_attack() -> None:
    wanted = {f"T{number:02}" for number in (*range(1, 25), 27)} - {"T16"}
    assert set(ATTACKS) == set(THREAT_BY_ID) == wanted
    assert LITTLE.seed == 1
