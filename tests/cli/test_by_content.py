"""`protect` and `check` tell by its content what they are given."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from statveil.cli.by_content import first_argument
from tests.cli.stories import run, told, village_in

SYSTEM = """0
3
0 10 1 u 0 100 2 2 0
1 20 1 s 0 100 0 0 0
2 30 1 s 0 100 0 0 0
1
0 3 : 2 (-1) 0 (1) 1 (1)
"""
PEOPLE = """[data]
file = "village.csv"
[fields.street]
[fields.trade]
[safety]
threshold = 2
[output]
file = "safe.csv"
"""


@pytest.fixture
def things(tmp_path: Path) -> Path:
    village_in(tmp_path)
    (tmp_path / "people.toml").write_text(PEOPLE, encoding="utf-8")
    (tmp_path / "system.txt").write_text(SYSTEM, encoding="utf-8")
    return tmp_path


def test_the_first_word_that_is_no_option_is_what_is_meant() -> None:
    def valued() -> frozenset[str]:
        return frozenset({"--out", "--seconds"})

    assert first_argument(["--out", "folder", "--json", "job.toml", "more"], valued) == "job.toml"
    assert first_argument(["--help"], valued) is None
    assert first_argument(["--seconds"], valued) is None


@pytest.mark.slow
def test_a_job_for_a_table_becomes_a_release_that_can_be_checked(things: Path) -> None:
    assert run("protect", "--out", things / "out", things / "job.toml").exit_code == 0
    done = run("check", things / "out", "--no-attacks", "--json")
    assert done.exit_code == 0
    assert json.loads(done.stdout)["audit"]["passed"]


def test_a_job_for_records_becomes_a_safe_file_that_can_be_checked(things: Path) -> None:
    assert run("protect", things / "people.toml", "--out", things / "safe").exit_code == 0
    assert run("check", things / "safe", "--no-attacks").exit_code == 0
    file = things / "safe" / "public" / "safe.csv"
    file.write_text(file.read_text(encoding="utf-8").replace("baker", "vet", 1), encoding="utf-8")
    assert run("check", things / "safe").exit_code == 5


@pytest.mark.slow
def test_a_linear_system_is_known_by_its_content_and_checked_with_its_bound(things: Path) -> None:
    system, solution, proof = things / "system.txt", things / "s.sol", things / "s.json"
    assert run("protect", system, "--method", "exact", "--out", solution, "--certificate", proof).exit_code == 0
    done = run("check", system, solution, "--certificate", proof, "--no-attacks", "--json")
    assert done.exit_code == 0
    assert json.loads(done.stdout)["certified_bound"] == pytest.approx(4)


def test_what_is_nothing_of_ours_is_refused(things: Path) -> None:
    (things / "letter.txt").write_text("Dear reader", encoding="utf-8")
    for thing, words in (("letter.txt", "nothing that statveil knows"), ("none.toml", "There is no file"), (".", "no release folder")):
        refused = run("protect", things / thing)
        assert refused.exit_code == 2
        assert words in told(refused)
    assert "nothing to check" in told(run("check", things / "job.toml"))


def test_help_is_that_of_what_is_given(things: Path) -> None:
    assert "told by its content" in " ".join(run("protect", "--help").output.split())
    assert "--certificate" in run("protect", things / "system.txt", "--help").output
    assert "--internal" in run("protect", things / "job.toml", "--help").output
