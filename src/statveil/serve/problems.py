"""Errors as problem+json (RFC 9457): a code, what happened and what to do; never a value, a query, a path or a count of cells.

What a refusal says is the same for every refused request: its text must not tell which or how many cells were in the way.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from statveil.errors import AuditFailed, BackendError, DisclosureRefused, InfeasibleProblem, InputError, OutOfTime, StatveilError

MEDIA_TYPE = "application/problem+json"


@dataclass(kw_only=True, eq=False)
class Problem(Exception):
    """An answer that is an error. Raise it anywhere below the application."""

    status: int
    code: str
    title: str
    detail: str = ""
    advice: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)

    def content(self) -> dict[str, object]:
        told = {
            "type": f"/docs#problem-{self.code}",
            "title": self.title,
            "status": self.status,
            "code": self.code,
            "detail": self.detail,
            "advice": self.advice,
        }
        return {name: word for name, word in told.items() if word != ""}

    def body(self) -> bytes:
        return json.dumps(self.content(), ensure_ascii=False).encode()


def unknown_key() -> Problem:
    return Problem(
        status=401,
        code="key-needed",
        title="A valid key is needed.",
        advice="Send the header `Authorization: Bearer KEY`. Ask the office for a key.",
        headers={"WWW-Authenticate": 'Bearer realm="statveil"'},
    )


def not_your_role(needed: str) -> Problem:
    return Problem(status=403, code="role", title="Your key does not have the role for this.", advice=f"It needs the role {needed}.")


def not_found(what: str = "page") -> Problem:
    """The same for what does not exist and for what this key may not see."""
    return Problem(
        status=404,
        code="not-found",
        title=f"There is no such {what}.",
        advice="GET /v1/datasets lists the datasets that you may ask about.",
    )


def too_many_requests(seconds: int) -> Problem:
    return Problem(
        status=429,
        code="rate-limit",
        title="Too many requests with this key.",
        advice=f"Wait {seconds} s and go on more slowly; answers that you have need not be asked again.",
        headers=_after(seconds),
    )


def busy(seconds: int = 2) -> Problem:
    return Problem(
        status=503,
        code="busy",
        title="The server has as many tables in work as it takes.",
        advice=f"Nothing was released. Try again in {seconds} s.",
        headers=_after(seconds),
    )


def too_large(limit: int) -> Problem:
    return Problem(status=413, code="body-too-large", title="The request is too large.", advice=f"A request may have {limit:,} bytes.")


def internal() -> Problem:
    return Problem(
        status=500,
        code="internal",
        title="The server made a mistake.",
        advice="Nothing was released. Tell the office the time and the request.",
    )


def request_problem(detail: str, *, advice: str = "") -> Problem:
    """Something in the request itself: its own words may be repeated."""
    return Problem(status=422, code="request", title="The request cannot be understood.", detail=detail, advice=advice)


def from_error(error: StatveilError) -> Problem:
    """The public words of an error. Only an InputError speaks for itself: it is about the request.

    A refusal, a table without a safe version and one that failed its check look alike: the difference would be a hint (THREATS T20).
    """
    if isinstance(error, InputError):
        return Problem(
            status=error.http_status, code="request", title="This table cannot be asked for.", detail=error.message, advice=error.hint
        )
    if isinstance(error, DisclosureRefused | InfeasibleProblem | AuditFailed):
        return Problem(status=403, code="refused", title="This table is not published.", advice=_ASK_OTHERWISE)
    if isinstance(error, OutOfTime):
        return Problem(
            status=504,
            code="out-of-time",
            title="The table could not be made in the time allowed.",
            advice=_ASK_OTHERWISE,
            headers=_after(60),
        )
    if isinstance(error, BackendError):
        return unavailable()
    return internal()


def unavailable() -> Problem:
    return Problem(
        status=503,
        code="unavailable",
        title="A part of the server does not work at the moment.",
        advice="Nothing was released. Try again in a few seconds.",
        headers=_after(5),
    )


def _after(seconds: int) -> dict[str, str]:
    return {"Retry-After": str(seconds)}


_ASK_OTHERWISE = "Nothing was released. Ask for higher levels, fewer codes or other dimensions."
