"""What later editions must know: the sign of every holding, and the sense in which every sensitive position was published.

A cell that rises in one year and falls in the next is told by the average of both (T21). Ids are keyed: who reads the memory learns
neither holdings nor cells, and no amount (T26). Nothing is ever forgotten, for holdings that leave may come back.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from statveil.core.arrays import AnyArray, IntArray
from statveil.core.errors import FormatError

_MARK = b"statveil cube memory 1\n"


class Directions:
    """Keyed ids in ascending order, with +1 or -1 each."""

    __slots__ = ("ids", "signs")

    def __init__(self, ids: AnyArray | None = None, signs: AnyArray | None = None) -> None:
        self.ids: AnyArray = np.zeros(0, np.uint64) if ids is None else ids
        self.signs: AnyArray = np.zeros(0, np.int8) if signs is None else signs

    def look_up(self, ids: AnyArray) -> IntArray:
        """The direction of each id, 0 where there is none."""
        if not self.ids.size:
            return np.zeros(ids.size, np.int64)
        place = np.minimum(np.searchsorted(self.ids, ids), self.ids.size - 1)
        return np.where(self.ids[place] == ids, self.signs[place], 0).astype(np.int64)

    def with_new(self, ids: AnyArray, signs: IntArray) -> Directions:
        """These as well; what is known already stays as it is."""
        new = self.look_up(ids) == 0
        every = np.concatenate([self.ids, ids[new]])
        found, first = np.unique(every, return_index=True)
        return Directions(found, np.concatenate([self.signs, signs[new].astype(np.int8)])[first])


@dataclass(frozen=True, kw_only=True, repr=False)
class CubeMemory:
    """Of one dataset, all its measures: `signs` by holding, `senses` by position and measure."""

    signs: Directions = field(default_factory=Directions)
    senses: Directions = field(default_factory=Directions)

    def to_bytes(self) -> bytes:
        sizes = np.array([self.signs.ids.size, self.senses.ids.size], "<u8")
        parts = [part for each in (self.signs, self.senses) for part in (each.ids.astype("<u8"), each.signs.astype("<i1"))]
        return _MARK + sizes.tobytes() + b"".join(part.tobytes() for part in parts)

    @classmethod
    def from_bytes(cls, content: bytes) -> CubeMemory:
        at, found = len(_MARK) + 16, []
        if not content.startswith(_MARK) or len(content) < at:
            raise FormatError("This is not the memory of a cube.", hint="Restore it from where it was kept.")
        sizes = [int(size) for size in np.frombuffer(content, "<u8", 2, len(_MARK))]
        if len(content) != at + 9 * sum(sizes):
            raise FormatError("The memory of a cube is not complete.", hint="Restore it from where it was kept.")
        for size in sizes:
            ids = np.frombuffer(content, "<u8", size, at).astype(np.uint64)
            signs = np.frombuffer(content, "<i1", size, at + 8 * size).astype(np.int8)
            if (np.diff(ids) == 0).any() or (ids[1:] < ids[:-1]).any() or not np.isin(signs, (-1, 1)).all():
                raise FormatError("The memory of a cube is damaged.", hint="Restore it from where it was kept.")
            found.append(Directions(ids, signs))
            at += 9 * size
        return cls(signs=found[0], senses=found[1])
