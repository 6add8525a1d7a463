"""Tables that a reader cannot tell from the true one, checked in whole numbers: what is between them and the truth stays hidden."""

from __future__ import annotations

from fractions import Fraction
from math import floor, lcm

import numpy as np
from scipy.sparse import csr_matrix

from statveil.audit.patterns.vertices import exact_corner, times
from statveil.core.arrays import BoolArray, FloatArray, IntArray

QUICK_PARTS = (1, 2, 3, 4, 6, 12)
"""Most corners have such denominators, and are checked in machine integers; the others are worked out as fractions."""


class WitnessBook:
    """The farthest that verified tables reach below and above each value; `need` says how far is enough."""

    def __init__(self, matrix: csr_matrix, down: IntArray, up: IntArray, need: tuple[IntArray, IntArray]) -> None:
        self.matrix, self.room = matrix, (down, up)
        self.need = need
        self.down, self.up = np.zeros(down.size, dtype=np.int64), np.zeros(down.size, dtype=np.int64)
        self.widest = int(abs(matrix).sum(axis=1).max()) if matrix.nnz else 1

    def still_open(self) -> tuple[BoolArray, BoolArray]:
        return self.down < self.need[0], self.up < self.need[1]

    def keep(self, deviation: FloatArray) -> bool:
        """Believe a table if it is one, in whole parts of a unit; it counts in both directions, as far as there is room."""
        for parts in QUICK_PARTS:
            whole = np.rint(deviation * parts)
            if self._fits_machine(whole, parts) and self._holds(whole.astype(np.int64), parts):
                self._note(whole.astype(np.int64), parts)
                return True
        return self._keep_corner(deviation)

    def _fits_machine(self, whole: FloatArray, parts: int) -> bool:
        """Whether sums and bounds stay below 2^62: beyond, machine integers would turn over."""
        most = max(int(self.room[0].max(initial=0)), int(self.room[1].max(initial=0))) * parts
        return bool(np.abs(whole).max(initial=0) * self.widest < 2**62) and most < 2**62

    def _holds(self, whole: IntArray, parts: int) -> bool:
        low, high = self.room
        within = (-whole <= low * parts) & (whole <= high * parts)
        return bool(within.all()) and not (self.matrix @ whole).any()

    def _keep_corner(self, deviation: FloatArray) -> bool:
        """A corner with other fractions, if it would show anything that is not shown yet."""
        opened = self.still_open()
        news = (opened[0] & (-deviation >= self.down + 1)) | (opened[1] & (deviation >= self.up + 1))
        corner = exact_corner(self.matrix, deviation, *self.room) if news.any() else None
        if corner is None:
            return False
        parts = lcm(*(each.denominator for each in corner))
        whole = [int(each * parts) for each in corner]
        low, high = (each.tolist() for each in self.room)
        within = all(-below * parts <= each <= above * parts for each, below, above in zip(whole, low, high, strict=True))
        if not within or any(times(self.matrix, whole)):
            return False
        self._note_corner(corner)
        return True

    def _note_corner(self, corner: list[Fraction]) -> None:
        self._reach(corner)
        low, high = (each.tolist() for each in self.room)
        factors = [Fraction(low[at] if each > 0 else high[at]) / abs(each) for at, each in enumerate(corner) if each]
        if factors:
            turned = -min(factors)
            self._reach([each * turned for each in corner])

    def _reach(self, table: list[Fraction]) -> None:
        self.up = np.maximum(self.up, np.array([floor(each) for each in table], dtype=np.int64))
        self.down = np.maximum(self.down, np.array([floor(-each) for each in table], dtype=np.int64))

    def _note(self, whole: IntArray, parts: int) -> None:
        """A table less the truth, as it is, and turned round as far as every bound allows: both are possible."""
        self.up = np.maximum(self.up, whole // parts)
        self.down = np.maximum(self.down, -whole // parts)
        moved = np.flatnonzero(whole)
        if not moved.size:
            return
        times, over = self._most_turned(whole[moved], np.where(whole > 0, *self.room)[moved])
        turned = np.array([-each * times // over for each in whole[moved].tolist()], dtype=np.int64)
        back = np.array([each * times // over for each in whole[moved].tolist()], dtype=np.int64)
        self.up[moved], self.down[moved] = np.maximum(self.up[moved], turned), np.maximum(self.down[moved], back)

    @staticmethod
    def _most_turned(moves: IntArray, room: IntArray) -> tuple[int, int]:
        """A factor times / over that, with the sign turned, keeps every move within its room: checked in whole numbers."""
        tightest = int(np.argmin(room / np.abs(moves)))  # of quotients that look alike the check below tells which is less
        times, over = int(room[tightest]), int(abs(moves[tightest]))
        fits = all(abs(move) * times <= space * over for move, space in zip(moves.tolist(), room.tolist(), strict=True))
        return (times, over) if fits else (0, 1)
