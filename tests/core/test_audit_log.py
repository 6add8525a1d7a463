"""The audit log: nothing in it can be changed unseen, and several processes write to it."""

from __future__ import annotations

import json
import multiprocessing
import os
import stat
from pathlib import Path

import pytest

from statveil.core import audit_log
from statveil.core.audit_log import START, AuditLog, verify
from statveil.core.errors import AuditFailed, BackendError, InputError


@pytest.fixture
def log(tmp_path: Path) -> Path:
    audit_log = AuditLog(tmp_path / "log")
    for number in range(5):
        audit_log.write("table given", key=f"k{number}", table="t" * 8, query=None)
    return tmp_path / "log"


def test_each_line_carries_the_hash_of_the_one_before(log: Path):
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert [line["line"] for line in lines] == [1, 2, 3, 4, 5]
    assert [line["previous"] for line in lines] == [START, *(line["hash"] for line in lines[:-1])]
    assert "query" not in lines[0], "what is not known is left out"
    assert verify(log).hash == lines[-1]["hash"]


def test_only_its_owner_reads_it(log: Path):
    assert stat.S_IMODE(log.stat().st_mode) == 0o600


@pytest.mark.parametrize("line", range(5))
def test_a_changed_line_is_found(log: Path, line: int):
    lines = log.read_text().splitlines(keepends=True)
    lines[line] = lines[line].replace(f'"k{line}"', '"someone else"')
    log.write_text("".join(lines))
    with pytest.raises(AuditFailed, match=f"line {line + 1} "):
        verify(log)


@pytest.mark.parametrize("line", range(4))
def test_a_line_taken_out_is_found(log: Path, line: int):
    lines = log.read_text().splitlines(keepends=True)
    log.write_text("".join(lines[:line] + lines[line + 1 :]))
    with pytest.raises(AuditFailed, match=f"line {line + 1} "):
        verify(log)


def test_lines_cut_off_at_the_end_are_found_by_a_hash_noted_before(log: Path):
    head = verify(log).hash
    log.write_text("".join(log.read_text().splitlines(keepends=True)[:3]))
    assert verify(log).lines == 3
    with pytest.raises(AuditFailed, match="not in the audit log"):
        verify(log, expected_head=head)


def test_a_hash_of_an_earlier_line_is_still_there_when_the_log_has_grown(log: Path):
    head = verify(log).hash
    AuditLog(log).write("more")
    assert verify(log, expected_head=head).lines == 6


@pytest.mark.parametrize("rubbish", [b"not json\n", b"[1, 2]\n", b"\xff\n"])
def test_a_line_that_is_not_ours_is_found(log: Path, rubbish: bytes):
    log.write_bytes(log.read_bytes() + rubbish)
    with pytest.raises(AuditFailed, match="line 6"):
        verify(log)
    with pytest.raises(BackendError, match="line 6"):
        AuditLog(log).write("no server goes on with a log that was changed")


def test_half_a_line_left_by_a_crash_goes_and_the_chain_goes_on(log: Path):
    log.write_bytes(log.read_bytes() + b'{"line":6,"event":"tab')
    with pytest.raises(AuditFailed, match="in the middle of line 6"):
        verify(log)
    assert AuditLog(log).write("after the crash").lines == 6
    assert verify(log).lines == 6


def test_a_log_that_became_shorter_stops_the_writer(log: Path):
    audit_log = AuditLog(log)
    audit_log.write("once")
    os.truncate(log, 10)
    with pytest.raises(BackendError, match="shorter"):
        audit_log.write("twice")


def test_a_full_disk_leaves_no_half_line(log: Path, monkeypatch: pytest.MonkeyPatch):
    write = os.write
    monkeypatch.setattr(os, "write", lambda file, text: write(file, text[:20]))
    with pytest.raises(OSError, match="No space"):
        AuditLog(log).write("too long")
    monkeypatch.undo()
    assert verify(log).lines == 5


def test_a_long_log_is_read_in_pieces(log: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(audit_log, "TUNING", audit_log.TUNING._replace(chunk=600))
    assert AuditLog(log).head().lines == 5
    assert [line["key"] for line in AuditLog(log).last(1)] == ["k4"]


def test_the_last_lines_are_shown(log: Path):
    assert [line["key"] for line in AuditLog(log).last(2)] == ["k3", "k4"]
    assert AuditLog(log.with_name("none")).last(2) == []


def test_a_line_that_is_being_written_is_not_shown_yet(log: Path):
    log.write_bytes(log.read_bytes() + b'{"line":6,"event":"tab')
    assert [line["key"] for line in AuditLog(log).last(2)] == ["k3", "k4"]


def test_no_log_is_not_a_sound_log(tmp_path: Path):
    with pytest.raises(InputError, match="no audit log"):
        verify(tmp_path / "none")


def test_a_link_in_place_of_the_log_is_not_followed(tmp_path: Path):
    (tmp_path / "log").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="symbolic links"):
        AuditLog(tmp_path / "log").write("nothing")
    assert not (tmp_path / "elsewhere").exists()


def write_many(path: Path, name: str) -> None:
    audit_log = AuditLog(path)
    for number in range(100):
        audit_log.write("table given", key=name, table=str(number), sure=number % 25 == 0)


@pytest.mark.slow
def test_four_processes_write_one_chain(tmp_path: Path):
    context = multiprocessing.get_context("fork")
    writers = [context.Process(target=write_many, args=(tmp_path / "log", f"w{number}")) for number in range(4)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert verify(tmp_path / "log").lines == 400
