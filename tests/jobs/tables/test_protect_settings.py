"""What is asked wrongly is refused before the records are read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import statveil as sv
from tests.jobs.tables.stories import FIVE, protect, table


def test_no_rule_at_all_is_refused() -> None:
    with pytest.raises(sv.errors.RuleError, match=r"No rules are given.*MinimumFrequency"):
        protect(FIVE, table("area", "trade"))


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"rules": sv.PPercent(10)}, "rules must be a list, not PPercent"),
        ({"rules": "p%"}, "rules must be a list, not str"),
        ({"rules": None}, "rules must be a list, not NoneType"),
        ({"rules": [10]}, "10 is not a rule"),
        ({"limits": 5}, "limits must be Limits, not int"),
        ({"limits": 0}, "limits must be Limits, not int"),
        ({"options": {"norm": "l2"}}, "options must be Options, not dict"),
        ({"options": {}}, "options must be Options, not dict"),
        ({"spec": [table("area"), "area"]}, "Among the specs of linked tables is str"),
        ({"spec": "area"}, "by a TableSpec, not by str"),
        ({"method": 3}, "The method must be a name or a Method, not int"),
        ({"method": sv.Method(start=np.array([1]))}, "belong to a linear system"),
    ],
)
def test_what_is_asked_wrongly_is_refused_before_the_records_are_read(wrong: dict[str, Any], words: str) -> None:
    asked = {"spec": table("area"), "rules": [sv.PPercent(10)], **wrong}
    with pytest.raises(sv.InputError, match=words):
        sv.protect_table("no such file.csv", **asked)


def test_settings_of_another_kind_are_refused() -> None:
    wrong: list[tuple[Any, dict[str, Any]]] = [
        (sv.Limits, {"seconds": "ten"}),
        (sv.Limits, {"gap": None}),
        (sv.Options, {"cap": "twice"}),
        (sv.Options, {"repair": "all"}),
        *((sv.Method, {"seed": seed}) for seed in ("one", 1.0, True, -1)),
        (sv.Options, {"bounds": 5}),
        (sv.Bounds, {"percent_up": "all"}),
        (sv.Bounds, {"minimum": True}),
    ]
    for kind, settings in wrong:
        with pytest.raises(sv.InputError):
            kind(**settings)


def test_an_unknown_method_is_refused_in_words() -> None:
    with pytest.raises(sv.InputError, match="Unknown method 'magic'"):
        protect(FIVE, table("area"), sv.PPercent(10), method="magic")


def test_a_rule_that_is_none_is_refused() -> None:
    rules: Sequence[Any] = ["p-percent"]
    with pytest.raises(sv.errors.RuleError, match="is not a rule"):
        protect(FIVE, table("area"), *rules)
