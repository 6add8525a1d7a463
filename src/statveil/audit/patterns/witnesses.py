"""Tables that a reader cannot tell from the true one, checked in whole numbers: what is between them and the truth stays hidden."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_matrix

from statveil.core.arrays import BoolArray, FloatArray, IntArray

DENOMINATORS = (1, 2, 3, 4, 6, 12, 60, 420)
"""A vertex of a table's program has small fractions; each table is tried in units of these parts."""


class WitnessBook:
    """The farthest that verified tables reach below and above each value; `need` says how far is enough."""

    def __init__(self, matrix: csr_matrix, down: IntArray, up: IntArray, need: tuple[IntArray, IntArray]) -> None:
        self.matrix, self.room = matrix, (down, up)
        self.need = need
        self.down, self.up = np.zeros(down.size, dtype=np.int64), np.zeros(down.size, dtype=np.int64)

    def still_open(self) -> tuple[BoolArray, BoolArray]:
        return self.down < self.need[0], self.up < self.need[1]

    def keep(self, deviation: FloatArray) -> bool:
        """Believe a table if it is one, in whole parts of a unit; it counts in both directions, as far as there is room."""
        for parts in DENOMINATORS:
            whole = np.rint(deviation * parts)
            if np.abs(whole).max(initial=0) < 2**53 and self._holds(whole.astype(np.int64), parts):
                self._note(whole.astype(np.int64), parts)
                return True
        return False

    def _holds(self, whole: IntArray, parts: int) -> bool:
        low, high = self.room
        within = (-whole <= low * parts) & (whole <= high * parts)
        return bool(within.all()) and not (self.matrix @ whole).any()

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
