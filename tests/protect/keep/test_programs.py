"""The linear programs of S1: published optima, and small tables where every choice of senses is tried."""

from __future__ import annotations

import dataclasses
from itertools import product
from pathlib import Path

import numpy as np
import pytest

import statveil as sv
from statveil.protect.keep.problems import means_off, side_by_side
from statveil.protect.keep.programs import QualityProgram, _least_for_correlation
from statveil.protect.keep.result import changes_of
from statveil.protect.keep.tabu.objective import Pair, outcomes
from statveil.protect.keep.wishes import targets_of
from statveil_lab.generators.random_tables import protect_within, random_table
from tests.protect.keep.tables import cox_kelly, small_table

S = "sensitive"


@pytest.mark.shared
@pytest.mark.parametrize(
    ("wish", "slope"),
    [(sv.keep.Keep(mean=S, correlation=S), 1.2033), (sv.keep.Keep(mean=S, slope=S), 0.9292)],
    ids=["max L is 0.2033", "min |L| is 0.0708"],
)
def test_the_optima_of_cox_and_kelly(shared_data: Path, wish: sv.keep.Keep, slope: float) -> None:
    problem = cox_kelly(shared_data, zeros_free=True)
    targets = targets_of(wish, problem)
    program = QualityProgram(problem, targets, within=None)
    senses, impossible = program.free_senses(seconds=300)
    assert senses is not None
    assert not impossible
    answer = program.with_senses(senses, seconds=300)
    assert answer is not None
    assert problem.accepts(answer.deviation)
    assert means_off(answer.deviation, targets) == [0]
    found = outcomes(targets, answer.deviation)[0].slope - 1
    assert abs(found) == pytest.approx(abs(slope - 1), abs=5e-5)  # the mirror optimum has the same |L|


@pytest.mark.shared
def test_exact_levels_leave_no_mean_of_zero(shared_data: Path) -> None:
    problem = dataclasses.replace(sv.read_jj(shared_data / "csplib" / "cox_kelly_4x9.jj"), variant="exact")
    program = QualityProgram(problem, targets_of(sv.keep.Keep(mean=S), problem), within=None)
    assert program.free_senses(seconds=300) == (None, True)


def all_senses(problem: sv.ProtectionProblem) -> list[np.ndarray]:
    choice = np.flatnonzero(problem.sensitive)
    found = []
    for signs in product((1, -1), repeat=choice.size):
        senses = np.zeros(problem.size, dtype=np.int64)
        senses[choice] = signs
        found.append(senses)
    return found


def test_free_senses_are_the_best_of_all() -> None:
    problem = small_table()
    targets = targets_of(sv.keep.Keep(mean=S, slope=S), problem)
    program = QualityProgram(problem, targets, within=None)
    tried = [program.with_senses(senses, seconds=300) for senses in all_senses(problem)]
    best = min(abs(outcomes(targets, each.deviation)[0].slope - 1) for each in tried if each is not None)
    senses, _ = program.free_senses(seconds=300)
    assert senses is not None
    answer = program.with_senses(senses, seconds=300)
    assert answer is not None
    assert abs(outcomes(targets, answer.deviation)[0].slope - 1) == pytest.approx(best, abs=0.01)  # whole units are coarse here


def test_a_distance_asked_is_kept_with_the_least_change() -> None:
    """Scaled up a hundred times, so that whole units are fine: within 2% of one, and cheaper than as close as can be."""
    plain = small_table()
    big = {name: getattr(plain, name) * 100 for name in ("value", "rhs", "lower", "upper", "lower_level", "upper_level")}
    problem = dataclasses.replace(plain, **big)
    wish = sv.keep.Keep(slope=S, variance=S, within=0.02)
    targets = targets_of(wish, problem)
    found = []
    for senses in all_senses(problem):
        near, close = (QualityProgram(problem, targets, within=each).with_senses(senses, seconds=300) for each in (0.02, None))
        if near is not None and close is not None:
            outcome = outcomes(targets, near.deviation)[0]
            met = abs(outcome.slope - 1) <= 0.02 and abs(outcome.variance_ratio - 1) <= 0.02
            found.append(met)
            assert problem.accepts(near.deviation)
    assert any(found)


def test_the_mean_of_a_row_and_of_all_sensitive_cells_at_once() -> None:
    problem = small_table()
    targets = targets_of(sv.keep.Keep(mean=[S, "relation:0"]), problem)
    program = QualityProgram(problem, targets, within=None)
    senses, _ = program.free_senses(seconds=300)
    assert senses is not None
    answer = program.with_senses(senses, seconds=300)
    assert answer is not None
    assert means_off(answer.deviation, targets) == [0, 0]
    assert problem.accepts(answer.deviation)


