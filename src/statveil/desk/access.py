"""Who may speak to the desk: the one who has a token, to a name that the desk goes by, from the desk's own pages."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import urlsplit

from statveil.core.errors import StatveilError
from statveil.desk.people import People, Person

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
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
}
LOCAL = frozenset({"127.0.0.1", "localhost"})
SIGN_IN, STATIC, BY_LINK = "/sign-in", "/static/", "/t/"
TOO_LARGE = "The file is too large to be added in the browser."


class TooLarge(StatveilError):
    """More was sent than is taken."""

    http_status = 413


@dataclass(frozen=True, kw_only=True)
class DeskDoor:
    """Lets requests through, or answers them itself; without a token nobody learns which addresses there are.

    largest: bytes that a request may have. hosts: the names it answers to (a page of another site may point its own name at this
    machine). secure: it is reached by TLS, and the cookie never travels without.
    """

    application: Application
    people: People
    largest: int
    hosts: frozenset[str] = LOCAL
    secure: bool = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.application(scope, receive, send)
            return
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        refused = self._refused(scope, headers)
        if refused:
            await _answer(send, *refused)
        elif scope["path"].startswith(BY_LINK):
            await self._by_link(scope["path"][len(BY_LINK) :], send)
        else:
            await self._in_person(scope, headers, receive, send)

    def _refused(self, scope: Scope, headers: Mapping[str, str]) -> tuple[int, str] | None:
        if _host(headers.get("host", "")) not in self.hosts:
            return 403, "The desk does not answer to this name."
        if scope["method"] not in ("GET", "HEAD") and not _own_page(headers):
            return 403, "This request came from another site."
        length = headers.get("content-length", "0")
        if not (length.isascii() and length.isdigit()) or int(length) > self.largest:
            return 413, f"{TOO_LARGE} Put it into the project's folder data."
        return None

    async def _by_link(self, token: str, send: Send) -> None:
        if self.people.person(token) is None:
            await _answer(send, 403, "This is not the token of this desk.")
        else:
            await _answer(send, 303, "", [(b"location", b"/"), (b"set-cookie", self.cookie(token).encode())])

    async def _in_person(self, scope: Scope, headers: Mapping[str, str], receive: Receive, send: Send) -> None:
        person, path = self.people.person(_cookie(headers.get("cookie", ""))), scope["path"]
        scope["state"] = {**scope.get("state", {}), "person": person, "door": self}
        open_to_all = path == SIGN_IN or path.startswith(STATIC)
        if person is None and not open_to_all:
            await self._to_sign_in(scope, send)
        elif person is not None and scope["method"] not in ("GET", "HEAD") and not person.may_post(path):
            await _answer(send, 403, f"Who is {person.role} here cannot do this.")
        else:
            await self.application(scope, self._bounded(receive), _with_headers(send))

    async def _to_sign_in(self, scope: Scope, send: Send) -> None:
        if scope["method"] in ("GET", "HEAD"):
            await _answer(send, 303, "", [(b"location", SIGN_IN.encode())])
        else:
            await _answer(send, 403, "Sign in first.")

    def cookie(self, token: str) -> str:
        return f"{COOKIE}={token}; HttpOnly; SameSite=Strict; Path=/{'; Secure' if self.secure else ''}"

    def _bounded(self, receive: Receive) -> Receive:
        """The body, broken off where it grows beyond the limit; its declared length may lie."""
        left = self.largest

        async def read() -> Message:
            nonlocal left
            message = await receive()
            left -= len(message.get("body", b""))
            if left < 0:
                raise TooLarge(TOO_LARGE, hint="Put it into the project's folder data.")
            return message

        return read


def person_of(scope: Scope) -> Person | None:
    """Who asks, as the door found; None on the page where one signs in."""
    found: Person | None = scope.get("state", {}).get("person")
    return found


def _host(text: str) -> str | None:
    try:
        return urlsplit(f"//{text}").hostname
    except ValueError:
        return None


def _own_page(headers: Mapping[str, str]) -> bool:
    """Whether a change was asked for by a page of the desk itself: a browser says where a form came from."""
    if headers.get("sec-fetch-site", "same-origin") != "same-origin":
        return False
    origin = headers.get("origin")
    return origin is None or origin.partition("://")[2] == headers.get("host")


def _cookie(text: str) -> str:
    try:
        found = SimpleCookie(text).get(COOKIE)
    except CookieError:
        return ""
    return found.value if found else ""


def _with_headers(send: Send) -> Send:
    """What the application answers, with the headers that it did not set itself."""

    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            given = {name.lower() for name, _ in message["headers"]}
            message["headers"] = [*message["headers"], *(pair for pair in _fixed() if pair[0] not in given)]
        await send(message)

    return sent


def _fixed() -> list[tuple[bytes, bytes]]:
    return [(name.lower().encode(), words.encode()) for name, words in HEADERS.items()]


async def _answer(send: Send, status: int, words: str, more: list[tuple[bytes, bytes]] | None = None) -> None:
    body = words.encode()
    pairs = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(body)).encode()), *_fixed(), *(more or [])]
    await send({"type": "http.response.start", "status": status, "headers": pairs})
    await send({"type": "http.response.body", "body": body})
