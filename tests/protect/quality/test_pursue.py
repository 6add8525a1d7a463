"""From a problem and wishes to a verified table, or to an error that names the wish."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

import statveil as sv
from statveil.errors import InfeasibleProblem, InputError
from statveil.protect.quality.pursue import adjust_keeping
from statveil.protect.quality.widen import with_cap
from tests.protect.quality.tables import small_table

S = "sensitive"
QUICK = sv.Limits(seconds=15)


def test_the_mean_is_kept_to_the_unit() -> None:
    problem = small_table()
    found = sv.adjust(problem, keep=sv.Keep(mean=S, by="programs"), limits=QUICK)
    assert problem.accepts(found.deviation)
    assert found.deviation[problem.sensitive].sum() == 0
    assert found.quality is not None
    assert found.quality.kept[0].mean_off == 0
    assert found.quality.price >= 0
    assert "mean kept exactly" in found.quality.in_words()[0]


def test_keeping_is_no_worse_than_the_plain_table_in_what_is_kept() -> None:
    problem = small_table()
    found = sv.adjust(problem, keep=sv.Keep(slope=S), limits=sv.Limits(seconds=6), seed=1)
    assert found.quality is not None
    (plain,), (kept,) = found.quality.plain, found.quality.kept
    assert abs(kept.slope - 1) <= abs(plain.slope - 1)
    assert found.objective >= found.quality.plain_objective
    assert found.bound <= found.quality.plain_objective


@pytest.mark.shared
def test_a_mean_that_cannot_be_kept_is_named_with_what_to_widen(shared_data: Path) -> None:
    problem = dataclasses.replace(sv.read_jj(shared_data / "csplib" / "cox_kelly_4x9.jj"), variant="exact")
    with pytest.raises(InfeasibleProblem, match="mean of the sensitive cells cannot be kept") as failure:
        sv.adjust(problem, keep=sv.Keep(mean=S), method="exact", limits=sv.Limits(seconds=20))
    assert "further than exactly their levels" in failure.value.hint


@pytest.mark.shared
def test_caps_are_widened_step_by_step_and_that_is_said(shared_data: Path) -> None:
    problem = dataclasses.replace(sv.read_jj(shared_data / "csplib" / "cox_kelly_4x9.jj"), variant="exact")
    keep = sv.Keep(mean=S, widen=(1.5, 2), by="programs")
    found = sv.adjust(problem, keep=keep, method="exact", limits=sv.Limits(seconds=30))
    assert found.quality is not None
    assert found.quality.cap == 1.5
    assert any("1.5 times their level" in line for line in found.quality.in_words())
    assert with_cap(problem, 1.5).accepts(found.deviation)
    assert (np.abs(found.deviation) <= np.maximum(problem.upper_level * 3 // 2, 0))[problem.sensitive].all()


def test_a_slope_out_of_reach_is_named() -> None:
    """Levels of half the value and bounds at the levels: each of the eight choices of senses leaves the slope far from one."""
    problem = small_table(lower_level=small_table().lower_level)
    value = problem.value
    narrow = dataclasses.replace(
        problem,
        lower=np.where(problem.sensitive, value - problem.lower_level, value - value // 2),
        upper=np.where(problem.sensitive, value + problem.upper_level, value + value // 2),
    )
    with pytest.raises(InfeasibleProblem, match="slope of the sensitive cells cannot be kept"):
        sv.adjust(narrow, keep=sv.Keep(slope=S, within=0.001), limits=QUICK)


def test_wider_caps_keep_levels_and_signs() -> None:
    problem = small_table(variant="exact")
    assert with_cap(problem, 3).lower[0] == 100 - 30
    assert with_cap(small_table(), 3).lower[0] == 100 - 50  # its bounds let it fall by half already
    narrow = small_table(variant="exact", lower=np.zeros(12, dtype=np.int64) + small_table().value, upper=small_table().value)
    wide = with_cap(narrow, 3)
    assert (wide.lower[0], wide.upper[0]) == (70, 130)
    assert (wide.lower_level == narrow.lower_level).all()
    assert wide.lower[1] == narrow.lower[1]
    assert with_cap(narrow, 20).lower[4] == 1


def test_a_search_starts_from_any_safe_table_and_refuses_others() -> None:
    problem = small_table()
    plain = sv.adjust(problem, limits=QUICK)
    found = adjust_keeping(problem, sv.Keep(slope=S, by="tabu"), limits=sv.Limits(seconds=2), table=plain.deviation)
    assert problem.accepts(found.deviation)
    with pytest.raises(InputError, match="not a safe table"):
        adjust_keeping(problem, sv.Keep(slope=S), limits=QUICK, table=np.zeros(12, dtype=np.int64))


def test_a_function_of_the_users_own_is_kept() -> None:
    def largest_moves(true: np.ndarray, released: np.ndarray) -> float:
        return abs(float(released[4] - true[4])) / 100

    problem = small_table()
    found = sv.adjust(problem, keep=sv.Keep(measures=[largest_moves]), limits=sv.Limits(seconds=4))
    assert found.quality is not None
    ((name, plain, kept),) = found.quality.measures
    assert name == "largest_moves"
    assert kept <= plain
    assert problem.accepts(found.deviation)
