"""A pattern by cheapest deviations: every need has a witness, and what none needs any more is given up."""

from __future__ import annotations

import time

import numpy as np

from statveil.suppress.cells.classes import ClassSystem, classes_of
from statveil.suppress.cells.heuristic import Cover, construct, improve, moved
from tests.reference.suppression import is_safe
from tests.suppress.cells.stories import grid

TABLE = grid([[20, 50, 10], [8, 19, 22], [17, 32, 12]], {0: 4})


def cover_of(system: ClassSystem) -> Cover:
    return construct(system, time.monotonic() + 600)


def test_one_cell_takes_the_three_cheapest_corners_of_a_square() -> None:
    system = classes_of(TABLE)
    cover = cover_of(system)
    assert cover.suppressed.sum() == 4
    assert cover.cost == 3 * 1000, "the sensitive cell itself costs nothing more"


def test_every_need_has_a_witness_among_what_is_suppressed() -> None:
    system = classes_of(TABLE)
    cover = cover_of(system)
    assert set(cover.proofs) == set(system.needs)
    for proof in cover.proofs.values():
        assert cover.suppressed[moved(proof)].all()


def test_improving_makes_nothing_dearer_and_leaves_it_safe() -> None:
    problem = grid([[20, 50, 10], [8, 19, 22], [17, 32, 12]], {0: 4, 5: 8, 10: 3})
    system = classes_of(problem)
    cover = cover_of(system)
    before = cover.cost
    improve(cover, system.needs)
    assert cover.cost <= before
    assert is_safe(problem, np.asarray(system.cells(cover.suppressed) | problem.primary))
