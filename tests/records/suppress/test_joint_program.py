"""Records tied to each other by caps, households and recounts, or of different cost: brute force over every way to blank small files."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import statveil as sv
from statveil.data.readers import read_microdata
from statveil.records.coding import code_file
from statveil.records.risk import classes_before
from statveil.records.suppress import joint_program
from statveil.records.suppress import suppress as suppress_module
from tests.records.stories import random_records
from tests.records.suppress.capped import AT_HOME, COSTS, ONE_AWAY, as_data, small_file, wanted
from tests.reference.files import Record, least_costs, tables_up_to

TABLES = tables_up_to(2, 2, 2)


def claimed_and_least(
    rows: list[Record], cost: list[float], homes: list[str], *, living: bool, caps: dict[str, int], **settings: Any
) -> tuple[float, float]:
    """The cost that is claimed to be the least, infinite where nothing is said to exist; and the least of all that there is."""
    house = {"household": "home", "shared": ["a"]} if living else {}
    least, _ = least_costs(
        rows, TABLES, settings["rule"], list(COSTS.values()), [0.0, 0.0], mass=cost if "record_cost" in settings else None,
        caps={"ab".index(name): cap for name, cap in caps.items()}, homes=homes if living else None, shared=(0,),
    )  # fmt: skip
    try:
        found = sv.recode.suppress(as_data(rows, cost, homes), wanted(caps=caps, **house, **settings))
    except sv.InfeasibleProblem:
        return float("inf"), least
    assert found.bound <= least + 1e-6
    assert str(found.ending) == "optimal"
    return found.cost, least


@pytest.mark.slow
@pytest.mark.parametrize("rule", ["original", "recount", "wildcard"])
@pytest.mark.parametrize("seed", range(5))
def test_records_of_one_key_that_cost_differently_are_told_apart(rule: Any, seed: int) -> None:
    claimed, least = claimed_and_least(*small_file(seed), living=False, caps={}, rule=rule, record_cost="cost")
    assert claimed == pytest.approx(least)


@pytest.mark.slow
@pytest.mark.parametrize("rule", ["original", "recount"])
@pytest.mark.parametrize("living", [False, True])
@pytest.mark.parametrize("seed", range(8))
def test_caps_households_and_record_costs_are_solved_to_the_optimum(rule: Any, living: bool, seed: int) -> None:
    cap = {"ab"[seed % 2]: seed % 3} if seed % 4 or not living else {}
    file = small_file(seed, missing=0.15 if seed % 2 else 0.0)
    claimed, least = claimed_and_least(*file, living=living, caps=cap, rule=rule, record_cost="cost")
    assert claimed == pytest.approx(least)


@pytest.mark.slow
@pytest.mark.parametrize(("letters", "homes", "caps"), [ONE_AWAY, AT_HOME, (ONE_AWAY[0], None, {"a": 0, "b": 1})])
def test_a_recount_under_caps_is_impossible_only_where_nothing_exists(letters: list[str], homes: Any, caps: dict[str, int]) -> None:
    rows: list[Record] = [tuple(each) for each in letters]
    claimed, least = claimed_and_least(rows, [1.0] * 6, homes or ["1"] * 6, living=homes is not None, caps=caps, rule="recount")
    assert claimed == pytest.approx(least)


@pytest.mark.slow
@pytest.mark.parametrize("cap", [40, 3, 2])
def test_where_the_program_grows_too_large_dearer_blanks_keep_the_caps(cap: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """It ended in OutOfTime where rounds of more blanks used up the caps; without caps the best takes 4 of field a."""
    rows = random_records(3, records=40, sizes=(5, 4))
    data = as_data(rows, [1.0] * 40, ["1"] * 40)
    keys = sv.KeyVariables(fields={"a": None, "b": None}, threshold=3, order=2, rule="recount", caps={"a": cap})
    best = sv.recode.suppress(data, keys)
    assert best.ending.value == "optimal"
    monkeypatch.setattr(joint_program, "TUNING", joint_program.TUNING._replace(most_columns=0))
    found = sv.recode.suppress(data, keys)
    assert found.blanks["a"] <= cap
    assert found.bound <= best.cost <= found.cost
    assert released_safely(found)


def test_prices_prove_that_nothing_keeps_the_caps(monkeypatch: pytest.MonkeyPatch) -> None:
    """One of two who stand alone must hide a field, and none may."""
    monkeypatch.setattr(suppress_module, "solve_jointly", lambda *_, **__: None)
    keys = sv.KeyVariables(fields={"a": None, "b": None}, threshold=2, order=2, rule="recount", caps={"a": 0, "b": 0})
    with pytest.raises(sv.InfeasibleProblem):
        sv.recode.suppress(as_data([("x", "p"), ("x", "p"), ("y", "q"), ("y", "p")], [1.0] * 4, ["1"] * 4), keys)


def released_safely(found: Any) -> bool:
    """Counted again by the problem's own tables."""
    problem = found.problem
    return not problem.patterns(problem.blanked(found.key, found.mask), found.records).any()


