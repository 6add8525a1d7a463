"""Random block coordinate descent (S3 section 3, "random-BCD"): the senses of one block at a time, all others kept."""

from __future__ import annotations

import numpy as np

from statveil.core.arrays import IntArray
from statveil.protect.search.exact import improve_block
from statveil.protect.search.papers import sat
from statveil.protect.search_state import Search


def run(search: Search, *, blocks: int = 10, gap: float = 0.01, seconds: float = 20.0, patience: int = 3) -> None:
    """Method `bcd`: blocks drawn anew in each outer iteration, until `patience` iterations in a row bring nothing.

    `gap` and `seconds` end a block's branch and bound. S3 found 5 to 10 blocks and gaps of 1 to 10% alike.
    """
    sat.begin(search)
    idle = turn = 0
    while search.best is not None and idle < patience and not search.done:
        turn += 1
        search.enter(f"blocks, round {turn}")
        before = search.objective
        for block in random_blocks(search.problem.choices, blocks, search.rng):
            if search.done:
                return
            improve_block(search, block, seconds=seconds, gap=gap)
        idle = 0 if search.objective < before else idle + 1


def random_blocks(cells: IntArray, blocks: int, rng: np.random.Generator) -> list[IntArray]:
    """The cells shuffled and dealt into blocks whose sizes differ by one at most; fewer blocks where there are fewer cells."""
    return [np.sort(part) for part in np.array_split(rng.permutation(cells), max(blocks, 1)) if part.size]
