"""Words are completed in bash, zsh and fish."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from statveil.cli.app import app


def invoke(**environment: str) -> str:
    ran = CliRunner().invoke(app, [], env=environment, prog_name="statveil")
    assert ran.exit_code == 0
    return ran.output


@pytest.mark.parametrize(
    ("shell", "words"),
    [pytest.param("bash", "complete ", marks=pytest.mark.slow), ("zsh", "#compdef statveil"), ("fish", "complete --command statveil")],
)
def test_each_shell_has_its_script(shell: str, words: str) -> None:
    assert words in invoke(_STATVEIL_COMPLETE=f"source_{shell}")


def test_new_words_are_offered_and_old_ones_are_not() -> None:
    assert invoke(_STATVEIL_COMPLETE="complete_bash", COMP_WORDS="statveil pro", COMP_CWORD="1").split() == ["protect"]
