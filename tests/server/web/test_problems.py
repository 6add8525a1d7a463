"""Errors as the API tells them: refusals look alike, and only an error about the request speaks for itself."""

from __future__ import annotations

import json

import pytest

from statveil.core import errors
from statveil.server.web import problems


def test_refusals_of_every_kind_look_alike() -> None:
    kinds = (errors.DisclosureRefused, errors.InfeasibleProblem, errors.NoTableFound, errors.AuditFailed)
    told = {problems.from_error(kind("cell 7 of 1234", hint="secret")).body() for kind in kinds}
    assert len(told) == 1
    assert b"1234" not in next(iter(told))


@pytest.mark.parametrize("error", [errors.OutOfTime("1234"), errors.SolverFailed("1234"), errors.StatveilError("1234")])
def test_other_errors_do_not_repeat_their_words(error: errors.StatveilError) -> None:
    problem = problems.from_error(error)
    assert b"1234" not in problem.body()
    assert problem.status == error.http_status


def test_what_is_wrong_with_a_request_is_said() -> None:
    content = json.loads(problems.from_error(errors.InputError("No such code 'x'.", hint="Ask for the codes.")).body())
    assert (content["status"], content["detail"], content["advice"]) == (422, "No such code 'x'.", "Ask for the codes.")


def test_who_must_wait_is_told_how_long() -> None:
    waiting = (problems.too_many_requests(7), problems.busy(), problems.unavailable(), problems.from_error(errors.OutOfTime("")))
    assert [each.headers["Retry-After"] for each in waiting] == ["7", "2", "5", "60"]


def test_empty_words_are_left_out() -> None:
    assert "advice" not in problems.request_problem("What is this?").content()
    assert problems.unknown_key().headers["WWW-Authenticate"].startswith("Bearer")
