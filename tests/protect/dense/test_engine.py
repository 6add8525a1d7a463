"""Method `dense` on small full tables: whole, safe, additive, with a certificate that the checker accepts, never above the optimum."""

from __future__ import annotations

import importlib.util
from typing import Any

import numpy as np
import pytest

from statveil.audit.certificate_checker import check_bound
from statveil.core.errors import InputError, OutOfTime
from statveil.core.limits import Ending, Limits, Progress
from statveil.protect.adjust import adjust_problem
from statveil.protect.adjustment import Adjustment
from statveil.protect.dense import engine, search
from statveil.protect.options import NO_LIMIT
from statveil.protect.problem import ProtectionProblem
from tests.protect.dense.full_tables import full_problem, in_another_order

QUICK: dict[str, Any] = {"tries": 2, "sweeps": 20, "device": "cpu"}


@pytest.fixture(autouse=True)
def quick_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few steps: these tables are small, and what is found must hold however early it ends."""
    monkeypatch.setattr(search, "TUNING", search.TUNING._replace(most_amount_steps=600, most_bound_steps=500))


def adjusted(problem: ProtectionProblem, *, seed: int = 0, **settings: Any) -> Adjustment:
    return adjust_problem(problem, method="dense", settings=QUICK | settings, limits=Limits(seconds=60), seed=seed)


@pytest.mark.parametrize("shape", [(4, 5), (3, 4, 3), (2, 3, 2, 3)])
@pytest.mark.parametrize("change", ["none", "shuffled", "exact", "inverse"])
def test_the_table_is_safe_and_its_bound_certified(shape: tuple[int, ...], change: str) -> None:
    problem = full_problem(shape, seed=len(shape))
    if change == "exact":
        problem = full_problem(shape, seed=len(shape), variant="exact")
    if change == "inverse":
        problem = full_problem(shape, seed=len(shape), weight=1.0 / problem.value)
    if change == "shuffled":
        problem, _ = in_another_order(problem, seed=7)
    found = adjusted(problem)
    assert problem.accepts(found.deviation)
    assert found.objective == pytest.approx(problem.cost(found.deviation))
    assert found.certificate is not None
    assert found.bound_by == "cuts"
    floor = problem.cost(np.where(problem.sensitive, problem.lower_level, 0))
    assert floor <= found.certified_bound <= found.objective
    assert float(check_bound(problem, found.certificate)) >= found.certified_bound
    assert found.objective < 0.9 * problem.cost(all_up(problem))


def all_up(problem: ProtectionProblem) -> np.ndarray:
    """Every sensitive cell up by its level, and all totals with it."""
    found = engine.table_of(problem)
    assert not isinstance(found, str)
    layout, table = found
    return engine._deviation(layout, np.where(table.sensitive, table.up, 0))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_the_bound_is_never_above_the_optimum_nor_the_table_below(seed: int) -> None:
    shape = [(3, 3), (2, 3, 2), (4, 3), (2, 2, 2, 2)][seed]
    problem = full_problem(shape, seed=seed, variant="exact" if seed == 2 else "at-least")
    best = adjust_problem(problem, method="exact", limits=Limits(seconds=60))
    assert best.ending is Ending.OPTIMAL
    found = adjusted(problem)
    assert found.certified_bound <= best.objective <= found.objective
    assert found.objective <= 1.4 * best.objective


def test_a_cell_that_cannot_fall_rises() -> None:
    problem = full_problem((3, 3), seed=1, share=0.0)
    level = np.where(problem.sensitive, problem.value + 3, 0)
    problem = full_problem((3, 3), seed=1, share=0.0, lower_level=level, upper_level=np.where(problem.sensitive, 4, 0))
    found = adjusted(problem)
    assert found.senses[problem.sensitive].tolist() == [1]
    assert found.deviation[problem.sensitive].tolist() == [4]


def test_a_single_sensitive_cell_costs_its_box() -> None:
    """2 x 2 with one cell of level 6: four cells move by 6, whichever; table and bound meet at 24."""
    problem = full_problem((2, 2), share=0.0)
    level = np.where(problem.sensitive, 6, 0)
    problem = full_problem(
        (2, 2), share=0.0, lower_level=level, upper_level=level, value=np.array([50, 60, 110, 70, 80, 150, 120, 140, 260])
    )
    found = adjust_problem(problem, method="dense", settings={"device": "cpu"}, limits=Limits(seconds=60))
    assert found.objective == 24
    assert 23 <= found.certified_bound <= 24


def test_what_it_cannot_take_is_refused_in_words() -> None:
    plain = full_problem((3, 3))
    total = np.array(plain.sensitive)
    total[-1] = True
    shut = np.array(plain.upper)
    shut[-1] = plain.value[-1] + 1
    raised = np.array(plain.value)
    raised[0] += 1
    cases = {
        "squares": full_problem((3, 3), norm="l2"),
        "No total": full_problem((3, 3), sensitive=total, lower_level=plain.lower_level + total, upper_level=plain.upper_level + total),
        "bounds of totals": full_problem((3, 3), upper=shut),
        "must add up": full_problem((3, 3), value=raised),
        "allow every cell its value": full_problem((3, 3), lower=plain.value + 1),
        "no way to go": full_problem((3, 3), lower=plain.value - 0, upper=plain.value + 0),
        "all codes": ProtectionProblem(
            relations=plain.relations[1:], rhs=plain.rhs[1:], **{name: getattr(plain, name) for name in
            ("value", "weight", "lower", "upper", "sensitive", "lower_level", "upper_level")}
        ),
    }  # fmt: skip
    for words, problem in cases.items():
        with pytest.raises(InputError, match=words):
            adjusted(problem)


def test_bounds_of_totals_that_follow_from_the_parts_are_no_obstacle() -> None:
    plain = full_problem((3, 3))
    assert not isinstance(engine.table_of(full_problem((3, 3), upper=2 * plain.value)), str)
    assert not isinstance(engine.table_of(full_problem((3, 3), lower=np.full(plain.size, -NO_LIMIT))), str)


def test_auto_takes_it_for_large_full_tables_where_a_gpu_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    from statveil.protect import adjust

    plain = full_problem((3, 3))
    assert not adjust._is_dense(plain, "auto", {})  # too small
    monkeypatch.setattr(adjust, "TUNING", adjust.TUNING._replace(dense_from=10))
    monkeypatch.setattr(engine, "has_gpu", lambda: False)
    assert not adjust._is_dense(plain, "auto", {})
    monkeypatch.setattr(engine, "has_gpu", lambda: True)
    assert adjust._is_dense(plain, "auto", {})
    assert not adjust._is_dense(full_problem((3, 3), norm="l2"), "auto", {})
    assert not adjust._is_dense(plain, "auto", {"role": "proof"})


def test_an_interrupted_search_answers_with_the_best_so_far() -> None:
    problem, heard = full_problem((4, 4)), list[Progress]()

    def interrupt(news: Progress) -> None:
        heard.append(news)
        if np.isfinite(news.objective):
            raise KeyboardInterrupt

    found = engine.adjust_dense(problem, settings=QUICK, limits=Limits(seconds=60), seed=0, on_progress=lambda news: None)
    with pytest.raises(KeyboardInterrupt):  # a second one, while the answer is put together
        engine.adjust_dense(problem, settings=QUICK, limits=Limits(seconds=60), seed=0, on_progress=interrupt)
    assert heard
    assert found.trace[0].objective >= found.trace[-1].objective == found.objective


def test_interrupted_before_any_table_there_is_no_answer() -> None:
    def interrupt(_: Progress) -> None:
        raise KeyboardInterrupt

    with pytest.raises(OutOfTime):
        engine.adjust_dense(full_problem((4, 4)), settings=QUICK, limits=Limits(seconds=60), seed=0, on_progress=interrupt)


def test_a_certificate_that_the_checker_refuses_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "TUNING", engine.TUNING._replace(most_certified=3))
    found = adjusted(full_problem((4, 4)))
    assert (found.certificate, found.certified_bound, found.bound_by) == (None, 0.0, "none")


def test_the_same_seed_finds_the_same_table() -> None:
    problem = full_problem((4, 3, 3), seed=2)
    one, other = adjusted(problem, seed=5), adjusted(problem, seed=5)
    assert (one.deviation == other.deviation).all()
    assert one.certified_bound == other.certified_bound


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is not installed: the extra gpu brings it")
@pytest.mark.parametrize("shape", [(6, 5), (5, 4, 6)])
def test_pytorch_finds_tables_and_bounds_of_the_same_kind(shape: tuple[int, ...]) -> None:
    problem = full_problem(shape, seed=3)
    ours, theirs = (adjusted(problem, device=device, tries=4) for device in ("cpu", "torch-cpu"))
    assert problem.accepts(theirs.deviation)
    assert theirs.objective == pytest.approx(ours.objective, rel=0.15)
    assert theirs.certified_bound == pytest.approx(ours.certified_bound, rel=0.02)
