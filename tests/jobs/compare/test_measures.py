"""Loss and risk of answers made by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from statveil.core.arrays import IntArray
from statveil.jobs.compare.compare import judged_table
from statveil.jobs.compare.measures import loss_of, risk_of
from statveil.jobs.compare.methods import JudgedTable, MethodAnswer
from tests.jobs.compare.stories import village


@pytest.fixture
def judged(tmp_path: Path) -> JudgedTable:
    return judged_table(village(tmp_path))


def answer(released: IntArray, *, reach: float | None = None) -> MethodAnswer:
    low, high = (np.zeros(released.size), np.full(released.size, np.inf)) if reach is None else (released - reach, released + reach)
    return MethodAnswer(released=released, shown=np.ones(released.size, dtype=np.bool_), low=np.asarray(low, dtype=np.float64),
                        high=np.asarray(high, dtype=np.float64), known_bounds=reach is not None, parameters="", quality="")  # fmt: skip


def test_the_truth_itself_loses_nothing_and_tells_everything(judged: JudgedTable) -> None:
    made = answer(judged.table.value.copy())
    loss, risk = loss_of(judged, made), risk_of(judged, made, seed=0)
    assert (loss.cells, loss.moved, loss.suppressed, loss.lost, loss.broken) == (12, 0, 0, 0.0, 0)
    assert (loss.correlation, loss.slope, loss.variance_ratio) == (pytest.approx(1), pytest.approx(1), pytest.approx(1))
    assert (risk.sensitive, risk.close, risk.exact, risk.safe, risk.disclosed) == (1, 1, 1, False, 1.0)


def test_bounds_that_a_method_publishes_pin_the_only_vet_down(judged: JudgedTable) -> None:
    vet = int(np.flatnonzero(judged.found.sensitive)[0])
    level = int(judged.found.upper_level[vet])
    released = judged.table.value.copy()
    released[vet] += level
    assert risk_of(judged, answer(released), seed=0).safe
    wide = risk_of(judged, answer(released, reach=3.0 * level), seed=0)
    assert (wide.close, wide.narrow, wide.cut, wide.looked) == (0, 0, 0, 1)
    assert risk_of(judged, answer(released, reach=level / 2), seed=0).narrow == 1


def test_sums_pin_down_what_bounds_alone_leave_open(judged: JudgedTable) -> None:
    """All other cells are known: the vet's interval is the room of the sums around it, which is none."""
    vet = int(np.flatnonzero(judged.found.sensitive)[0])
    made = answer(judged.table.value.copy(), reach=0.0)
    low, high = made.low.copy(), made.high.copy()
    low[vet], high[vet] = 0.0, 10_000.0
    open_one = MethodAnswer(released=made.released, shown=made.shown, low=low, high=high, known_bounds=True, parameters="", quality="")
    risk = risk_of(judged, open_one, seed=0)
    assert (risk.narrow, risk.cut, risk.looked) == (0, 1, 1)


def test_a_suppressed_cell_is_lost(judged: JudgedTable) -> None:
    shown = np.ones(judged.table.size, dtype=np.bool_)
    shown[:3] = False
    made = answer(judged.table.value.copy())
    loss = loss_of(judged, MethodAnswer(**{**vars(made), "shown": shown}))
    assert (loss.suppressed, loss.moved, loss.lost) == (3, 0, pytest.approx(3 / 12))


def test_nothing_varies_where_one_cell_is_left(judged: JudgedTable) -> None:
    shown = np.zeros(judged.table.size, dtype=np.bool_)
    shown[0] = True
    loss = loss_of(judged, MethodAnswer(**{**vars(answer(judged.table.value.copy())), "shown": shown}))
    assert loss.correlation is None