@pytest.mark.slow
def test_what_is_missing_needs_no_blank_and_no_room_under_a_cap() -> None:
    """The other member's town is unknown anyway: one blank is enough, and the cap allows one."""
    rows: list[Record] = [("x", "p"), (None, "p"), ("y", "p"), ("y", "p")]
    data = as_data(rows, [1.0] * 4, ["1", "1", "2", "3"])
    for caps in ({}, {"a": 1}):
        found = sv.recode.suppress(data, wanted(household="home", shared=["a"], caps=caps, rule="recount"))
        assert (found.blanks, found.cost, found.bound) == ({"a": 1, "b": 0}, 1.0, 1.0)


def test_a_key_that_is_told_apart_by_its_costs_is_one_class_of_the_report() -> None:
    rows, cost, homes = [("x", "p")] * 3 + [("y", "p")] * 2, [1.0, 2.0, 9.0, 1.0, 1.0], ["1"] * 5
    coded = code_file(as_data(rows, cost, homes), wanted(rule="recount", record_cost="cost"))
    assert coded.count.tolist() == [1, 1, 1, 2]
    assert classes_before(coded).count.tolist() == [3, 2]
    assert sv.find_unsafe(as_data(rows, cost, homes), wanted(rule="recount", record_cost="cost")).problem.coded.count.tolist() == [3, 2]


@pytest.mark.slow
def test_a_solver_that_leaves_a_cell_short_again_is_not_asked_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joint_program.DoubtfulCells, "enter", lambda *_: 1)
    data = as_data([("x", "p")] * 3 + [("y", "p")], [1.0] * 4, ["1"] * 4)
    assert sv.recode.suppress(data, wanted(rule="recount", caps={"a": 4})).blanks == {"a": 1, "b": 0}


@pytest.mark.slow
@pytest.mark.parametrize("settings", [{}, {"caps": {"a": 6}}, {"household": "home", "shared": ["a"]}, {"candidates": 3}])
@pytest.mark.parametrize("seed", range(3))
def test_records_of_one_key_that_weigh_differently_are_told_apart(settings: dict[str, Any], seed: int, tmp_path: Any) -> None:
    """The audit recounts the weights of the written file."""
    rng = np.random.default_rng(seed)
    rows = random_records(seed, records=60, sizes=(5, 4))
    data = as_data(rows, [float(each) for each in rng.integers(0, 40, 60)], [f"h{each}" for each in rng.integers(0, 25, 60)])
    fields: dict[str, None] = {"a": None, "b": None}
    keys = sv.KeyVariables(fields=fields, threshold=60, order=2, counting="weights", weight="cost", rule="recount", **settings)
    assert sv.apply_plan(data, sv.plan_recoding(data, keys), tmp_path / "safe.csv").unsafe["recount"] == 0


@pytest.mark.slow
def test_the_written_file_costs_what_the_plan_says(tmp_path: Any) -> None:
    """The dear one of two equal records keeps what the cheap one loses."""
    rows: list[Record] = [("x", "p"), ("x", "p"), *[("x", "q")] * 3, *[("z", "p")] * 3]
    data = as_data(rows, [1.0, 9.0, *[1.0] * 6], [str(each) for each in range(8)])
    for house in ({}, {"household": "home", "shared": ["a"]}):
        keys = sv.KeyVariables(fields={"a": None, "b": None}, threshold=3, order=2, record_cost="cost", costs={"a": 1.0, "b": 2.0},
                               caps={"a": 1}, **house)  # fmt: skip
        plan = sv.plan_recoding(data, keys)
        assert (plan.suppression.cost, plan.suppression.bound) == (11.0, 11.0)
        target = tmp_path / f"safe{len(house)}.parquet"
        sv.apply_plan(data, plan, target)
        with read_microdata(target).engine.session() as session:
            written = session.query("SELECT sum(c2) AS n FROM records WHERE c0 IS NULL").to_pylist()
        assert written == [{"n": 9.0}]
