"""A drawn release is checked with the key that drew it, repeated by it, and by no other."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from statveil.core.errors import AuditFailed, InputError
from statveil.core.secret import new_key_file, office_key_file
from statveil.jobs.recheck import audit_folder
from tests.cli.stories import JOB, VILLAGE, run, told

pytestmark = pytest.mark.slow

OWN_KEY = JOB.replace("[limits]", '[protection]\nkey = "office.key"\n[limits]')
EXACT = JOB.replace("[limits]", '[protection]\nfloors = "exact"\nattacks = "report"\n[limits]')


def office(folder: Path, job: str, *, key: str | None = None, records: str = VILLAGE) -> Path:
    """A folder with records and job, and a key file of its own if one is given."""
    folder.mkdir()
    (folder / "village.csv").write_text(records, encoding="utf-8")
    (folder / "job.toml").write_text(job, encoding="utf-8")
    if key is not None:
        (folder / "office.key").touch(mode=0o600)
        (folder / "office.key").write_text(key + "\n", encoding="utf-8")
    return folder


def protected(folder: Path) -> bytes:
    """The public table that the command makes in a process of its own."""
    command = [sys.executable, "-c", "from statveil.cli import main; main()", "protect", "job.toml", "--out", "out"]
    done = subprocess.run(command, cwd=folder, env=os.environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return (folder / "out" / "public" / "income.csv").read_bytes()


@pytest.fixture(scope="module")
def _by_the_environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = office(tmp_path_factory.mktemp("office") / "one", JOB)
    assert run("protect", folder / "job.toml", "--out", folder / "out").exit_code == 0
    return folder


@pytest.fixture(scope="module")
def _by_a_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = office(tmp_path_factory.mktemp("office") / "two", OWN_KEY, key="ab" * 32)
    assert run("protect", folder / "job.toml", "--out", folder / "out").exit_code == 0
    return folder


@pytest.fixture
def by_the_environment(_by_the_environment: Path, tmp_path: Path) -> Path:
    """An office whose release was drawn by the key of the environment."""
    return Path(shutil.copytree(_by_the_environment, tmp_path / "office"))


@pytest.fixture
def by_a_file(_by_a_file: Path, tmp_path: Path) -> Path:
    """An office whose job names its key file."""
    return Path(shutil.copytree(_by_a_file, tmp_path / "office"))


def test_the_key_that_drew_a_release_checks_it(by_the_environment: Path) -> None:
    assert audit_folder(by_the_environment / "out").passed
    assert run("check", by_the_environment / "out").exit_code == 0


def test_another_key_cannot_check_it(by_the_environment: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STATVEIL_KEY", "77" * 32)
    with pytest.raises(AuditFailed, match="drawn by another key"):
        audit_folder(by_the_environment / "out")
    result = run("check", by_the_environment / "out")
    assert result.exit_code == 5
    assert "drawn by another key" in " ".join(told(result).split())
    assert "7777" not in result.output


def test_without_any_key_nothing_is_checked_and_none_is_made(
    by_the_environment: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("STATVEIL_KEY")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    with pytest.raises(InputError, match="There is no key"):
        audit_folder(by_the_environment / "out")
    result = run("check", by_the_environment / "out")
    assert result.exit_code == 2
    assert "There is no key that this release could have been drawn by" in " ".join(told(result).split())
    assert not office_key_file().exists()


def test_the_key_of_the_job_checks_whatever_the_environment_holds(by_a_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for held in ("77" * 32, None):
        monkeypatch.setenv("STATVEIL_KEY", held) if held else monkeypatch.delenv("STATVEIL_KEY")
        assert run("check", by_a_file / "out").exit_code == 0


def test_one_digit_of_the_key_file_is_enough_to_refuse(by_a_file: Path) -> None:
    key = by_a_file / "office.key"
    key.write_text(key.read_text(encoding="utf-8").replace("ab", "aa", 1), encoding="utf-8")
    result = run("check", by_a_file / "out")
    assert result.exit_code == 5
    assert "drawn by another key" in " ".join(told(result).split())
    assert "abab" not in result.output


@pytest.mark.parametrize("command", ["check", "protect"])
@pytest.mark.parametrize(("damage", "words"), [("gone", "cannot be opened"), ("open", "may be read by others"), ("words", "hexadecimal")])
def test_a_key_file_that_is_no_secret_key_is_refused(by_a_file: Path, command: str, damage: str, words: str) -> None:
    key = by_a_file / "office.key"
    if damage == "gone":
        key.unlink()
    elif damage == "open":
        key.chmod(0o644)
    else:
        key.write_text("hunter2", encoding="utf-8")
    what = [by_a_file / "out"] if command == "check" else [by_a_file / "job.toml", "--out", by_a_file / "again"]
    result = run(command, *what)
    assert result.exit_code == 2
    assert words in " ".join(told(result).split())
    assert "hunter2" not in result.output
    assert not (by_a_file / "again").exists()


def test_exact_levels_need_no_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("STATVEIL_KEY")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    folder = office(tmp_path / "office", EXACT)
    protected(folder)
    assert audit_folder(folder / "out").passed  # though the attacks find that such levels can be guessed
    assert not office_key_file().exists()


def test_a_release_said_to_be_exact_afterwards_is_found(by_the_environment: Path) -> None:
    (by_the_environment / "out" / "job.toml").write_text(EXACT, encoding="utf-8")
    found = {check.name for check in audit_folder(by_the_environment / "out").checks if not check.passed}
    assert {"contents", "job"} <= found


def test_the_key_is_written_nowhere(by_a_file: Path) -> None:
    assert not [path for path in (by_a_file / "out").rglob("*") if path.is_file() and b"abababab" in path.read_bytes()]


def test_the_same_key_gives_the_same_bytes_and_another_gives_other_numbers(by_a_file: Path, tmp_path: Path) -> None:
    first = (by_a_file / "out" / "public" / "income.csv").read_bytes()
    head, *records = VILLAGE.splitlines()
    shuffled = "\n".join([head, *records[::2], *records[1::2][::-1]]) + "\n"
    assert protected(office(tmp_path / "same", OWN_KEY, key="ab" * 32, records=shuffled)) == first
    assert protected(office(tmp_path / "other", OWN_KEY, key="cd" * 32)) != first


def test_a_new_key_file_serves_as_it_is(tmp_path: Path) -> None:
    folder = office(tmp_path / "office", OWN_KEY)
    new_key_file(folder / "office.key")
    assert run("protect", folder / "job.toml", "--out", folder / "out").exit_code == 0
    assert run("check", folder / "out").exit_code == 0
