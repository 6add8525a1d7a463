"""Written tables kept in memory, the least used given up first. They never change, so they never grow old."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Written:
    """A table in one format; `dataset` decides who may see it."""

    dataset: str
    body: bytes


class WrittenTables:
    """At most so many bytes."""

    def __init__(self, most_bytes: int) -> None:
        self._most = most_bytes
        self._size = 0
        self._kept: OrderedDict[tuple[str, str], Written] = OrderedDict()

    def get(self, table_hash: str, form: str) -> Written | None:
        found = self._kept.get((table_hash, form))
        if found is not None:
            self._kept.move_to_end((table_hash, form))
        return found

    def keep(self, table_hash: str, form: str, written: Written) -> None:
        if (table_hash, form) in self._kept or len(written.body) > self._most // 4:
            return
        self._kept[table_hash, form] = written
        self._size += len(written.body)
        while self._size > self._most:
            _, old = self._kept.popitem(last=False)
            self._size -= len(old.body)
