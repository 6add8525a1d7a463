"""Blanks in rounds, where a program would be too large."""

from __future__ import annotations

from typing import Any

import pytest

import statveil as sv
from statveil.records.suppress import joint_program, recount
from statveil.records.suppress import suppress as suppress_module
from tests.records.suppress.capped import AT_HOME, ONE_AWAY, as_data, small_file, wanted
from tests.reference.files import Record, tables_up_to, unsafe


@pytest.mark.slow
@pytest.mark.parametrize("priced", [False, True])
def test_rounds_that_use_up_the_caps_prove_nothing(priced: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there are no households, prices are tried before them; a file may be too large for these as well."""
    letters, homes, caps = ONE_AWAY if priced else AT_HOME
    monkeypatch.setattr(joint_program, "TUNING", joint_program.TUNING._replace(most_columns=0))
    monkeypatch.setattr(suppress_module, "recount_exactly", lambda *_, **__: None)
    data = as_data([tuple(each) for each in letters], [1.0] * 6, homes or ["1"] * 6)
    keys = sv.KeyVariables(fields={"a": None, "b": None}, threshold=2, order=2, rule="recount", caps=caps,
                           **({"household": "home", "shared": ["a"]} if homes else {}))  # fmt: skip
    with pytest.raises(sv.OutOfTime, match="not proved"):
        sv.recode.suppress(data, keys)
    with pytest.raises(sv.OutOfTime, match="not proved"):
        sv.plan_recoding(data, keys)
    with pytest.raises(sv.OutOfTime, match="not proved"):
        sv.plan_recoding(data, keys, recoding={})


def test_too_many_ways_to_blank_are_refused_with_caps_and_left_to_rounds_without(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joint_program, "minimal_covers", lambda _sets: None)
    data = as_data([("x", "p"), ("y", "p"), ("y", "p")], [1.0] * 3, ["1", "2", "3"])
    with pytest.raises(sv.InputError, match="Too many ways"):
        sv.recode.suppress(data, wanted(caps={"a": 3}))
    assert sv.recode.suppress(data, wanted(rule="recount", household="home", shared=["a"])).blanks == {"a": 1, "b": 0}


@pytest.mark.slow
def test_a_file_with_too_many_cells_is_blanked_in_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recount, "TUNING", recount.TUNING._replace(most_cells=0))
    data = as_data([("x", "p"), ("y", "p"), ("y", "p")], [1.0] * 3, ["1", "2", "3"])
    assert sv.recode.suppress(data, wanted(rule="recount", caps={"a": 3})).blanks == {"a": 1, "b": 0}


@pytest.mark.slow
def test_time_that_ends_in_a_grown_program_leaves_it_to_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    solve = joint_program.JointProgram.solve

    def slow(self: joint_program.JointProgram, **settings: Any) -> Any:
        if self.doubts.members:
            raise sv.OutOfTime("The time limit came.")
        return solve(self, **settings)

    monkeypatch.setattr(joint_program.JointProgram, "solve", slow)
    rows: list[Record] = [("x", "p"), ("x", "q"), ("x", "p"), ("y", "p"), ("x", "q")]
    found = sv.recode.suppress(as_data(rows, [1.0] * 5, ["1"] * 5), wanted(rule="recount", caps={"a": 5}))
    assert found.cost >= found.bound
    monkeypatch.setattr(joint_program.JointProgram, "solve", lambda *_, **__: (_ for _ in ()).throw(sv.OutOfTime("The time limit came.")))
    assert sv.recode.suppress(as_data(rows, [1.0] * 5, ["1"] * 5), wanted(rule="recount", caps={"a": 5})).blanks["a"] <= 5
    with pytest.raises(sv.OutOfTime):
        sv.recode.suppress(as_data(rows, [1.0] * 5, ["1"] * 5), wanted(rule="original", caps={"a": 5}))


def test_rounds_without_caps_in_large_households(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suppress_module, "solve_jointly", lambda *_, **__: None)
    rows, cost, homes = small_file(3, records=30)
    fields = {"a": None, "b": None}
    keys = sv.KeyVariables(fields=fields, threshold=8, order=2, rule="recount", household="home", shared=["a"])
    found = sv.recode.suppress(as_data(rows, cost, homes), keys)
    whole: list[Record] = [tuple(str(code) for code in found.problem.coded.codes[:, key]) for key in found.key]
    blanked: list[Record] = [tuple(None if mask >> f & 1 else value for f, value in enumerate(record))
                             for record, mask in zip(whole, found.mask.tolist(), strict=True)]  # fmt: skip
    assert unsafe(whole, blanked, tables_up_to(2, 2, 8), "recount") == 0
