"""How long a node is worked on: until it proves enough, or what it promises no longer moves."""

from __future__ import annotations

import math
from typing import Any, cast

import numpy as np

from statveil.protect.bounds.ascent import TUNING, Ascent
from statveil.protect.bounds.copy_model import CopyModel, Worth
from statveil.protect.bounds.copy_steps import CopyNode


class Told:
    """A model whose steps promise what it is told, and prove half of it; mended, they prove all but one."""

    def __init__(self, promises: list[float]) -> None:
        self.promises, self.mended = promises, 0

    def worth(self, *_: object) -> Worth:
        return _worth(0.0, 0.0)

    def step(self, _node: object, _count: int) -> Worth:
        promised = self.promises.pop(0) if len(self.promises) > 1 else self.promises[0]
        return _worth(promised / 2, promised)

    def with_triangles(self, node: object) -> object:
        return node

    def fitted(self, _node: object, found: Worth) -> Worth:
        self.mended += 1
        return _worth(found.promised - 1, found.promised)


def _worth(bound: float, promised: float) -> Worth:
    none = np.zeros(0, dtype=np.float32)
    return Worth(bound, promised, 1.0, none, none, none, np.zeros((0, 0)))


def climbed(promises: list[float], enough: float, end: float = math.inf) -> tuple[Ascent, Told]:
    model = Told(promises)
    none: Any = np.zeros(0, dtype=np.float32)
    ascent = Ascent(cast("CopyModel", model), CopyNode(*[none] * 13))
    ascent.climb(enough, end)
    return ascent, model


def test_it_ends_when_it_proves_enough() -> None:
    ascent, model = climbed([20.0, 40.0, 80.0], enough=15)
    assert (ascent.looks, ascent.best.bound, model.mended) == (2, 20, 0)


def test_it_ends_when_nothing_moves_and_is_mended_once() -> None:
    ascent, model = climbed([4.0], enough=15)
    assert ascent.looks == TUNING.first
    assert (ascent.best.bound, model.mended) == (3, 1)


def test_who_promises_enough_is_mended_early() -> None:
    ascent, model = climbed([16.5], enough=15)
    assert ascent.looks == 4  # the first even look from the third on
    assert (ascent.best.bound, model.mended) == (15.5, 1)


def test_it_ends_whatever_happens() -> None:
    ascent, model = climbed([0.0, 900.0] * 20, enough=1000)
    assert ascent.looks == TUNING.most
    assert (ascent.best.bound, model.mended) == (899, 1)


def test_the_clock_ends_it_between_two_looks() -> None:
    ascent, model = climbed([20.0, 40.0, 80.0], enough=15, end=0.0)
    assert (ascent.looks, ascent.best.bound, model.mended) == (0, 0, 0)
