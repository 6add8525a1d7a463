"""Words of the command line as settings."""

from __future__ import annotations

import pytest

import statveil as sv
from statveil.cli.options import settings_of


def test_settings_are_numbers_where_they_look_like_it() -> None:
    assert settings_of(["a=1", "b=0.5", "c=true", "d=wide", "e=[1, 2]", " f = x=y"]) == {
        "a": 1,
        "b": 0.5,
        "c": True,
        "d": "wide",
        "e": [1, 2],
        "f": "x=y",
    }
    for wrong in (["a"], ["=1"], ["a=1", "a=2"]):
        with pytest.raises(sv.InputError, match="--set"):
            settings_of(wrong)
