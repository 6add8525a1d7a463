"""The middleware: authentication, rate limit, size of requests; and the headers that every response carries.

Everything but the open pages is behind it, also what does not exist: without a key nobody learns which addresses there are.
"""

from __future__ import annotations

import hashlib
import logging
import sqlite3
import time
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from typing import Any, NoReturn
from urllib.parse import quote

from statveil.core.api_keys import ANONYMOUS, Caller, KeyRing
from statveil.core.audit_log import AuditLog
from statveil.core.errors import StatveilError
from statveil.server.dataset.query import TUNING
from statveil.server.web import problems
from statveil.server.web.metrics import Metrics
from statveil.server.web.problems import Problem
from statveil.server.web.rate_limit import RateLimiter

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

COOKIE = "statveil_key"
OPEN = frozenset({"/healthz", "/readyz", "/login", "/logout", "/docs", "/openapi.json"})
OPEN_FOLDER = "/static/"
API = "/v1/"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)
_ALWAYS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
log = logging.getLogger("statveil.serve")


@dataclass(frozen=True, kw_only=True)
class AccessMiddleware:
    """Lets requests through to the application, or answers them itself."""

    application: Application
    keys: KeyRing
    anonymous: bool
    limiter: RateLimiter
    audit_log: AuditLog
    metrics: Metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.application(scope, receive, send)
        elif scope["type"] == "http":
            await self._handle(scope, receive, send)

    async def _handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        response = _ResponseSender(scope, send, self.metrics)
        try:
            _check_size(scope)
            response.more = self._admit(scope)
            await self.application(scope, _bounded(receive), response.send)
        except Problem as problem:
            await response.problem(problem)
        except (OSError, sqlite3.Error, StatveilError) as error:  # keys, rates or log cannot be read: nobody is let in
            log.error("%s at the door", type(error).__name__)
            await response.problem(problems.unavailable())
        except Exception as error:  # the words of an unforeseen error may hold anything: its kind is all that is told
            log.error("unforeseen %s while answering %s", type(error).__name__, _route(scope))
            await response.problem(problems.internal())

    def _admit(self, scope: Scope) -> Mapping[str, str]:
        """Put the caller into the scope and take a request from their allowance; the headers that tell about it."""
        path: str = scope["path"]
        if path in OPEN or path.startswith(OPEN_FOLDER):
            scope["caller"] = None
            if scope["method"] == "POST":  # a key typed in: guesses count to the address they come from
                self._take(_address(scope))
            return {}
        token = _token(scope)
        scope["caller"] = caller = self._caller(token) or self._turn_away(scope, path, token)
        return self._take(_bucket(caller, scope))

    def _caller(self, token: str | None) -> Caller | None:
        if token is None:
            return ANONYMOUS if self.anonymous else None
        return self.keys.caller(token)

    def _turn_away(self, scope: Scope, path: str, token: str | None) -> NoReturn:
        """No key, or a wrong one. Guesses count to the address they come from."""
        self._take(_address(scope))
        self.metrics.refused.labels(why="key").inc()
        if token is not None:
            self.audit_log.write("wrong key", address=hashed_address(scope))
        if not path.startswith(API) and scope["method"] == "GET":
            raise Problem(
                status=303, code="key-needed", title="Sign in first.", headers={"Location": f"/login?next={quote(path, safe='/')}"}
            )
        raise problems.unknown_key()

    def _take(self, bucket: str) -> Mapping[str, str]:
        taken = self.limiter.take(bucket)
        if not taken.allowed:
            self.metrics.refused.labels(why="rate").inc()
            problem = problems.too_many_requests(taken.retry_after)
            problem.headers = {**problem.headers, **taken.headers()}
            raise problem
        return taken.headers()


class _ResponseSender:
    """What goes out: every answer gets the fixed headers, and is counted once."""

    def __init__(self, scope: Scope, send: Send, metrics: Metrics) -> None:
        self._scope, self._send, self._metrics = scope, send, metrics
        self._begun = time.monotonic()
        self._started = False
        self.more: Mapping[str, str] = {}

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._started = True
            given = {name.lower() for name, _ in message["headers"]}
            added = [(name.lower().encode(), word.encode("latin-1")) for name, word in self._headers().items()]
            message["headers"] = [*message["headers"], *(pair for pair in added if pair[0] not in given)]
            self._count(message["status"])
        await self._send(message)

    async def problem(self, problem: Problem) -> None:
        if self._started:
            return  # part of an answer is out: all that can be done is to break off
        body = problem.body()
        headers = {"content-type": problems.MEDIA_TYPE, "content-length": str(len(body)), "cache-control": "no-store", **problem.headers}
        pairs = [(name.lower().encode(), word.encode("latin-1")) for name, word in headers.items()]
        await self.send({"type": "http.response.start", "status": problem.status, "headers": pairs})
        await self.send({"type": "http.response.body", "body": body})

    def _headers(self) -> dict[str, str]:
        secure = {"Strict-Transport-Security": "max-age=31536000"} if self._scope["scheme"] == "https" else {}
        return {**_ALWAYS, "Content-Security-Policy": POLICY, **secure, **self.more}

    def _count(self, status: int) -> None:
        route = _route(self._scope)
        self._metrics.requests.labels(route=route, method=_method(self._scope), status=str(status)).inc()
        self._metrics.seconds.labels(route=route).observe(time.monotonic() - self._begun)


def _route(scope: Scope) -> str:
    """The route's own text, never the request's."""
    route = scope.get("route")
    return getattr(route, "path", "other")


def _method(scope: Scope) -> str:
    method: str = scope["method"]
    return method if method in ("GET", "POST", "HEAD", "OPTIONS", "PUT", "DELETE", "PATCH") else "other"


def _check_size(scope: Scope) -> None:
    if len(scope.get("raw_path") or b"") + len(scope["query_string"]) > TUNING.largest_target:
        raise Problem(status=414, code="address-too-long", title="The address is too long.", advice="Send the query by POST.")
    for name, value in scope["headers"]:
        if name == b"content-length" and (not value.isdigit() or int(value) > TUNING.largest_body):
            raise problems.too_large(TUNING.largest_body)


def _bounded(receive: Receive) -> Receive:
    """The request's body, broken off where it grows beyond the limit; its declared length may lie."""
    left = TUNING.largest_body

    async def read() -> Message:
        nonlocal left
        message = await receive()
        left -= len(message.get("body", b""))
        if left < 0:
            raise problems.too_large(TUNING.largest_body)
        return message

    return read


def _token(scope: Scope) -> str | None:
    """The key in the Authorization header; for what only reads, also the one that the page keeps in a cookie."""
    headers = dict(scope["headers"])
    word = headers.get(b"authorization", b"").decode("latin-1")
    if word:
        scheme, _, token = word.partition(" ")
        return token.strip() if scheme.lower() == "bearer" else ""
    if scope["method"] in ("GET", "HEAD") and b"cookie" in headers:
        return _cookie(headers[b"cookie"].decode("latin-1"))
    return None


def _cookie(text: str) -> str | None:
    try:
        found = SimpleCookie(text).get(COOKIE)
    except CookieError:
        return None
    return found.value if found else None


def _bucket(caller: Caller, scope: Scope) -> str:
    return _address(scope) if caller is ANONYMOUS else caller.id


def _address(scope: Scope) -> str:
    return "address " + hashed_address(scope)


def hashed_address(scope: Scope) -> str:
    """Where a request comes from, shortened: enough to tell callers apart."""
    client = scope.get("client")
    return hashlib.sha256((client[0] if client else "").encode()).hexdigest()[:16]
