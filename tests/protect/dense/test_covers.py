"""Covers of lines against all choices of signs."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from statveil.protect.dense import covers
from statveil.protect.dense.covers import line_covers
from statveil.solve.tensors import Tensors


def test_each_line_is_covered_by_what_its_best_signs_leave() -> None:
    rng = np.random.default_rng(0)
    shape = (4, 5, 3)
    held = rng.random(shape) < 0.5
    up, down = (np.where(held, rng.integers(1, 30, shape), 0) for _ in range(2))
    for axis, found in enumerate(line_covers(Tensors(0), up, down, held)):
        assert found.shape == tuple(1 if k == axis else size for k, size in enumerate(shape))
        lines = [np.moveaxis(each, axis, -1).reshape(-1, shape[axis]) for each in (up, down, held)]
        for ups, downs, chosen, cover in zip(*lines, found.ravel(), strict=True):
            ends = [(rise, -fall) for rise, fall, sensitive in zip(ups, downs, chosen, strict=True) if sensitive]
            least = sum(min(map(abs, each)) for each in ends)
            assert cover == least + min(abs(sum(signs)) for signs in itertools.product(*ends))


def test_a_line_of_too_many_choices_has_the_least_sizes_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(covers, "TUNING", covers.TUNING._replace(most_choices=2, in_all_without=60))
    level = np.array([[3, 5, 0], [7, 1, 2]])
    rows, columns = line_covers(Tensors(0), level, level, level > 0)[::-1]
    assert rows.ravel().tolist() == [8 + 2, 10]
    assert columns.ravel().tolist() == [10 + 4, 6 + 4, 2 + 2]
