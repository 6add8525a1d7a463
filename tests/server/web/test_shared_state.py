"""What the processes of a server share: rows that one writes and the other reads."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from statveil.server.web.shared_state import SharedDatabase

TABLE = "CREATE TABLE IF NOT EXISTS job (hash TEXT PRIMARY KEY, state TEXT)"


def test_what_one_writes_the_other_reads(tmp_path: Path) -> None:
    with closing(SharedDatabase(tmp_path / "jobs.sqlite", TABLE)) as one, closing(SharedDatabase(tmp_path / "jobs.sqlite", TABLE)) as other:
        one.run("INSERT INTO job VALUES (?, ?)", ("a", "waiting"))
        assert other.run("SELECT state FROM job WHERE hash = ?", ("a",)) == [("waiting",)]


def test_a_server_that_starts_again_finds_what_it_left(tmp_path: Path) -> None:
    with closing(SharedDatabase(tmp_path / "jobs.sqlite", TABLE)) as first:
        first.run("INSERT INTO job VALUES ('a', 'done')")
    with closing(SharedDatabase(tmp_path / "jobs.sqlite", TABLE)) as again:
        assert again.run("SELECT * FROM job") == [("a", "done")]
