"""What later editions know."""

from __future__ import annotations

import numpy as np
import pytest

from statveil.core.errors import FormatError
from statveil.server.cube.memory import CubeMemory, Directions


def test_what_is_known_stays_and_what_is_new_is_added() -> None:
    known = Directions().with_new(np.array([7, 3], np.uint64), np.array([1, -1]))
    more = known.with_new(np.array([3, 9], np.uint64), np.array([1, -1]))
    assert more.look_up(np.array([3, 7, 9, 4], np.uint64)).tolist() == [-1, 1, -1, 0]


def test_bytes_and_back_and_damage_is_refused() -> None:
    memory = CubeMemory(signs=Directions().with_new(np.array([1, 2], np.uint64), np.array([1, -1])))
    content = memory.to_bytes()
    assert CubeMemory.from_bytes(content).to_bytes() == content
    for damaged in (b"", content[:-1], content[:-1] + b"\x05"):
        with pytest.raises(FormatError):
            CubeMemory.from_bytes(damaged)
