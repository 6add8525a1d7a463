"""TOML files that people write, and what may be wrong with them."""

from __future__ import annotations

from pathlib import Path

import pytest

import statveil as sv
from statveil.core.toml import read_toml

START = "See the page on jobs."


def test_the_text_is_kept_as_it_is_and_a_byte_order_mark_is_not(tmp_path: Path) -> None:
    (tmp_path / "job.toml").write_bytes("\ufeffa = 'ü'  # why\n".encode())
    assert read_toml(tmp_path / "job.toml", start_from=START) == ("a = 'ü'  # why\n", {"a": "ü"})


def test_what_is_no_file_no_text_or_no_toml_is_told_apart(tmp_path: Path) -> None:
    (tmp_path / "latin.toml").write_bytes("a = 'ü'".encode("latin-1"))
    (tmp_path / "broken.toml").write_text("a = x\n")
    for name, kind, words in (
        ("none.toml", sv.InputError, "There is no file"),
        (".", sv.InputError, "is a folder"),
        ("latin.toml", sv.errors.FormatError, "not UTF-8 text \\(byte 5\\)"),
        ("broken.toml", sv.errors.FormatError, "not valid TOML"),
    ):
        with pytest.raises(kind, match=words):
            read_toml(tmp_path / name, start_from=START)


def test_both_kinds_of_jobs_speak_of_their_own_page(tmp_path: Path) -> None:
    from statveil.jobs.record_job import read_file_job
    from statveil.jobs.table_job import read_job

    for reader, words in ((read_job, "statveil init"), (read_file_job, "page on files")):
        with pytest.raises(sv.InputError) as caught:
            reader(tmp_path / "none.toml")
        assert words in str(caught.value.hint)
