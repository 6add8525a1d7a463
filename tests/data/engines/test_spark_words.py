"""Words of ours as they are written into a query of Spark's; what they mean is tested in a session, in `test_spark.py`."""

from __future__ import annotations

import re

from statveil.data.engines.protocol import WORDS
from statveil.data.engines.spark import in_sparks_words


def test_words_within_words_are_replaced_and_nothing_else() -> None:
    assert in_sparks_words("SELECT byte_length(byte_length(c0)), my_byte_length(c1) FROM records") == (
        "SELECT octet_length(octet_length(c0)), my_byte_length(c1) FROM records"
    )


def test_brackets_and_commas_in_a_text_are_no_arguments() -> None:
    assert in_sparks_words("rounded(coalesce(c0, 1), length('),('))") == "statveil_rounded(coalesce(c0, 1), length('),('))"


def test_every_word_is_replaced() -> None:
    given = {"whole_match": "c0, 'a'", "rounded": "c0, c1", "decimal_text": "c0, 2, '.'"}
    for word in WORDS:
        assert not re.search(rf"\b{word}\(", in_sparks_words(f"{word}({given.get(word, 'c0')})"))