def test_what_a_round_found_is_kept_when_the_next_one_finds_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """As when the time runs out in the middle of a later round."""
    problem = small_table()
    program = QualityProgram(problem, targets_of(sv.keep.Keep(mean=S, variance=S), problem), within=None)
    senses = next(each for each in all_senses(problem) if program.with_senses(each, seconds=300) is not None)
    once, rounds = QualityProgram._round, []

    def only_once(self: QualityProgram, *given: object, **named: object) -> object:
        rounds.append(named["again"])
        return None if named["again"] else once(self, *given, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(QualityProgram, "_round", only_once)
    monkeypatch.setattr(QualityProgram, "_settled", lambda *_: False)
    answer = program.with_senses(senses, seconds=300)
    assert rounds == [False, True]
    assert answer is not None
    assert problem.accepts(answer.deviation)


def test_products_of_deviations_that_moved_are_not_settled() -> None:
    """The second variable's deviations are those of the first: what was taken for no product is the whole variance of them."""
    problem = side_by_side([small_table(), small_table()])
    size = small_table().size
    (one,) = targets_of(sv.keep.Keep(slope="all"), small_table())
    targets = [one, dataclasses.replace(one, cells=one.cells + size)]
    program = QualityProgram(problem, targets, within=None, pairs=[Pair(0, 1)])
    same = np.tile(np.where(np.arange(size) % 2, 5.0, -5.0), 2)
    assert not program._settled(np.zeros(2 * size, dtype=np.int64), None, same)
    assert program._settled(np.zeros(2 * size, dtype=np.int64), same, same)


@pytest.mark.slow
def test_three_way_tables_of_more_than_fifty_thousand_cells_are_made_whole() -> None:
    """All values up by 7% is additive, but not whole in most cells, and an integer program over so many comes to nothing in its time."""
    table = protect_within(random_table((36, 36, 36), seed=1, sensitive=0.1, percent=5), percent=5)
    reach = table.value * 15 // 100
    problem = dataclasses.replace(table, lower=table.value - reach, upper=table.value + reach, variant="at-least")
    assert problem.size == 50_653
    program = QualityProgram(problem, targets_of(sv.keep.Keep(slope=S), problem), within=None)
    answer = program.whole(problem.sensitive.astype(np.int64), 0.07 * problem.value, seconds=300)
    assert answer is not None
    assert problem.accepts(answer.deviation)
    assert not program.not_whole
    assert np.abs(answer.deviation - 0.07 * problem.value).max() < 10


@pytest.mark.parametrize("wanted", [0.9, 0.995])
@pytest.mark.parametrize("spread", [0.0, 0.005, 0.02, 0.3])
def test_the_least_slope_for_a_correlation(wanted: float, spread: float) -> None:
    """Every L there can be (V is L squared or more), a thousandth apart."""
    least = _least_for_correlation(wanted, spread)
    linear = np.append(np.arange(-np.sqrt(spread), 3, 0.001), least if np.isfinite(least) else 0.0)
    correlation = (1 + linear) / np.sqrt(1 + 2 * linear + spread)
    assert (correlation[linear >= least] >= wanted - 1e-9).all()
    assert np.isinf(least) == bool((correlation >= wanted).all())
    assert np.isinf(least) or correlation[-1] == pytest.approx(wanted)


def test_relations_of_variables_are_linear_near_a_table() -> None:
    problem = side_by_side([small_table(), small_table()])
    (one,) = targets_of(sv.keep.Keep(variance="all"), small_table())
    value = one.value + np.arange(12) * 20.0
    targets = [one, dataclasses.replace(one, cells=one.cells + 12, value=value)]
    program = QualityProgram(problem, targets, within=0.1, pairs=[Pair(0, 1)])
    near = np.where(np.arange(24) % 3, 4, -9)
    bands = program.bands(None, near.astype(np.float64))[-3:]
    told = [abs(float(band.gradient @ near[band.cells] + band.shift)) for band in bands]
    assert told == pytest.approx(changes_of(Pair(0, 1), targets, near), abs=1e-3)


@pytest.mark.slow
@pytest.mark.shared
def test_the_least_change_of_cox_and_kelly_with_zeros_that_may_rise(shared_data: Path) -> None:
    found = sv.adjust(cox_kelly(shared_data, zeros_free=True), method="exact", limits=sv.Limits(seconds=300))
    assert found.objective == found.bound == 231350
