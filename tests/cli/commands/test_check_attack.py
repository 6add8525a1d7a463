"""`statveil attack`: targets of all kinds, the report, the exit code."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from typer.testing import CliRunner

from statveil.cli.app import app
from statveil.cli.commands import check as command
from statveil.core.errors import ServerClosed
from statveil.jobs.adjust import adjust
from statveil_lab.generators.register import write_register_server
from tests.jobs.test_attack_targets import JJ
from tests.server.test_attack_target import DIMENSIONS

LITTLE = ("--tables", "4", "--sets", "4", "--pairs", "10", "--cells", "5")


@pytest.fixture
def server(tmp_path: Path) -> Path:
    return write_register_server(tmp_path, 800, dimensions=DIMENSIONS)


def run(*arguments: object) -> tuple[int, str, str]:
    found = CliRunner().invoke(app, ["attack", *map(str, arguments)])
    return found.exit_code, found.stdout, found.stderr


@pytest.mark.slow
def test_a_system_that_can_be_guessed_ends_with_the_exit_code_of_a_failed_check(tmp_path: Path) -> None:
    original = tmp_path / "small.jj"
    original.write_text(JJ, encoding="ascii")
    solution = adjust(original, method="exact").solution
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
    code, told, _ = run(
        server, "--only", "T02", "--mode", "section4", "--dataset", "register", "--out", server.with_name("a.html"), *LITTLE
    )
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


@pytest.fixture
def live(tmp_path: Path) -> Iterator[str]:
    """A live server that knows the key "known" and no table."""

    class Stand(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200 if self.headers["Authorization"] == "Bearer known" else 401)
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"{}")

        def do_POST(self) -> None:
            self.send_response(403)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Silent."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Stand)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.mark.slow
def test_a_live_server_is_asked_through_the_web(server: Path, live: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It lets us in and refuses every table: then there is nothing to attack, and the report says so."""
    monkeypatch.setenv(command.KEY_VARIABLE, "known")
    code, told, _ = run(server, "--url", live, "--only", "T02,T22", *LITTLE, "--out", server.with_name("a.html"))
    assert code == 0
    assert "No sensitive cell was released in two tables." in told
    assert "Needs the operator's side" in told


@pytest.mark.slow
def test_a_server_that_does_not_know_the_key_was_not_attacked(server: Path, live: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(command.KEY_VARIABLE, "not-this-one")
    code, told, heard = run(server, "--url", live, "--only", "T02,T22", *LITTLE, "--out", server.with_name("a.html"))
    assert code == ServerClosed.exit_code != 0
    assert "status 401" in heard
    assert "API key" in heard
    assert "not-this-one" not in told + heard
    assert "not applicable" not in told
    assert not server.with_name("a.html").exists()


@pytest.mark.slow
def test_a_server_that_does_not_answer_was_not_attacked(server: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(command.KEY_VARIABLE, "known")
    code, told, heard = run(server, "--url", "http://127.0.0.1:9", *LITTLE, "--out", server.with_name("a.html"))
    assert code == ServerClosed.exit_code != 0
    assert "does not answer" in heard
    assert told == ""
    assert not server.with_name("a.html").exists()


def test_options_of_a_server_do_not_fit_a_folder(tmp_path: Path) -> None:
    code, _, heard = run(tmp_path, "--mode", "section4")
    assert code == 2
    assert "belong to a server" in heard


def test_a_folder_that_is_no_release_is_refused(tmp_path: Path) -> None:
    code, _, heard = run(tmp_path)
    assert code == 2
    assert "no release folder" in heard
