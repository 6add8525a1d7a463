"""Covers of the lines of a full table: with its sensitive cells at their nearest ends, the best choice of signs still leaves something.

All sums of all choices are listed, for many lines at once; lines with too many choices for that get no cover of their own.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from statveil.core.arrays import BoolArray, IntArray
from statveil.solve.tensors import Tensors


class CoverTuning(NamedTuple):
    """How much is listed: by judgement."""

    most_choices: int = 14  # of a line; sums double with each
    at_once: int = 2**26  # sums
    in_all: int = 2**31  # on a GPU
    in_all_without: int = 2**26


TUNING = CoverTuning()


def line_covers(on: Tensors, up: IntArray, down: IntArray, sensitive: BoolArray) -> list[IntArray]:
    """For the inner lines of each axis, with that axis of size 1, what their changes add up to at the least.

    up, down: the least moves of every inner sensitive cell; where a sense is closed, the other one's negative.
    """
    budget = TUNING.in_all if on.name == "torch" else TUNING.in_all_without
    return [
        np.expand_dims(_covers_of_rows(on, *_as_rows(axis, up, down, sensitive), budget=budget // up.ndim), axis) for axis in range(up.ndim)
    ]


def _as_rows(axis: int, *tensors: np.ndarray) -> list[np.ndarray]:
    return [np.moveaxis(each, axis, -1) for each in tensors]


def _covers_of_rows(on: Tensors, up: IntArray, down: IntArray, sensitive: BoolArray, *, budget: int) -> IntArray:
    """Lines are along the last axis. Short lines come first: they gain most, and cost least."""
    least = np.where(sensitive, np.minimum(np.abs(up), np.abs(down)), 0).sum(axis=-1)
    counts = sensitive.sum(axis=-1)
    covers = least.copy()
    for count in range(1, TUNING.most_choices + 1):
        lines = np.flatnonzero(counts.ravel() == count)
        budget -= lines.size << count
        if budget < 0:
            break
        if lines.size == 0:
            continue
        held = sensitive.reshape(-1, sensitive.shape[-1])[lines]
        ups = up.reshape(-1, up.shape[-1])[lines][held].reshape(lines.size, count)
        downs = down.reshape(-1, down.shape[-1])[lines][held].reshape(lines.size, count)
        width = max(1, TUNING.at_once >> count)
        for first in range(0, lines.size, width):
            part = slice(first, first + width)
            covers.ravel()[lines[part]] += _imbalances(on, ups[part], downs[part])
    return covers


def _imbalances(on: Tensors, ups: IntArray, downs: IntArray) -> IntArray:
    """The least size of a sum of one move of each cell, line by line."""
    steps = on.put((ups + downs).T, "int")
    sums = on.put(-downs.sum(axis=1)[:, np.newaxis], "int")
    for step in steps:
        sums = on.join([sums, sums + step[:, None]], 1)
    return np.asarray(on.fetch(-on.most(-abs(sums), 1))[:, 0], dtype=np.int64)
