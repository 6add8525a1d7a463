"""A job for a file of records: every key checked, recodings as they are written, faults told by their keys."""

from __future__ import annotations

from typing import Any

import pytest

import statveil as sv
from statveil.core.errors import InputError
from statveil.jobs.record_job import RecodingItem, check_file_job

JOB: dict[str, Any] = {"data": {"file": "people.csv"}, "fields": {"age": {"intervals": [5, 10]}, "sex": {}}}


def test_what_is_left_out_has_its_usual_meaning() -> None:
    safety = check_file_job(JOB).safety
    assert (safety.threshold, safety.order, safety.rule, safety.recoding_weight) == (3, 3, "original", 1.0)


@pytest.mark.parametrize(
    ("part", "given", "words"),
    [
        ("safety", {"treshold": 3}, "Did you mean 'threshold'"),
        ("safety", {"threshold": {"one": 3}}, "thresholds go by number of fields"),
        ("safety", {"rule": "best"}, "original"),
        ("fields", {"age": {"interval": [5]}}, "Did you mean 'intervals'"),
    ],
)
def test_a_fault_is_told_with_what_is_known(part: str, given: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError) as caught:
        check_file_job({**JOB, part: given})
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("item", "kind"),
    [
        (RecodingItem(name="tens", width=10), sv.recode.Intervals),
        (RecodingItem(name="ends", bottom=20, top=80), sv.recode.Extremes),
        (RecodingItem(name="own", new={"1": "a"}), sv.recode.Recoding),
    ],
)
def test_a_recoding_is_what_its_keys_say(item: RecodingItem, kind: type) -> None:
    found = item.recoding()
    assert isinstance(found, kind)
    assert found.name == item.name
