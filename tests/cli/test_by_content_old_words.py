"""Words of earlier versions still work, and name their successors."""

from __future__ import annotations

from pathlib import Path

import pytest

from statveil.cli.by_content import NEW_WORDS
from tests.cli.stories import run, told


@pytest.mark.parametrize("word", sorted(NEW_WORDS))
def test_an_old_word_has_help_and_names_the_new_one(word: str) -> None:
    asked = run(word, "--help")
    assert asked.exit_code == 0
    assert f"`statveil {NEW_WORDS[word]}`" in told(asked)


@pytest.mark.parametrize("word", sorted(NEW_WORDS))
def test_help_lists_the_new_words_only(word: str) -> None:
    assert f"\n  {word} " not in run("--help").output


def test_nothing_is_said_where_the_error_stream_holds_json(tmp_path: Path) -> None:
    assert "is now" not in told(run("audit", tmp_path, "--json"))
