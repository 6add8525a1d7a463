"""What a file or folder is, told by its content."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from statveil.core.errors import InputError, StatveilError
from statveil.jobs.kinds import kind_of

CONTENTS = [
    ("job.toml", '[data]\nfile = "a.csv"\n[table]\nmeasure = "x"\n', "table job"),
    ("people.toml", '[data]\nfile = "a.csv"\n[fields.age]\n', "record job"),
    ("server.toml", '[[dataset]]\nid = "a"\n', "server"),
    ("table.jj", "0\n1\n", "system"),
    ("table.txt", "0\n12\n0 10 1 u 0 20 1 1 0\n", "system"),
    ("job.arb", "<OPENMICRODATA> a.asc\n", "batch"),
    ("job.txt", "// a batch\n<OPENMICRODATA> a.asc\n", "batch"),
]


@pytest.mark.parametrize(("name", "content", "kind"), CONTENTS)
def test_files_are_told_by_what_is_in_them(name: str, content: str, kind: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(content, encoding="utf-8")
    assert kind_of(tmp_path / name) == kind


def test_arrays_are_a_system_whatever_they_are_called(tmp_path: Path) -> None:
    with (tmp_path / "arrays").open("wb") as file:
        np.savez(file, value=np.arange(3))
    assert kind_of(tmp_path / "arrays") == "system"


def test_folders_are_told_by_their_run(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text('{"made_by": "statveil"}', encoding="utf-8")
    assert kind_of(tmp_path) == "release"
    (tmp_path / "run.json").write_text('{"made_by": "statveil", "recoding": {}}', encoding="utf-8")
    assert kind_of(tmp_path) == "file release"


@pytest.mark.parametrize("content", [b"", b"Dear reader", b"1 2 3", b"\xff\xfe\x00"])
def test_anything_else_is_refused_with_what_is_known(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "letter").write_bytes(content)
    with pytest.raises(InputError) as refused:
        kind_of(tmp_path / "letter")
    assert "release folder" in refused.value.hint


def test_a_broken_job_and_an_empty_folder_are_refused_in_words(tmp_path: Path) -> None:
    (tmp_path / "job.toml").write_text("[data\n", encoding="utf-8")
    with pytest.raises(StatveilError):
        kind_of(tmp_path / "job.toml")
    with pytest.raises(InputError, match="no release folder"):
        kind_of(tmp_path)
    with pytest.raises(InputError, match="There is no file"):
        kind_of(tmp_path / "nothing")
