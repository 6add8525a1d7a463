"""The front: non-dominated, audited, repeatable, and sure of what it is told by nobody but itself."""

from __future__ import annotations

import dataclasses
import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import statveil as sv
from statveil.core.errors import AuditFailed, InputError
from statveil.core.statistics import statistics_of
from statveil.jobs.tradeoff import run
from statveil.jobs.tradeoff.front import DEFAULT, non_dominated
from statveil.jobs.tradeoff.programs import FrontProgram, least_moves
from statveil.protect.keep.wishes import Keep, targets_of
from statveil.protect.system import system_of
from statveil.solve.processes import Halt
from tests.jobs.tradeoff.market_fronts import LIMITS, scripted
from tests.jobs.tradeoff.stories import market


@pytest.mark.slow
def test_no_point_of_the_front_is_beaten(front: sv.keep.Tradeoff) -> None:
    change, distortion = [point.change for point in front.points], [point.distortion for point in front.points]
    assert len(front.points) >= 2
    assert non_dominated(change, distortion).tolist() == list(range(len(front.points)))
    assert change == sorted(change)
    assert distortion == sorted(distortion, reverse=True)
    assert front.recommended is front.points[front.knee]


def test_every_point_is_audited_and_is_what_it_says(front: sv.keep.Tradeoff) -> None:
    problem = market()
    for point in (*front.points, *front.tighter):
        released = problem.value + point.deviation
        assert point.audit.passed
        assert sv.systems.audit_system(system_of(problem), released).passed
        assert point.change == problem.cost(point.deviation)
        found, [told] = statistics_of(problem.value, released, subset=problem.sensitive), point.outcomes
        assert (told.correlation, told.slope, told.variance_ratio) == pytest.approx((found.correlation, found.slope, found.variance_ratio))
        assert told.mean_off == int(point.deviation[problem.sensitive].sum())


def test_tables_beside_the_front_need_smaller_caps(front: sv.keep.Tradeoff) -> None:
    for beside in front.tighter:
        for point in front.points:
            as_good = point.change <= beside.change and point.distortion <= beside.distortion
            assert not as_good or beside.cap < point.cap or beside.percent < point.percent


def test_the_front_starts_at_the_least_change(front: sv.keep.Tradeoff) -> None:
    assert front.points[0].change <= front.plain.objective
    assert front.points[-1].distortion < 0.7 * front.points[0].distortion


@pytest.mark.slow
def test_the_same_seed_gives_the_same_front(front: sv.keep.Tradeoff) -> None:
    again = sv.keep.tradeoff(market(), points=3, limits=LIMITS)
    assert front.complete
    assert again.complete
    for one, other in zip(front.points, again.points, strict=True):
        assert np.array_equal(one.deviation, other.deviation)


@pytest.mark.slow
def test_a_table_that_fails_its_audit_stops_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    class Yes(sv.ProtectionProblem):
        def accepts(self, deviation: Any) -> bool:
            return True

    problem = market()
    fields = {field.name: getattr(problem, field.name) for field in dataclasses.fields(problem)}
    monkeypatch.setattr(run, "run_isolated", scripted(problem, [np.zeros(problem.size, dtype=np.int64)], Halt.FINISHED))
    with pytest.raises(AuditFailed, match="nothing is shown"):
        sv.keep.tradeoff(Yes(**fields), limits=LIMITS)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"within": 0.1}, "no use for 'within'"),
        ({"senses": "fixed"}, "no use for 'senses'"),
        ({"by": "tabu"}, "no use for 'by'"),
        ({"coefficients": sv.keep.Coefficients(slope=1.0)}, "no use for 'coefficients'"),
        ({"widen": (1.5, 2)}, "no use for 'widen'"),
        ({"measures": ["gini"]}, "mean, variance, correlation and slope"),
    ],
)
def test_what_a_front_has_no_use_for_is_refused(change: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        sv.keep.tradeoff(market(), keep=Keep(slope="sensitive", **change))


def test_squares_have_no_front() -> None:
    with pytest.raises(InputError, match="sums of absolute changes"):
        sv.keep.tradeoff(dataclasses.replace(market(), norm="l2"))


@pytest.mark.parametrize("points", [0, 201, 2.5, True])
def test_an_impossible_number_of_points_is_refused(points: Any) -> None:
    with pytest.raises(InputError, match="from 1 to 200"):
        sv.keep.tradeoff(market(), points=points)


@pytest.mark.slow
@pytest.mark.shared
def test_the_front_of_s1s_table_reaches_the_least_distortion_of_all_senses(shared_data: Path) -> None:
    """4 x 9 cells, seven of them sensitive: all 128 choices of senses are tried one by one."""
    problem = sv.read_jj(shared_data / "csplib" / "cox_kelly_4x9.jj", weights="unit")
    found = sv.keep.tradeoff(problem, points=6, limits=LIMITS)
    assert found.points[0].change == 249250
    assert found.points[-1].distortion <= 1.05 * least_of_all_senses(problem, 3 * 249250)


def least_of_all_senses(problem: sv.ProtectionProblem, change: float) -> float:
    targets, cells, least = targets_of(DEFAULT, problem), np.flatnonzero(problem.sensitive), np.inf
    for choice in itertools.product((-1, 1), repeat=cells.size):
        senses = np.zeros(problem.size, dtype=np.int64)
        senses[cells] = choice
        program, near = FrontProgram(problem, targets, senses), least_moves(problem, senses)
        for _ in range(3):
            point = program.least_distortion(near, change, seconds=300)
            if point is None:
                break
            least, near = min(least, point.distortion), point.deviation
    return least
