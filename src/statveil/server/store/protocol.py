"""What the server asks of a store, and what stores are given: published numbers and sealed bytes, no key, label or true value (T26)."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Literal, NamedTuple, Protocol

Moment = Literal["before insert", "before commit", "after commit"]
MOMENTS: tuple[Moment, ...] = ("before insert", "before commit", "after commit")
Hook = Callable[[Moment], None]
"""Called at each moment of a recording, so that tests can fail there (F02)."""


class AnswerRow(NamedTuple):
    """An answer: the request in its normal form, the protected table it is a slice of, and the digest of its numbers and codes.

    `table` is empty where the answer is a slice of a cube.
    """

    hash: str
    query: str
    table: str
    digest: str


class StoreReader(Protocol):
    """Reading: outside of a recording what is committed, inside it what the recording has written as well."""

    def sealed(self, name: str) -> bytes | None:
        """Something prepared that only the key reads: a cube, or what later editions must keep to."""

    def table(self, hash_: str) -> bytes | None: ...

    def answer(self, hash_: str) -> AnswerRow | None: ...

    def fact(self, name: str) -> str | None: ...


class Recording(StoreReader, Protocol):
    """One thing being recorded: all of it is kept, or nothing. Nobody else records meanwhile."""

    def set_sealed(self, name: str, body: bytes) -> None: ...

    def add_table(self, hash_: str, body: bytes) -> None: ...

    def add_answer(self, row: AnswerRow) -> None: ...

    def set_fact(self, name: str, value: str) -> None: ...

    def count_release(self) -> int:
        """The number of this recording; the counter beside the key remembers the last one (F18)."""


class Store(StoreReader, Protocol):
    def recording(self) -> AbstractContextManager[Recording]:
        """A recording that commits when the block ends well and leaves nothing otherwise. BackendError if the store cannot."""

    def close(self) -> None: ...
