"""Repairs: least, in order, listed, and never silent."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from statveil.audit.repairs import weakened
from statveil.audit.systems import audit_system
from statveil.core.errors import FormatError, InfeasibleProblem, InputError
from statveil.core.limits import Limits
from statveil.formats.rcta import MayGive, Relaxation, read_may_give, read_repairs, write_repairs
from statveil.protect.adjustment import Adjustment
from statveil.protect.infeasible.explain import Explanation
from statveil.protect.infeasible.repair import adjust_or_repair, relaxations_of
from statveil.protect.options import Repair
from statveil.protect.problem import ProtectionProblem
from statveil.protect.system import system_of
from tests.protect.overconstrained import overconstrained
from tests.protect.problems import problem_of

SHORT = Limits(seconds=60)


def story(**changes: object) -> ProtectionProblem:
    """30 = 20 + 10: 20 must move by 5; 30 may move by 1 and 10 by 2."""
    bounds = {"lower": np.array([29, 0, 8]), "upper": np.array([31, 100, 12])}
    return problem_of([30, 20, 10], [[-1, 1, 1]], levels={1: 5}, **{**bounds, **changes})


def repaired(problem: ProtectionProblem, repair: Repair | None = None, **options: object) -> Adjustment:
    return adjust_or_repair(problem, repair or Repair(), limits=SHORT, **options)  # type: ignore[arg-type]


def audited(problem: ProtectionProblem, found: Adjustment) -> bool:
    """By the independent audit, against the requirements that the list loosens."""
    released = problem.value + found.deviation
    return audit_system(system_of(problem), released, variant=problem.variant, repairs=found.relaxations).passed


@pytest.mark.slow
def test_a_table_that_needs_no_repair_gets_none() -> None:
    free = story(upper=np.array([99, 99, 99]))
    found = repaired(free)
    assert found.relaxations == ()
    assert free.accepts(found.deviation)


@pytest.mark.slow
def test_by_default_the_inner_cell_gives_two_and_the_margin_nothing() -> None:
    found = repaired(story())
    assert [(each.what, each.place, each.by) for each in found.relaxations] in ([("upper", 2, 2)], [("lower", 2, 2)])
    assert audited(story(), found)
    assert not weakened(found.relaxations)


@pytest.mark.slow
def test_in_another_order_the_margin_gives_instead() -> None:
    found = repaired(story(), Repair(order=("margins", "inner")))
    assert [(each.place, each.by) for each in found.relaxations] == [(0, 2)]
    assert audited(story(), found)


@pytest.mark.slow
def test_relations_alone_are_off_by_what_is_missing() -> None:
    found = repaired(story(), Repair(order=("relations",)))
    assert [(each.what, abs(each.by)) for each in found.relaxations] == [("relation", 2)]
    assert audited(story(), found)


@pytest.mark.slow
def test_protection_gives_only_with_the_flag_and_never_all_of_it() -> None:
    for refused in ({"order": ("protection",)}, {"order": ("inner",), "weaken_protection": True}):
        with pytest.raises(InputError, match="Protection gives only"):
            Repair(**refused)  # type: ignore[arg-type]
    flagged = Repair(order=("protection",), weaken_protection=True)
    found = repaired(story(), flagged)
    assert [(each.what[:10], each.place, each.by) for each in found.relaxations] == [("protection", 1, 2)]
    assert weakened(found.relaxations)
    assert audited(story(), found)
    stuck = story(lower=np.array([30, 0, 10]), upper=np.array([30, 100, 10]))
    with pytest.raises(InfeasibleProblem, match="No repair in the order protection"):
        repaired(stuck, flagged)


@pytest.mark.slow
def test_the_cap_gives_first_and_further_than_exactly_the_level() -> None:
    """20 and 30 must move by exactly 4 and 7 within a fixed total: 4 goes on to 7."""
    exact = problem_of([50, 20, 30], [[-1, 1, 1]], levels={1: 4, 2: 7}, variant="exact", lower=np.array([50, 0, 0]))
    exact = dataclasses.replace(exact, upper=np.array([50, 99, 99]))
    found = repaired(exact)
    assert found.relaxations == (Relaxation("overshoot", 1, 3),)
    assert audited(exact, found)


@pytest.mark.slow
def test_cells_that_may_not_move_do_not_give_unless_named_and_signs_stay() -> None:
    frozen = story(lower=np.array([30, 0, 10]), upper=np.array([30, 100, 10]))
    with pytest.raises(InfeasibleProblem, match="No repair in the order") as failure:
        repaired(frozen, Repair(order=("cap", "inner", "margins")))
    assert isinstance(failure.value.explanation, Explanation)
    found = repaired(frozen, Repair(may_give=MayGive(upper=frozenset([2]))))
    assert found.relaxations == (Relaxation("upper", 2, 5),)
    small = problem_of([3, 1, 2], [[-1, 1, 1]], levels={1: (1, 40)}, lower=np.array([3, 1, 1]), upper=np.array([3, 99, 2]))
    found = repaired(small)
    assert (small.value + found.deviation >= 0).all()
    assert audited(small, found)


@pytest.mark.slow
def test_only_what_is_named_gives() -> None:
    found = repaired(story(), Repair(may_give=MayGive(relations=frozenset([0]))))
    assert [each.what for each in found.relaxations] == ["relation"]
    with pytest.raises(InfeasibleProblem):
        repaired(story(), Repair(may_give=MayGive()))


@pytest.mark.slow
def test_fixed_senses_are_kept_in_the_repair() -> None:
    for sense in (1, -1):
        found = repaired(story(), method="fixed", start=np.array([0, sense, 0]))
        assert np.sign(found.deviation[1]) == sense
        assert found.senses[1] == sense
        assert audited(story(), found)


def test_orders_are_checked() -> None:
    for order in ((), ("inner", "inner")):
        with pytest.raises(InputError, match="each class once"):
            Repair(order=order)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="Known: cap"):
        Repair(order=("bounds",))  # type: ignore[arg-type]
    with pytest.raises(InputError, match="MayGive"):
        Repair(may_give="file")  # type: ignore[arg-type]


def test_what_a_table_breaks_is_worked_out_from_the_table() -> None:
    broken = relaxations_of(story(), np.array([2, 3, -4]))
    assert broken == [
        Relaxation("upper", 0, 1),
        Relaxation("lower", 2, 2),
        Relaxation("protection-up", 1, 2),
        Relaxation("relation", 0, -3),
    ]


def ends_well(seed: int, largest: int, *, method: str = "exact") -> str:
    """A random table that asks too much: audited with a listed repair, or explained by a minimal clash."""
    problem = overconstrained(seed, largest=largest)
    order = (("cap", "inner", "margins", "relations"), ("cap", "inner"), ("inner", "margins", "cap"))[seed % 3]
    found: Adjustment | InfeasibleProblem
    try:
        found = adjust_or_repair(problem, Repair(order=order), method=method, limits=SHORT)  # type: ignore[arg-type]
    except InfeasibleProblem as failure:
        found = failure
    if isinstance(found, InfeasibleProblem):
        assert isinstance(found.explanation, Explanation)
        assert found.explanation.minimal
        return "explained"
    released = problem.value + found.deviation
    assert audited(problem, found)
    assert (found.relaxations == ()) == problem.accepts(found.deviation)
    assert not any(each.what.startswith("protection") for each in found.relaxations)
    assert released.dtype == np.int64
    return "repaired" if found.relaxations else "safe"


@pytest.mark.slow
def test_tables_that_ask_too_much_all_end_well() -> None:
    endings = [ends_well(seed, 3) for seed in range(20)]
    assert endings.count("repaired") >= 5
    assert endings.count("explained") >= 2


def test_a_repair_file_of_rcta_is_read(tmp_path: Path) -> None:
    file = tmp_path / "may.rep"
    file.write_text("1\n0\n2\n1 2\n0\n")
    assert read_may_give(file, cells=3, relations=1) == MayGive(relations=frozenset([0]), upper=frozenset([1, 2]))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "number of relations is missing"),
        ("1 0 1", "list of cells is too short"),
        ("1 0 1 x 0", "list of cells is too short"),
        ("1 1 0 0", "relations names one that does not exist"),
        ("0 1 3 0", "cells names one that does not exist"),
        ("0 0 0 0", "goes on after"),
        ("-1", "number of relations is missing"),
    ],
)
def test_a_wrong_repair_file_is_refused(tmp_path: Path, text: str, words: str) -> None:
    file = tmp_path / "may.rep"
    file.write_text(text)
    with pytest.raises(FormatError, match=words):
        read_may_give(file, cells=3, relations=1)
    file.write_bytes(b"\xff\xfe1")
    with pytest.raises(FormatError, match="not a text file"):
        read_may_give(file, cells=3, relations=1)


def test_the_list_of_repairs_comes_back_from_its_file(tmp_path: Path) -> None:
    given = (Relaxation("upper", 2, 250), Relaxation("relation", 0, -1))
    file = tmp_path / "list.json"
    write_repairs(given, ("inner", "relations"), file, decimals=2)
    assert '"2.50"' in file.read_text()
    assert read_repairs(file, decimals=2) == given
    for wrong in (
        "{}",
        "[",
        '{"repairs": [{"what": "zeros", "place": 0, "by": "1"}]}',
        '{"repairs": [{"what": "upper", "place": 0, "by": "0.5"}]}',
    ):
        file.write_text(wrong)
        with pytest.raises(FormatError, match="not a list of repairs"):
            read_repairs(file, decimals=0)
