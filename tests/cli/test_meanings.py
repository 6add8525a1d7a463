"""`statveil explain`: every error and every exit code."""

from __future__ import annotations

from statveil.cli.meanings import MEANINGS
from statveil.core import errors
from tests.cli.stories import run, told


def test_every_error_of_the_tree_is_explained() -> None:
    tree = {name for name, kind in vars(errors).items() if isinstance(kind, type) and issubclass(kind, errors.StatveilError)}
    assert set(MEANINGS) == tree - {"StatveilError"}
    for name in MEANINGS:
        assert f"(exit code {getattr(errors, name).exit_code})" in run("explain", name.lower()).output
    assert run("explain").output.count("\n") == len(MEANINGS)


def test_an_attack_that_learns_too_much_is_not_called_a_fault_of_statveil() -> None:
    """`protect` ends with 5 for both."""
    assert "an attack learns more" in MEANINGS["AuditFailed"].what
    assert MEANINGS["AuditFailed"].do.startswith("Where an attack is named")


def test_every_exit_code_is_explained() -> None:
    for code in (*range(8), 130):
        assert run("explain", str(code)).exit_code == 0
    assert "AuditFailed" in run("explain", "5").output
    assert run("explain", "99").exit_code == 2
    result = run("explain", "AuditFaild")
    assert result.exit_code == 2
    assert "Did you mean AuditFailed?" in told(result)
