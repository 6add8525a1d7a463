"""Exit codes and HTTP statuses are those of the tree that the module's text draws."""

from __future__ import annotations

import re

import pytest

from statveil.core import errors
from statveil.core.errors import InfeasibleProblem, InputError, StatveilError

DRAWN = re.findall(r"── (\w+) +exit (\d), HTTP (\d+)", errors.__doc__ or "")


def test_the_drawing_names_the_families() -> None:
    assert len(DRAWN) == 7


@pytest.mark.parametrize(("name", "exit_code", "status"), DRAWN)
def test_families_end_as_drawn_and_their_kinds_like_them(name: str, exit_code: str, status: str) -> None:
    family = getattr(errors, name)
    for kind in (family, *family.__subclasses__()):
        assert (kind.exit_code, kind.http_status) == (int(exit_code), int(status))


def test_an_error_says_what_happened_and_then_what_to_do() -> None:
    error = InputError("The file is empty.", hint="Choose another.")
    assert (str(error), error.message, error.hint) == ("The file is empty. Choose another.", "The file is empty.", "Choose another.")
    assert str(InputError("The file is empty.")) == "The file is empty."


def test_a_clash_carries_its_explanation_and_stays_out_of_the_text() -> None:
    error = InfeasibleProblem("No safe table.", explanation={"cell": 7})
    assert isinstance(error, StatveilError)
    assert (str(error), error.explanation) == ("No safe table.", {"cell": 7})
