"""Who may speak to the desk: the one who has the token, from this machine, from the desk's own pages."""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import urlsplit

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

COOKIE = "statveil_desk"
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",  # with none, a browser does not tell where a form came from
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
POLICY = "default-src 'none'; style-src 'self'; img-src 'self' data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
LOCAL = ("127.0.0.1", "localhost")


class TooLarge(Exception):
    """More was sent than is taken."""


@dataclass(frozen=True, kw_only=True)
class DeskDoor:
    """Lets requests through, or answers them itself; without the token nobody learns which addresses there are."""

    application: Application
    token: str
    largest: int
    """Bytes that a request may have."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.application(scope, receive, send)
            return
        refused = self._refused(scope)
        if refused:
            await _answer(send, *refused)
            return
        if scope["path"] == f"/t/{self.token}":
            cookie = f"{COOKIE}={self.token}; HttpOnly; SameSite=Strict; Path=/"
            await _answer(send, 303, "", [(b"location", b"/"), (b"set-cookie", cookie.encode())])
            return
        await self._pass_on(scope, receive, send)

    async def _pass_on(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = False

        async def with_headers(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                given = {name.lower() for name, _ in message["headers"]}
                message["headers"] = [*message["headers"], *(pair for pair in _fixed() if pair[0] not in given)]
            await send(message)

        try:
            await self.application(scope, self._bounded(receive), with_headers)
        except TooLarge:
            if not started:
                await _answer(send, 413, "The file is too large to be dropped: put it into the project's folder data.")

    def _refused(self, scope: Scope) -> tuple[int, str] | None:
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        host = urlsplit(f"//{headers.get('host', '')}").hostname
        if host not in LOCAL:
            return 403, "The desk answers to this machine only."
        if not scope["path"].startswith("/t/") and not hmac.compare_digest(_cookie(headers.get("cookie", "")), self.token):
            return 403, "Open the desk by the address that `statveil desk` wrote: it holds the token."
        if scope["path"].startswith("/t/") and not hmac.compare_digest(scope["path"][3:].encode(), self.token.encode()):
            return 403, "This is not the token of this desk."
        if scope["method"] not in ("GET", "HEAD") and not _own_page(headers):
            return 403, "This request came from another site."
        length = headers.get("content-length", "0")
        if not length.isdigit() or int(length) > self.largest:
            return 413, "The file is too large to be dropped: put it into the project's folder data."
        return None

    def _bounded(self, receive: Receive) -> Receive:
        """The body, broken off where it grows beyond the limit; its declared length may lie."""
        left = self.largest

        async def read() -> Message:
            nonlocal left
            message = await receive()
            left -= len(message.get("body", b""))
            if left < 0:
                raise TooLarge
            return message

        return read


def _own_page(headers: MutableMapping[str, str] | dict[str, str]) -> bool:
    """Whether a change was asked for by a page of the desk itself: a browser says where a form came from."""
    if headers.get("sec-fetch-site", "same-origin") != "same-origin":
        return False
    origin = headers.get("origin")
    return origin is None or urlsplit(origin).netloc == headers.get("host")


def _cookie(text: str) -> str:
    try:
        found = SimpleCookie(text).get(COOKIE)
    except CookieError:
        return ""
    return found.value if found and found.value.isascii() else ""


def _fixed() -> list[tuple[bytes, bytes]]:
    return [(name.lower().encode(), word.encode()) for name, word in {**HEADERS, "Content-Security-Policy": POLICY}.items()]


async def _answer(send: Send, status: int, words: str, more: list[tuple[bytes, bytes]] | None = None) -> None:
    body = words.encode()
    pairs = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(body)).encode()), *_fixed(), *(more or [])]
    await send({"type": "http.response.start", "status": status, "headers": pairs})
    await send({"type": "http.response.body", "body": body})
