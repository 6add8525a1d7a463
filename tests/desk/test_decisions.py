"""Decisions on cells: a list for each state of the job, with reasons beside it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from statveil.core.errors import InputError
from statveil.desk.decisions import Decision, as_tables_are_called, decisions_of, with_decision, without_decision
from statveil.desk.project import Project

NORTH, SOUTH = {"region": "N"}, {"region": "S"}
JOB: dict[str, Any] = {"rule": [{"type": "p-percent", "p": 10}]}


def word(cell: dict[str, str], status: str, reason: str = "known to all") -> Decision:
    return Decision(cell, "table", status, "Ada", reason)


def lines(project: Project, content: dict[str, Any]) -> list[str]:
    return (project.folder / content["rule"][-1]["file"]).read_text().splitlines()


def test_a_decision_becomes_a_rule_of_the_job_and_its_reason_is_found_again(tmp_path: Path) -> None:
    project = Project(tmp_path)
    content = with_decision(project, JOB, word(NORTH, "safe"))
    assert [rule["type"] for rule in content["rule"]] == ["p-percent", "manual"]
    assert lines(project, content) == ["region,status", "N,safe"]
    assert decisions_of(project, content) == [word(NORTH, "safe")]


def test_a_waiver_is_two_lines(tmp_path: Path) -> None:
    project = Project(tmp_path)
    assert lines(project, with_decision(project, JOB, word(NORTH, "waived"))) == ["region,status", "N,safe", "N,frozen"]


def test_a_later_word_on_a_cell_replaces_the_earlier_one_and_both_lists_stay_on_disk(tmp_path: Path) -> None:
    project = Project(tmp_path)
    first = with_decision(project, JOB, word(NORTH, "safe"))
    second = with_decision(project, first, word(NORTH, "sensitive"))
    assert [each.status for each in decisions_of(project, second)] == ["sensitive"]
    assert [each.status for each in decisions_of(project, first)] == ["safe"]  # undo brings the earlier job back


def test_taken_back_nothing_of_it_is_left_in_the_job(tmp_path: Path) -> None:
    project = Project(tmp_path)
    content = with_decision(project, with_decision(project, JOB, word(NORTH, "safe")), word(SOUTH, "frozen"))
    content = without_decision(project, content, 0)
    assert [each.cell for each in decisions_of(project, content)] == [SOUTH]
    assert with_decision(project, content, word(SOUTH, "")) == JOB


def test_decisions_go_with_a_table_of_a_new_name_and_end_with_one_that_is_gone(tmp_path: Path) -> None:
    project = Project(tmp_path)
    content = with_decision(project, JOB, word(NORTH, "safe"))
    assert [each.view for each in decisions_of(project, as_tables_are_called(project, content, {"table": "sales"}))] == ["sales"]
    assert as_tables_are_called(project, content, {}) == JOB


@pytest.mark.parametrize(("status", "reason", "words"), [("hidden", "why", "Unknown decision"), ("safe", "  ", "needs a reason")])
def test_no_decision_without_a_known_word_and_a_reason(tmp_path: Path, status: str, reason: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        with_decision(Project(tmp_path), JOB, word(NORTH, status, reason))


def test_a_decision_that_is_not_there_cannot_be_taken_back(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such decision"):
        without_decision(Project(tmp_path), JOB, 0)
