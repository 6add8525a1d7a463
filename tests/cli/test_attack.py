"""`statveil attack`: targets of all kinds, the report, the exit code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyarrow.parquet import write_table
from typer.testing import CliRunner

from statveil.cli import attack as command
from statveil.cli.app import app
from statveil.examples.register import register
from statveil.workflow import adjust_system
from tests.attacked.test_folders import JJ
from tests.attacked.test_service import CONFIG

LITTLE = ("--tables", "4", "--sets", "4", "--pairs", "10", "--cells", "5")


@pytest.fixture
def server(tmp_path: Path) -> Path:
    write_table(register(800), tmp_path / "firms.parquet")
    (tmp_path / "server.toml").write_text(CONFIG, encoding="utf-8")
    return tmp_path / "server.toml"


def run(*arguments: object) -> tuple[int, str, str]:
    found = CliRunner().invoke(app, ["attack", *map(str, arguments)])
    return found.exit_code, found.stdout, found.stderr


def test_a_system_that_can_be_guessed_ends_with_the_exit_code_of_a_failed_check(tmp_path: Path) -> None:
    original = tmp_path / "small.jj"
    original.write_text(JJ, encoding="ascii")
    solution = adjust_system(original, method="exact").solution
    code, told, _ = run(original, solution, "--out", tmp_path / "report.html")
    assert code == command.FAILED
    assert "T11  FAILED" in told
    assert "T01  passed" in told
    assert (tmp_path / "report.html").is_file()
    content = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    assert content["target"] == "small.sol"


def test_a_server_is_attacked_on_a_private_copy(server: Path) -> None:
    code, told, heard = run(server, "--only", "T02,T22", "--json", "--out", server.with_name("a.html"), *LITTLE)
    content = json.loads(told)
    assert code == 0, told
    assert [each["verdict"] for each in content["verdicts"]] == ["passed", "passed"]
    assert "T02 averaging" in heard
    assert not server.with_name("store.sqlite").exists()


def test_the_paper_s_mode_on_request(server: Path) -> None:
    code, told, _ = run(server, "--only", "T02", "--mode", "section4", "--dataset", "firms", "--out", server.with_name("a.html"), *LITTLE)
    assert code == 0, told


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--url", "http://127.0.0.1:9", "--mode", "section4"), "the mode it has"),
        (("--url", "http://127.0.0.1:9"), "holds no API key"),
        (("--dataset", "people"), "not one"),
        (("--only", "T99"), "T99"),
    ],
)
def test_what_cannot_be_is_refused(server: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], words: str) -> None:
    monkeypatch.delenv(command.KEY_VARIABLE, raising=False)
    code, _, heard = run(server, *arguments, *LITTLE, "--out", server.with_name("a.html"))
    assert code == 2
    assert words in heard


def test_a_live_server_is_asked_through_the_web(server: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody listens there: every request is refused, and the attack says that nothing was released."""
    monkeypatch.setenv(command.KEY_VARIABLE, "key")
    code, told, _ = run(server, "--url", "http://127.0.0.1:9", "--only", "T02,T22", *LITTLE, "--out", server.with_name("a.html"))
    assert code == 0
    assert "No sensitive cell was released in two tables." in told
    assert "Needs the operator's side" in told


def test_options_of_a_server_do_not_fit_a_folder(tmp_path: Path) -> None:
    code, _, heard = run(tmp_path, "--mode", "section4")
    assert code == 2
    assert "belong to a server" in heard


def test_a_folder_that_is_no_release_is_refused(tmp_path: Path) -> None:
    code, _, heard = run(tmp_path)
    assert code == 2
    assert "no release folder" in heard
