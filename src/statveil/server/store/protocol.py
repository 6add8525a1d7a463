"""What the server asks of a store, and what stores are given: keyed ids and published numbers, never a key, label or true value (T26)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Literal, NamedTuple, Protocol

Moment = Literal["before insert", "between cells", "before commit", "after commit"]
MOMENTS: tuple[Moment, ...] = ("before insert", "between cells", "before commit", "after commit")
Hook = Callable[[Moment], None]
"""Called at each moment of a recording, so that tests can fail there (F02)."""


class CellRow(NamedTuple):
    """A cell as it is published first: `sense` 0 where it is not sensitive, `print_` the 16 bytes of its keyed sum."""

    id: bytes
    space: bytes
    sense: int
    value: int
    records: int
    print_: bytes


class Pin(NamedTuple):
    sense: int
    value: int


class SeenCell(NamedTuple):
    """A published cell as the differencing guard sees it."""

    number: int
    sense: int
    value: int
    records: int
    print_: bytes


class AnswerRow(NamedTuple):
    """An answer: the request in its normal form, the protected table it is a slice of, and the digest of its numbers and codes."""

    hash: str
    query: str
    table: str
    digest: str


class Alarm(NamedTuple):
    """Something for the officer's eyes."""

    number: int
    at: str
    kind: str
    client: str
    detail: str


class StoreReader(Protocol):
    """Reading: outside of a recording what is committed, inside it what the recording has written as well."""

    def pins(self, ids: Sequence[bytes]) -> dict[bytes, Pin]: ...

    def seen(self, space: bytes, after: int) -> list[SeenCell]:
        """Cells of one space recorded after that number, in order."""

    def table(self, hash_: str) -> bytes | None: ...

    def answer(self, hash_: str) -> AnswerRow | None: ...

    def fact(self, name: str) -> str | None: ...

    def spent(self, client: str) -> int: ...


class Recording(StoreReader, Protocol):
    """One request being recorded: all of it is kept, or nothing. Nobody else records meanwhile."""

    def add_cells(self, rows: Sequence[CellRow]) -> None:
        """Insert the cells that are not there yet; those that are keep what they were published with."""

    def add_table(self, hash_: str, body: bytes) -> None: ...

    def add_answer(self, row: AnswerRow) -> None: ...

    def set_fact(self, name: str, value: str) -> None: ...

    def spend(self, client: str, amount: int) -> None: ...

    def add_alarm(self, kind: str, client: str, detail: str) -> None: ...

    def count_release(self) -> int:
        """The number of this recording; the counter beside the key remembers the last one (F18)."""


class Store(StoreReader, Protocol):
    def recording(self) -> AbstractContextManager[Recording]:
        """A recording that commits when the block ends well and leaves nothing otherwise. BackendError if the store cannot."""

    def alarms(self, after: int = 0) -> list[Alarm]: ...

    def close(self) -> None: ...
