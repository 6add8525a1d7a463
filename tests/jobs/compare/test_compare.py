"""The methods side by side on the village: what each does to its only vet."""

from __future__ import annotations

from pathlib import Path

import pytest

import statveil as sv
from statveil.core.errors import InputError
from statveil.jobs.compare.compare import MethodRow, recommendation
from tests.jobs.compare.stories import row, village


def test_the_safe_one_that_loses_least_is_recommended_and_the_reason_told() -> None:
    chosen, reason = recommendation([row("one", 0.2), row("two", 0.1), row("three", 0.01, close=1)])
    assert chosen == "two"
    assert "10.0%" in reason
    assert "Left out, because sensitive cells are disclosed: three." in reason


def test_none_is_recommended_where_none_is_safe() -> None:
    assert recommendation([row("one", 0.1, close=2)])[0] == ""
    assert recommendation([MethodRow(name="one", words="one", seconds=0.0, failed="no")])[0] == ""


def test_unknown_methods_and_bases_are_refused(tmp_path: Path) -> None:
    job = village(tmp_path)
    with pytest.raises(InputError, match="Known: adjustment"):
        sv.classical.compare(job, methods=["magic"])
    with pytest.raises(InputError, match="at least 1"):
        sv.classical.compare(job, base=0)
