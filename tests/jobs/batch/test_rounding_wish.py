"""RND of a batch: every number is obeyed or refused."""

from __future__ import annotations

import pytest

from statveil.core.errors import FormatError
from statveil.formats.argus.batch_commands import Suppress
from statveil.formats.argus.lines import ArgusLine
from statveil.jobs.batch.rounding_wish import RoundingWish, rounding_wish


def command(*words: str) -> Suppress:
    return Suppress(line=ArgusLine("x.arb", 3, "<SUPPRESS>"), method="RND", table=1, arguments=words)


@pytest.mark.parametrize(
    ("words", "wish"),
    [
        (("5",), RoundingWish(base=5, steps=0, minutes=10)),
        (("5", "1", "2", "0", "3", "1"), RoundingWish(base=5, steps=1, minutes=2)),
        (("100", "", "1"), RoundingWish(base=100, steps=0, minutes=1)),
    ],
)
def test_what_is_left_out_has_its_usual_meaning(words: tuple[str, ...], wish: RoundingWish) -> None:
    assert rounding_wish(command(*words)) == wish


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((), "rounding reads RND"),
        (("five",), "rounding reads RND"),
        (("5", "0", "1", "0", "2", "1", "9"), "rounding reads RND"),
        (("1",), "a base from 2 on"),
        (("5", "0", "0"), "a minute or more"),
        (("5", "0", "1", "0", "4"), "1, 2 or 3 for how to stop"),
        (("5", "0", "1", "2"), "by partitions"),
        (("5", "0", "1", "0", "2", "3"), "by partitions"),
    ],
)
def test_what_cannot_be_obeyed_is_refused_with_its_line(words: tuple[str, ...], told: str) -> None:
    with pytest.raises(FormatError, match=rf"x\.arb, line 3: .*{told}"):
        rounding_wish(command(*words))
