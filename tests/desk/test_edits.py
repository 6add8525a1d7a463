"""What forms do to a job: only what they name changes."""

from __future__ import annotations

from typing import Any

import pytest

from statveil.core.errors import InputError
from statveil.desk import edits

JOB: dict[str, Any] = {
    "data": {"file": "firms.csv", "where": "year = 2024", "missing": ["NA"]},
    "table": {"measure": "turnover", "decimals": -3, "dimensions": {"region": "flat"}},
    "rule": [{"type": "p-percent", "p": 10, "coalition": 2}, {"type": "manual", "file": "cells.csv"}],
    "limits": {"seconds": 60, "gap": 0.02},
}


def test_records_lose_only_what_the_form_left_empty() -> None:
    found = edits.with_records(JOB, {"missing": ["NA ."]})
    assert found["data"] == {"file": "firms.csv", "missing": ["NA", "."]}
    by_column = {"data": {"missing": {"income": ["-9"]}}}
    assert edits.with_records(by_column, {}) == by_column
    assert {key: found[key] for key in ("table", "rule", "limits")} == {key: JOB[key] for key in ("table", "rule", "limits")}


def test_a_table_keeps_what_has_no_form() -> None:
    form = {"dimension": ["region", "trade"], "measure": ["profit"], "tree trade": ["digits"], "digits trade": ["1, 2"]}
    found = edits.with_table(JOB, form)["table"]
    assert found == {"decimals": -3, "measure": "profit", "dimensions": {"region": "flat", "trade": {"digits": [1, 2]}}}


@pytest.mark.parametrize(
    ("form", "words"),
    [
        ({}, "at least one dimension"),
        ({"dimension": ["trade"], "tree trade": ["digits"], "digits trade": ["one"]}, "digits are whole numbers"),
        ({"dimension": ["trade"], "tree trade": ["file"]}, "choose the file"),
    ],
)
def test_tables_that_a_form_cannot_mean(form: dict[str, list[str]], words: str) -> None:
    with pytest.raises(InputError, match=words):
        edits.with_table(JOB, form)


def test_one_of_linked_tables_is_edited_and_the_others_stay() -> None:
    job = {"table": [JOB["table"], {**JOB["table"], "name": "two"}]}
    changed = edits.with_table(job, {"at": ["1"], "dimension": ["region"], "tree region": ["flat"]})
    assert changed["table"][0] == JOB["table"]
    assert changed["table"][1]["dimensions"] == {"region": "flat"}
    assert edits.without_table(job, {"at": ["1"]}) == {"table": JOB["table"]}


def test_rules_are_added_changed_and_dropped_in_their_place() -> None:
    added = edits.with_rule(JOB, {"type": ["minimum-frequency"], "n": ["5"]})["rule"]
    assert added == [*JOB["rule"], {"type": "minimum-frequency", "n": 5}]
    changed = edits.with_rule(JOB, {"type": ["p-percent"], "place": ["0"], "p": ["15"]})["rule"]
    assert changed == [{"type": "p-percent", "p": 15, "coalition": 2}, JOB["rule"][1]]
    assert edits.without_rule(JOB, {"place": ["0"]})["rule"] == JOB["rule"][1:]
    with pytest.raises(InputError, match="another one now"):
        edits.with_rule(JOB, {"type": ["dominance"], "place": ["0"]})
    with pytest.raises(InputError, match="no form"):
        edits.with_rule(JOB, {"type": ["manual"]})


def test_methods_that_a_job_can_ask_for() -> None:
    kept = edits.with_method(JOB, "keep")
    assert kept["keep"]["mean"] == "sensitive"
    assert edits.with_method(kept, "adjustment") == JOB
    with pytest.raises(InputError, match="cannot ask"):
        edits.with_method(JOB, "suppression")


def test_limits_change_beside_what_is_there() -> None:
    found = edits.with_protection(JOB, {"seconds": ["30"], "norm": ["l2"]})
    assert (found["limits"], found["protection"]) == ({"seconds": 30, "gap": 0.02}, {"norm": "l2"})


def test_settings_that_the_job_says_already_are_none_to_write() -> None:
    usual = {name: [str(value)] for name, value in edits.USUAL.items()}
    assert edits.as_set(JOB, usual)
    assert edits.as_set(JOB, {})
    assert not edits.as_set(JOB, {**usual, "seconds": ["7"]})
    assert not edits.as_set({**JOB, "protection": {"norm": "l2"}}, usual)
