"""The way back from one release: units, and parts of systems that are too large."""

from __future__ import annotations

import dataclasses

import numpy as np
from scipy.sparse import csr_matrix

from statveil.audit.attacks.case import ReverseProblem, SystemOriginals
from statveil.audit.attacks.one_table.reverse_optimisation import part_of, reversed_verdict
from statveil.audit.attacks.public import ReleasedSystem


def chain(rows: int, *, value: int = 1000) -> tuple[ReleasedSystem, SystemOriginals]:
    """Cells in a row, each with the next two in a sum: 0 + 1 = 2, 2 + 3 = 4, ... Every cell is sensitive."""
    cells = 2 * rows + 1
    matrix = np.zeros((rows, cells), dtype=np.int64)
    for number in range(rows):
        matrix[number, 2 * number : 2 * number + 3] = (1, 1, -1)
    flat = np.full(cells, value)
    public = ReleasedSystem(
        relations=csr_matrix(matrix),
        rhs=np.zeros(rows, dtype=np.int64),
        released=flat,
        low=np.zeros(cells),
        high=np.full(cells, np.inf),
        known_bounds=False,
    )
    level = np.full(cells, 100)
    return public, SystemOriginals(value=flat - 100, sensitive=np.ones(cells, dtype=bool), lower=level, upper=level)


def test_a_part_of_a_large_system_keeps_the_relations_that_lie_in_it() -> None:
    rng = np.random.Generator(np.random.PCG64(1))
    public, secret = chain(50)
    assert part_of(public, secret, 101, rng)[0] is public
    less, part = part_of(public, secret, 20, rng)
    assert part.value.size == less.released.size == less.relations.shape[1] == 20
    assert 0 < less.relations.shape[0] < 50
    assert (np.diff(less.relations.indptr) == 3).all()


def test_a_part_ends_where_relations_end() -> None:
    public, secret = chain(3)
    alone = dataclasses.replace(public, relations=csr_matrix((3, 7), dtype=np.int64))
    less, part = part_of(alone, secret, 5, np.random.Generator(np.random.PCG64(1)))
    assert part.value.size == 1
    assert less.relations.shape == (0, 1)


def test_a_system_without_sensitive_cells_is_left_whole() -> None:
    public, secret = chain(3)
    nothing = dataclasses.replace(secret, sensitive=np.zeros(7, dtype=bool))
    assert part_of(public, nothing, 5, np.random.Generator(np.random.PCG64(1)))[0] is public


def test_the_way_back_is_looked_for_in_published_units() -> None:
    """Published in thousands: the solver is given 1 and a level of 1, and what it says is meant in thousands."""
    public, secret = chain(1)
    heard: list[ReverseProblem] = []

    def reverse(task: ReverseProblem) -> np.ndarray:
        heard.append(task)
        return task.published.released - 1

    verdict = reversed_verdict([(public, dataclasses.replace(secret, upper=secret.upper * 150))], reverse, 2.0, unit=1000)
    assert heard[0].published.released.tolist() == [1, 1, 1]
    assert heard[0].upper.tolist() == [15, 15, 15]
    assert heard[0].lower.tolist() == [1, 1, 1]
    assert verdict.figures["cells"] == 3
    assert verdict.figures["recovered within 0.1 p"] == 1.0


def test_bounds_that_a_reader_knows_leave_sensitive_cells_room_for_their_levels() -> None:
    """Others lie within 20% of the truth. A sensitive cell of 1,000 that had to move by 300 does not, and its reader knows it."""
    public, secret = chain(1)
    narrow = dataclasses.replace(public, low=np.full(3, 833.0), high=np.full(3, 1250.0), known_bounds=True)
    levels = np.array([300, 300, 300])
    secret = dataclasses.replace(secret, sensitive=np.array([True, False, False]), lower=levels, upper=levels)
    wide = secret.bounds_around(narrow)
    assert wide.low.tolist() == [700, 833, 833]
    assert wide.high.tolist() == [1300, 1250, 1250]
    assert secret.bounds_around(public).low.tolist() == [0, 0, 0]
    heard: list[ReverseProblem] = []
    reversed_verdict([(narrow, secret)], heard.append, 2.0)
    assert heard[0].published.low.tolist() == [700, 833, 833]
