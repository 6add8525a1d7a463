"""Each key of a job is checked by itself: faults are told by their keys, near words are suggested, values are not repeated."""

from __future__ import annotations

from typing import Any

import pytest

from statveil.core.errors import InputError
from statveil.jobs.schema import _RULES, RULE_TYPES, check_job, key_path, rule_of

JOB: dict[str, Any] = {
    "data": {"file": "firms.csv"},
    "table": {"measure": "sales", "dimensions": {"area": "flat"}},
    "rule": [{"type": "p-percent", "p": 10}],
}


def test_one_table_may_stand_without_a_list() -> None:
    assert [table.measure for table in check_job(JOB).table] == ["sales"]


@pytest.mark.parametrize(
    ("part", "given", "words"),
    [
        ("data", {"fiel": "firms.csv"}, "data: unknown key 'fiel'. Did you mean 'file'"),
        ("data", {"file": 3}, r"data\.file"),
        ("rule", [{"type": "p-percent", "p": "ten"}], r"rule.*p"),
        ("rule", [{"type": "q-percent"}], "p-percent"),
        ("limits", {"seconds": "a minute"}, r"limits\.seconds"),
        ("nonsense", {}, "nonsense"),
    ],
)
def test_a_fault_is_told_by_its_key(part: str, given: Any, words: str) -> None:
    with pytest.raises(InputError) as caught:
        check_job({**JOB, part: given})
    assert caught.match(words) or words in caught.value.hint


def test_all_faults_are_told_at_once() -> None:
    with pytest.raises(InputError) as caught:
        check_job({**JOB, "data": {"fiel": "firms.csv"}, "limits": {"seconds": "a minute"}})
    told = f"{caught.value} {caught.value.hint}"
    assert "unknown key 'fiel'" in told
    assert "limits.seconds" in told


def test_a_key_is_named_as_it_stands_in_the_file() -> None:
    assert key_path(("table", 0, "measure"), whole="the job", single_table=True) == "table.measure"
    assert key_path(("rule", 0, "p-percent", "p"), whole="the job") == "rule[1].p"
    assert key_path((), whole="the job") == "the job"


def test_every_type_of_rule_has_its_class() -> None:
    assert set(_RULES) == set(RULE_TYPES) - {"manual"}, "decisions on cells are read from a file"
    assert rule_of(check_job(JOB).rule[0]).words.startswith("p%")
