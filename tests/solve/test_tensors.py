"""NumPy and PyTorch behind one interface; what is not there is refused in words."""

from __future__ import annotations

import numpy as np
import pytest

from statveil.core.errors import InputError
from statveil.solve import tensors
from statveil.solve.tensors import Tensors, tensors_on

PLACES = ["cpu", pytest.param("torch-cpu", marks=pytest.mark.skipif(not tensors.has_torch(), reason="PyTorch is not installed"))]


@pytest.mark.parametrize("place", PLACES)
def test_both_libraries_answer_alike(place: str) -> None:
    on = tensors_on(place, 0)
    given = np.array([[1.5, -2.0, 4.0], [0.25, 8.0, -1.0]])
    x = on.put(given, "float")
    assert on.total(x) == given.sum()
    assert on.fetch(on.most(x, 1)).tolist() == [[4.0], [8.0]]
    assert on.fetch(on.join([x, x], 0)).shape == (4, 3)
    assert on.fetch(on.cast(x > 1, "int")).tolist() == [[1, 0, 1], [0, 1, 0]]
    assert on.fetch(on.zeros((2, 1), "int")).tolist() == [[0], [0]]
    luck = on.fetch(on.random((1000,)))
    assert 0 <= luck.min() < 0.1
    assert 0.9 < luck.max() <= 1
    assert (luck == on.fetch(tensors_on(place, 0).random((1000,)))).all()
    calls: list[int] = []
    on.recorded(lambda: calls.append(1))()
    on.finish()
    assert calls == [1]


def test_what_is_fetched_or_put_is_a_copy() -> None:
    on, given = Tensors(0), np.zeros(2)
    on.put(given, "double")[0] = 1
    on.fetch(given)[0] = 1
    assert given.tolist() == [0, 0]


def test_places_that_are_not_there_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tensors, "has_gpu", lambda: False)
    monkeypatch.setattr(tensors, "has_torch", lambda: False)
    assert tensors_on("auto", 0).name == "numpy"
    for place, words in (("gpu", "No GPU is seen"), ("torch-cpu", "PyTorch is not installed"), ("moon", "place to compute")):
        with pytest.raises(InputError, match=words):
            tensors_on(place, 0)


def test_without_pytorch_there_is_no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tensors, "has_torch", lambda: False)
    tensors.has_gpu.cache_clear()
    try:
        assert not tensors.has_gpu()
    finally:
        tensors.has_gpu.cache_clear()
