"""What a run is asked besides the job."""

from __future__ import annotations

import pytest

from statveil.core.errors import InputError
from statveil.desk.work.kinds import COMPARE, EVALUATE, FRONT, PREPARE, PROTECT, SERVE, WORKS, comparison_wish, methods
from statveil.jobs.compare.methods import COMPARED


def test_every_kind_has_its_work_and_every_method_its_words() -> None:
    assert set(WORKS) == {PROTECT, COMPARE, FRONT, EVALUATE, PREPARE, SERVE}
    assert list(methods()) == list(COMPARED)


def test_a_wish_names_methods_and_a_base() -> None:
    assert comparison_wish(["rounding"], "5") == {"methods": ["rounding"], "base": 5}
    assert comparison_wish([], "") == {"methods": [], "base": None}
    with pytest.raises(InputError):
        comparison_wish(["nothing"], "")
