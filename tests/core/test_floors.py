"""How levels are to be raised, checked at the door."""

from __future__ import annotations

from typing import Any

import pytest

from statveil.core.errors import InputError
from statveil.core.floors import AS_GIVEN, Floors
from statveil.core.secret import SecretKey


@pytest.mark.parametrize(
    ("wish", "words"),
    [
        ({"scheme": "dice"}, "'drawn' or 'exact', not 'dice'"),
        ({"cap": 1}, "more than 1 and at most 10"),
        ({"cap": 10.5}, "more than 1 and at most 10"),
        ({"cap": True}, "more than 1 and at most 10"),
        ({"cap": "2"}, "more than 1 and at most 10"),
        ({"cap": float("nan")}, "more than 1 and at most 10"),
        ({"key": "5e" * 32}, "must be a SecretKey"),
        ({"tiny": 1}, "must be true or false"),
        ({"coalitions": "yes"}, "must be true or false"),
    ],
)
def test_odd_floors_are_refused(wish: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words) as refused:
        Floors(**wish)
    assert "5e5e" not in str(refused.value)


def test_floors_do_not_show_their_key() -> None:
    assert "SecretKey(***)" in repr(Floors(key=SecretKey(b"k" * 32), cap=10))


def test_levels_as_given_ask_for_nothing() -> None:
    assert (AS_GIVEN.scheme, AS_GIVEN.tiny, AS_GIVEN.coalitions, AS_GIVEN.key) == ("exact", False, False, None)
