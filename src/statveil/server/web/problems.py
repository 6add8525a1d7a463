"""Errors as problem+json (RFC 9457): a code, what happened and what to do; never a value, a query, a path or a count of cells.

What a refusal says is the same for every refused request: its text must not tell which or how many cells were in the way.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from statveil.core.errors import (
    AuditFailed,
    BackendError,
    DisclosureRefused,
    InfeasibleProblem,
    InputError,
    NoTableFound,
    OutOfTime,
    StatveilError,
)

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


def _problem(status: int, code: str, title: str, advice: str, headers: Mapping[str, str] | None = None) -> Problem:
    return Problem(status=status, code=code, title=title, advice=advice, headers=headers or {})


def unknown_key() -> Problem:
    advice = "Send the header `Authorization: Bearer KEY`. Ask the office for a key."
    return _problem(401, "key-needed", "A valid key is needed.", advice, {"WWW-Authenticate": 'Bearer realm="statveil"'})


def not_your_role(needed: str) -> Problem:
    return _problem(403, "role", "Your key does not have the role for this.", f"It needs the role {needed}.")


def not_found(what: str = "page") -> Problem:
    """The same for what does not exist and for what this key may not see."""
    return _problem(404, "not-found", f"There is no such {what}.", "GET /v1/datasets lists the datasets that you may ask about.")


def too_many_requests(seconds: int) -> Problem:
    advice = f"Wait {seconds} s and go on more slowly; answers that you have need not be asked again."
    return _problem(429, "rate-limit", "Too many requests with this key.", advice, _after(seconds))


def busy(seconds: int = 2) -> Problem:
    advice = f"Nothing was released. Try again in {seconds} s."
    return _problem(503, "busy", "The server has as many tables in work as it takes.", advice, _after(seconds))


def too_large(limit: int) -> Problem:
    return _problem(413, "body-too-large", "The request is too large.", f"A request may have {limit:,} bytes.")


def internal() -> Problem:
    return _problem(500, "internal", "The server made a mistake.", "Nothing was released. Tell the office the time and the request.")


def request_problem(detail: str, *, advice: str = "") -> Problem:
    """Something in the request itself: its own words may be repeated."""
    return Problem(status=422, code="request", title="The request cannot be understood.", detail=detail, advice=advice)


def from_error(error: StatveilError) -> Problem:
    """The public words of an error. Only an InputError speaks for itself: it is about the request.

    A refusal, a table without a safe version and one that failed its check look alike: the difference would be a hint (T20).
    """
    if isinstance(error, InputError):
        return Problem(
            status=error.http_status, code="request", title="This table cannot be asked for.", detail=error.message, advice=error.hint
        )
    if isinstance(error, DisclosureRefused | InfeasibleProblem | NoTableFound | AuditFailed):
        return _problem(403, "refused", "This table is not published.", _ASK_OTHERWISE)
    if isinstance(error, OutOfTime):
        return _problem(504, "out-of-time", "The table could not be made in the time allowed.", _ASK_OTHERWISE, _after(60))
    if isinstance(error, BackendError):
        return unavailable()
    return internal()


def unavailable() -> Problem:
    advice = "Nothing was released. Try again in a few seconds."
    return _problem(503, "unavailable", "A part of the server does not work at the moment.", advice, _after(5))


def _after(seconds: int) -> dict[str, str]:
    return {"Retry-After": str(seconds)}


_ASK_OTHERWISE = "Nothing was released. Ask for higher levels, fewer codes or other dimensions."
