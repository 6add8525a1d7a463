"""Patterns as arrays: what does not fit is refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from statveil.audit.patterns import audit as module
from statveil.audit.patterns.audit import audit_pattern
from statveil.audit.patterns.witnesses import WitnessBook
from statveil.core.errors import InputError
from tests.audit.patterns.hidden import SQUARE, TABLE
from tests.audit.patterns.stories import grid


def test_a_table_that_is_none_is_not_believed() -> None:
    pattern = grid(TABLE, SQUARE, [0])
    cells = np.array(SQUARE)
    matrix = module._between(pattern, cells)
    book = WitnessBook(matrix, *module._room(pattern, cells), (np.ones(4, np.int64), np.ones(4, np.int64)))
    assert not book.keep(np.array([100.0, 100.0, 100.0, 100.0]))  # mended to a table that adds up, it leaves the bounds
    assert book.keep(np.zeros(4))
    assert book.keep(np.array([0.5, -0.5, -0.5, 0.5]) * 3)
    assert book.up.tolist() == [2, 10, 10, 2]  # rounded it is a table still; turned round, it goes until the 10 is nothing
    assert book.down.tolist() == [10, 2, 2, 10]


def test_amounts_beyond_machine_integers_are_checked_without_end() -> None:
    large = 2**52
    found = audit_pattern(grid([[large, large, 30], [large, large, 60]], SQUARE, [0], level=2**51))
    assert found.passed
    assert found.up[0] >= 2**51


def test_columns_that_do_not_fit() -> None:
    pattern = grid(TABLE, SQUARE, [0])
    with pytest.raises(InputError, match="as long as"):
        replace(pattern, upper=pattern.upper[1:])
    with pytest.raises(InputError, match="whole factors"):
        replace(pattern, relations=pattern.relations.astype(np.float64))
    with pytest.raises(InputError, match="outside"):
        replace(pattern, lower=pattern.value + 1)
