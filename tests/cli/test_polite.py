"""Every error has its exit code and no traceback, and tells no value."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from statveil.core import errors
from tests.cli.stories import failing, run, told


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.InputError("x", hint="y"), 2),
        (errors.InfeasibleProblem("x", hint="y"), 3),
        (errors.NoTableFound("x", hint="y"), 4),
        (errors.OutOfTime("x", hint="y"), 4),
        (errors.AuditFailed("x", hint="y"), 5),
        (errors.SolverFailed("x", hint="y"), 6),
        (errors.DisclosureRefused("x", hint="y"), 7),
        (KeyboardInterrupt(), 130),
    ],
)
def test_every_error_has_its_exit_code(village: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException, code: int) -> None:
    failing(monkeypatch, error)
    result = run("protect", village / "job.toml", "--out", village / "out")
    assert result.exit_code == code
    assert result.stdout == ""
    told(result)
    as_json = run("protect", village / "job.toml", "--out", village / "out", "--json")
    assert as_json.exit_code == code
    assert json.loads(as_json.stdout)["error"]["exit_code"] == code
    assert not (village / "out").exists()


def test_an_internal_error_tells_no_value(village: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    failing(monkeypatch, RuntimeError("the vet earns 900"))
    result = run("protect", village / "job.toml", "--out", village / "out")
    assert result.exit_code == 1
    assert "900" not in told(result)
    assert "--debug" in result.output
    debugged = run("protect", village / "job.toml", "--out", village / "out", "--debug")
    assert isinstance(debugged.exception, RuntimeError)
