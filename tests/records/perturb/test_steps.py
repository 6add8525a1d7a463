"""A step that exists is valid; a setting of another method is refused."""

from __future__ import annotations

from typing import Any

import pytest

from statveil.core.errors import InputError
from statveil.records.perturb.steps import step_of


@pytest.mark.parametrize(
    ("method", "settings", "words"),
    [
        ("swap", {}, "no perturbation 'swap'"),
        ("noise", {"k": 3}, "noise has no setting 'k'"),
        ("noise", {"level": 0}, "level must be a number above 0"),
        ("noise", {"level": True}, "level must be a number"),
        ("noise", {"minimum": 5, "maximum": 5}, "minimum must lie below maximum"),
        ("noise", {"decimals": -1}, "decimals must be a whole number"),
        ("rank-swapping", {"percent": 101}, "percent must be"),
        ("microaggregation", {"k": 1}, "k must be a whole number from 2"),
        ("pram", {"keep": 1.0}, "keep must be"),
        ("quantile-coding", {}, "bottom or top must be given"),
        ("quantile-coding", {"bottom": 0.6, "top": 0.4}, "bottom must lie below top"),
        ("pram", {"columns": []}, "columns must be a list of names"),
        ("pram", {"columns": "degree"}, "columns must be a list of names"),
        ("pram", {"columns": ["a", "a"]}, "named twice"),
    ],
)
def test_what_is_not_understood_is_refused(method: str, settings: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        step_of(method, {"columns": ["a"], **settings})


def test_a_step_tells_what_was_asked() -> None:
    step = step_of("noise", {"columns": ["a"], "level": 0.2})
    assert step.as_json() == {"method": "noise", "columns": ["a"], "level": 0.2}
