"""What `keep` brings to a front: tables from both ends, none of them beaten by `keep` itself, and a bound on what is possible."""

from __future__ import annotations

import numpy as np
import pytest

import statveil as sv
from statveil.core.errors import InputError
from statveil.jobs.tradeoff import run
from statveil.jobs.tradeoff.explore import Candidate, FrontPlan, LeastPossible, StageMessage
from statveil.jobs.tradeoff.free_programs import FreeFrontProgram
from statveil.jobs.tradeoff.front import DEFAULT, distortion_of
from statveil.jobs.tradeoff.page import front_json, key_figures, sentences, tradeoff_html
from statveil.jobs.tradeoff.seeds import SeedTable, _Seeds, explore_from_plain, least_distortion, polish_front, seed_front
from statveil.protect.keep.wishes import Keep, targets_of
from statveil.solve.processes import Halt
from tests.jobs.tradeoff.market_fronts import LIMITS, scripted
from tests.jobs.tradeoff.stories import market
from tests.reference.kept import safe_tables, small_random_table

PLAIN = sv.Limits(seconds=60)
S = "sensitive"


@pytest.fixture(scope="module")
def plain() -> np.ndarray:
    return np.asarray(sv.adjust(market(), limits=PLAIN).deviation)


@pytest.mark.slow
def test_tables_of_keep_are_safe_and_come_from_both_ends(plain: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a table that is too large for programs with free senses: else these find what `keep` would from the plain table."""
    monkeypatch.setattr(FreeFrontProgram, "suits", staticmethod(lambda _: False))
    problem, targets = market(), targets_of(DEFAULT, market())
    heard: list[Candidate | StageMessage | LeastPossible] = []
    for search in (seed_front, explore_from_plain):
        search(problem, targets, DEFAULT, plain, FrontPlan(points=2, seconds=600.0, seed=0), heard.append)
    tables = [each.deviation for each in heard if isinstance(each, Candidate)]
    assert tables
    assert all(problem.accepts(table) for table in tables)
    stages = [each.words for each in heard if isinstance(each, StageMessage)]
    assert stages[0] == "as near as can be"
    assert f"within {0.5 * _Seeds(problem, targets, DEFAULT, FrontPlan(2, 600.0, 0), heard.append).weigh(plain).distance:.3g}" in stages
    assert "least distortion" in stages
    assert "gap 1 of at most 2" in stages
    (possible,) = (each.distortion for each in heard if isinstance(each, LeastPossible))
    assert possible <= min(distortion_of(targets, table) for table in tables) < distortion_of(targets, plain)


def test_the_widest_hole_is_next() -> None:
    problem = market()
    seeds = _Seeds(problem, targets_of(DEFAULT, problem), DEFAULT, FrontPlan(points=5, seconds=600.0, seed=0), lambda _: None)
    table = np.zeros(problem.size, dtype=np.int64)
    seeds.tables = [SeedTable(table, *figures) for figures in ((0.5, 100.0, 1.0), (0.4, 110.0, 0.9), (0.1, 200.0, 0.2), (0.3, 300.0, 0.8))]
    hole = seeds.widest_hole()
    assert hole is not None
    assert [each.distance for each in hole] == [0.4, 0.1]
    seeds._asked = [0.2, 0.45]
    assert seeds.widest_hole() is None


@pytest.mark.parametrize("seed", range(3))
def test_no_table_distorts_less_than_what_is_said_to_be_possible(seed: int) -> None:
    problem = small_random_table(seed)
    targets = targets_of(DEFAULT, problem)
    least = min(distortion_of(targets, table) for table in safe_tables(problem)[::7])
    assert least_distortion(problem, targets, 300.0) <= least


def test_with_free_senses_the_ends_are_all_that_one_process_looks_for(plain: np.ndarray) -> None:
    problem, targets = market(), targets_of(DEFAULT, market())
    heard: list[Candidate | StageMessage | LeastPossible] = []
    explore_from_plain(problem, targets, DEFAULT, plain, FrontPlan(points=2, seconds=600.0, seed=0), heard.append)
    assert [each.words for each in heard if isinstance(each, StageMessage)] == ["least distortion"]
    tables = [each.deviation for each in heard if isinstance(each, Candidate)]
    assert all(problem.accepts(table) for table in tables)
    as_cheap = [table for table in tables if problem.cost(table) <= problem.cost(plain)]
    assert min(distortion_of(targets, table) for table in as_cheap) <= distortion_of(targets, plain)
    assert min(distortion_of(targets, table) for table in tables) < 0.5 * distortion_of(targets, plain)


def test_a_polished_front_is_nowhere_worse_and_somewhere_better(plain: np.ndarray) -> None:
    problem, targets = market(), targets_of(DEFAULT, market())
    cost, before = problem.cost(plain), distortion_of(targets, plain)
    heard: list[Candidate | StageMessage | LeastPossible] = []
    plan = FrontPlan(points=2, seconds=600.0, seed=0)
    polish_front(problem, targets, DEFAULT, [plain], [1.2 * cost, 1.5 * cost], 3, plan, heard.append)
    tables = [each.deviation for each in heard if isinstance(each, Candidate)]
    assert all(problem.accepts(table) for table in tables)
    for change in (1.2 * cost, 1.5 * cost):
        assert min(distortion_of(targets, table) for table in tables if problem.cost(table) <= change) < before


@pytest.mark.slow
def test_the_programs_of_keep_beat_no_point_of_a_front() -> None:
    problem = market()
    front = sv.keep.tradeoff(problem, points=6, limits=LIMITS)
    targets = targets_of(DEFAULT, problem)
    for within in (0.3, 0.15, 0.1):
        keep = Keep(mean=S, variance=S, correlation=S, slope=S, within=within, by="programs")
        kept = sv.adjust(problem, keep=keep, limits=LIMITS)
        change, distortion = kept.objective, distortion_of(targets, kept.deviation)
        assert not any(change < point.change and distortion < point.distortion for point in front.points)
    assert front.recommended is not None
    assert front.reached(front.points[0]) == 0
    shares = [front.reached(point) for point in front.points]
    assert shares == sorted(shares)
    assert shares[-1] <= 1


@pytest.mark.slow
def test_fewer_than_four_points_recommend_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The plain table and one other: whichever is taken, somebody must say so."""
    problem = market()
    other = np.asarray(sv.adjust(problem, keep=Keep(slope=S, by="programs"), limits=PLAIN).deviation)
    monkeypatch.setattr(run, "run_isolated", scripted(problem, [other], Halt.FINISHED))
    front = sv.keep.tradeoff(problem, limits=LIMITS)
    assert len(front.points) == 2
    assert front.recommended is None
    assert any("None is recommended: 2 points say too little" in sentence for sentence in sentences(front))
    assert key_figures(front)[0][:2] == ("Recommended", "none")
    assert '"recommended": null' in front_json(front)
    assert "recommended</td>" not in tradeoff_html(front, title="market")
    assert front.number_of(2) == 2
    with pytest.raises(InputError, match="No point of the trade-off is recommended: 2 were found"):
        front.number_of(None)
    with pytest.raises(InputError, match="There is no point 3"):
        front.number_of(3)
