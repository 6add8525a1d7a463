"""`statveil adjust`: a linear system to an audited solution and a summary, or neither."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import statveil as sv
import statveil.jobs.adjust
from statveil.core import errors
from tests.cli.stories import run, told
from tests.formats.systems import NINE, VILLAGE

KEYS = [
    "cells",
    "sensitive",
    "relations",
    "method",
    "norm",
    "weights",
    "variant",
    "objective",
    "bound",
    "bound_by",
    "certified_bound",
    "gap",
    "certified_gap",
    "ending",
    "seconds",
    "peak_mb",
    "seed",
    "trace",
    "audit",
    "decimals",
    "utility",
]
"""Fixed: other programs read them."""


@pytest.fixture
def village(tmp_path: Path) -> Path:
    path = tmp_path / "village.jj"
    path.write_text(VILLAGE)
    return path


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_adjust_has_help() -> None:
    result = run("adjust", "--help")
    assert result.exit_code == 0
    assert "FILE.jj" in result.output


@pytest.mark.slow
def test_adjust_writes_a_solution_and_a_summary(village: Path) -> None:
    out, summary = village.with_name("out.sol"), village.with_name("out.json")
    result = run("adjust", village, "--out", out, "--summary", summary, "--weights", "unit")
    assert result.exit_code == 0, result.output
    assert "proved the best possible" in result.stdout
    assert names(village.parent) == ["out.json", "out.sol", "village.jj"]
    figures = json.loads(summary.read_text())
    assert list(figures) == KEYS
    asked = {"cells": 4, "sensitive": 1, "relations": 1, "method": "auto", "norm": "l1", "weights": "unit", "variant": "at-least"}
    assert {key: figures[key] for key in asked} == asked
    assert figures["objective"] == pytest.approx(10) == figures["bound"]  # 5 down, and 5 in the total or the rest
    assert figures["ending"] == "optimal"
    assert figures["gap"] == figures["certified_gap"] == 0
    assert (figures["certified_bound"], figures["bound_by"]) == (figures["bound"], "cuts")
    assert figures["peak_mb"] > 50
    assert figures["audit"] == {"passed": True, "findings": [], "checked": 3 + 1 + 1 + 3 + 1 + 4 + (1 + 3)}
    seconds, objective, bound = figures["trace"][-1]
    assert (seconds >= 0, objective, bound) == (True, figures["objective"], figures["bound"])
    assert all(first is None or first >= objective for _, first, _ in figures["trace"])


@pytest.mark.slow
def test_the_solution_is_in_exact_decimals(village: Path) -> None:
    assert run("adjust", village).exit_code == 0
    lines = [line.split() for line in village.with_suffix(".sol").read_text().splitlines()]
    assert [line[1] for line in lines] == ["100.0", "60.5", "30.0", "9.5"]
    assert [line[3] for line in lines] == ["0", "1", "0", "0"]
    assert lines[1][2] in ("55.5", "67.8")
    assert sv.systems.audit_solution(village, village.with_suffix(".sol")).passed


@pytest.mark.slow
@pytest.mark.parametrize(("words", "released", "objective"), [((), {"44", "56"}, 24), (("--decimals", "1"), {"44.5", "55.5"}, 22)])
def test_a_table_of_whole_numbers_is_released_in_whole_numbers(
    tmp_path: Path, words: tuple[str, ...], released: set[str], objective: int
) -> None:
    """The level of 5.5 was asked for; a release of 44.5 among whole numbers told which cells had moved (T19)."""
    path, certificate = tmp_path / "nine.jj", tmp_path / "bound.json"
    path.write_text(NINE)
    result = run("adjust", path, "--weights", "unit", "--certificate", certificate, "--json", *words)
    assert result.exit_code == 0, result.output
    figures = json.loads(result.stdout)
    assert (figures["objective"], figures["bound"]) == (objective, objective)
    lines = [line.split() for line in path.with_suffix(".sol").read_text().splitlines()]
    assert lines[0][2] in released
    assert all(("." in line[2]) == bool(words) for line in lines)
    assert run("check-bound", path, certificate, "--weights", "unit", *words).exit_code == 0
    assert run("check", path, path.with_suffix(".sol"), "--no-attacks", *words).exit_code == 0


@pytest.mark.slow
def test_a_solution_with_other_decimals_than_were_chosen_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "nine.jj"
    path.write_text(NINE)
    assert run("adjust", path, "--decimals", "all").exit_code == 0
    result = run("check", path, path.with_suffix(".sol"), "--no-attacks")
    assert result.exit_code == 2
    assert "has more than 0 decimals" in told(result)
    assert run("check", path, path.with_suffix(".sol"), "--no-attacks", "--decimals", "all").exit_code == 0
    assert "is not a number, or all" in told(run("adjust", path, "--decimals", "few"))


@pytest.mark.slow
def test_json_is_the_summary_on_stdout(village: Path) -> None:
    result = run("adjust", village, "--json", "--variant", "exact", "--norm", "l2", "--seed", "7", "--seconds", "20", "--gap", "0.01")
    assert result.exit_code == 0, result.output
    figures = json.loads(result.stdout)
    assert list(figures) == KEYS
    assert (figures["variant"], figures["norm"], figures["seed"]) == ("exact", "l2", 7)
    lines = [json.loads(line)["progress"] for line in result.stderr.splitlines()]
    assert [line["stage"] for line in (lines[0], *lines[-2:])] == ["reading", "auditing", "written"]
    assert lines[-1]["objective"] == pytest.approx(figures["objective"])


@pytest.mark.slow
def test_the_same_seed_gives_the_same_bytes(village: Path) -> None:
    solutions = [village.with_name(name) for name in ("a.sol", "b.sol")]
    for solution in solutions:
        assert run("adjust", village, "--out", solution, "--seed", "3").exit_code == 0
    assert solutions[0].read_bytes() == solutions[1].read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize(("direction", "released"), [("0", "55.5"), ("1", "67.8")])
def test_a_start_is_kept_by_method_fixed(village: Path, direction: str, released: str) -> None:
    start = village.with_suffix(".dir")
    start.write_text(f"1 {direction}\n")
    result = run("adjust", village, "--method", "fixed", "--start", start, "--variant", "exact")
    assert result.exit_code == 0, result.output
    assert village.with_suffix(".sol").read_text().splitlines()[1].split()[2] == released


@pytest.mark.slow
def test_settings_reach_the_method(village: Path) -> None:
    assert run("adjust", village, "--method", "anneal", "--set", "sweeps=10").exit_code == 0
    result = run("adjust", village, "--method", "anneal", "--set", "swoops=10")
    assert result.exit_code == 2
    assert "'swoops'" in told(result)
    assert "Known: sweeps" in result.output


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--method", "nope"], "Unknown method 'nope'. Known: auto, exact"),
        (["--norm", "l3"], "Unknown norm 'l3'. Known: l1, l2."),
        (["--weights", "own"], "Unknown weights 'own'. Known: file, unit, value, inverse."),
        (["--variant", "loose"], "Unknown variant 'loose'. Known: at-least, exact."),
        (["--seconds", "0"], "seconds must be a positive number"),
        (["--gap", "-1"], "gap must be zero or more"),
        (["--seed", "-1"], "The seed must be a whole number"),
        (["--set", "sweeps"], "is not KEY=VALUE"),
        (["--method", "fixed"], "needs the senses to keep"),
        (["--start", "nowhere.dir"], "nowhere.dir: No such file"),
        (["--out", "nowhere/a.sol"], "There is no folder"),
        (["--out", "village.jj"], "named twice"),
        (["--out", "a.json", "--summary", "a.json"], "named twice"),
    ],
)
def test_a_wrong_option_is_told(village: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], words: str) -> None:
    monkeypatch.chdir(village.parent)
    result = run("adjust", village, *arguments)
    assert result.exit_code == 2
    assert words in told(result).replace("\n", " ")
    assert names(village.parent) == ["village.jj"]
    assert village.read_text() == VILLAGE


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "flag", "words"),
    [
        (("60.5", "61.5"), "--non-additive", "line 8: the relation does not add up"),
        (("7.25", "-7.25"), "--negative-levels", "line 4: a protection level is below zero"),
    ],
)
def test_what_is_refused_may_be_allowed(village: Path, change: tuple[str, str], flag: str, words: str) -> None:
    village.write_text(VILLAGE.replace(*change))
    result = run("adjust", village)
    assert result.exit_code == 2
    assert words in told(result)
    assert flag in result.output
    assert run("adjust", village, flag).exit_code == 0


def test_a_wrong_file_is_told_with_its_line(village: Path) -> None:
    village.write_text(VILLAGE.replace("3 (1)", "7 (1)"))
    result = run("adjust", village)
    assert result.exit_code == 2
    assert "FormatError: village.jj, line 8: " in told(result)


@pytest.mark.slow
def test_no_table_may_exist(village: Path) -> None:
    village.write_text(VILLAGE.replace("60.5 2 u 0 1000", "60.5 2 u 60 61"))
    result = run("adjust", village)
    assert result.exit_code == 3
    assert names(village.parent) == ["village.jj"]


@pytest.mark.parametrize(
    ("error", "code"),
    [(errors.OutOfTime("x"), 4), (errors.SolverFailed("x"), 6), (RuntimeError("secret 60.5"), 1), (KeyboardInterrupt(), 130)],
)
def test_every_error_has_its_exit_code(village: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException, code: int) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr(statveil.jobs.adjust, "adjust_problem", fail)
    result = run("adjust", village)
    assert result.exit_code == code
    assert "60.5" not in told(result)
    assert names(village.parent) == ["village.jj"]


def tampered(monkeypatch: pytest.MonkeyPatch, cell: int) -> None:
    """Let the solution be written with one unit too many in one cell."""
    honest = statveil.jobs.adjust.write_solution

    def write(solution: sv.systems.Solution, path: Path) -> None:
        released = solution.released.copy()
        released[cell] += 1
        honest(sv.systems.Solution(value=solution.value, released=released, sensitive=solution.sensitive, decimals=solution.decimals), path)

    monkeypatch.setattr(statveil.jobs.adjust, "write_solution", write)


@pytest.mark.slow
@pytest.mark.parametrize("cell", range(4))
def test_nothing_is_written_when_the_audit_fails(village: Path, monkeypatch: pytest.MonkeyPatch, cell: int) -> None:
    tampered(monkeypatch, cell)
    result = run("adjust", village, "--summary", village.with_name("a.json"))
    assert result.exit_code == 5
    assert "FAILED" in told(result)
    assert names(village.parent) == ["village.jj"]


@pytest.mark.slow
def test_an_earlier_solution_survives_a_failed_audit(village: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run("adjust", village).exit_code == 0
    before = village.with_suffix(".sol").read_bytes()
    tampered(monkeypatch, 0)
    assert run("adjust", village).exit_code == 5
    assert village.with_suffix(".sol").read_bytes() == before


@pytest.mark.slow
def test_the_audit_reads_the_original_again(village: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that changes while the solver works does not slip through."""
    honest = statveil.jobs.adjust.adjust_problem

    def meddle(*arguments: Any, **options: Any) -> sv.Adjustment:
        village.write_text(VILLAGE.replace("5 7.25", "9 9.25"))
        return honest(*arguments, **options)

    monkeypatch.setattr(statveil.jobs.adjust, "adjust_problem", meddle)
    assert run("adjust", village).exit_code == 5
    assert names(village.parent) == ["village.jj"]


@pytest.mark.slow
@pytest.mark.shared
def test_a_public_instance_with_its_own_solution_as_start(shared_data: Path, tmp_path: Path) -> None:
    path = Path(shutil.copy(shared_data / "csplib" / "targus.jj", tmp_path))
    outcome = sv.adjust(path, limits=sv.Limits(seconds=10))
    sv.systems.write_directions(outcome.adjustment.senses, tmp_path / "a.dir")
    again = sv.adjust(sv.systems.SystemFiles(path, start=tmp_path / "a.dir", solution=tmp_path / "again.sol"), method="fixed")
    assert again.adjustment.objective <= outcome.adjustment.objective * (1 + 1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["bound.json", "bound.json.gz"])
def test_a_bound_is_certified_and_checked_again_from_files(village: Path, name: str) -> None:
    certificate = village.with_name(name)
    result = run("adjust", village, "--weights", "unit", "--certificate", certificate, "--summary", village.with_name("s.json"))
    assert result.exit_code == 0, result.output
    assert certificate.read_bytes().startswith(b"\x1f\x8b") == (name == "bound.json.gz")
    checked = run("check-bound", village, certificate, "--weights", "unit")
    assert checked.exit_code == 0, checked.output
    assert "no whole safe table costs less than 10." in checked.stdout
    as_json = run("check-bound", village, certificate, "--weights", "unit", "--json")
    assert json.loads(as_json.stdout) == {"certified": True, "bound": pytest.approx(10)}


@pytest.mark.slow
def test_a_certificate_does_not_hold_for_other_weights_or_levels(village: Path) -> None:
    certificate = village.with_name("bound.json")
    assert run("adjust", village, "--weights", "unit", "--certificate", certificate).exit_code == 0
    assert "less than it claims" in told(run("check-bound", village, certificate, "--weights", "inverse"))
    village.write_text(VILLAGE.replace("u 0 1000 5 7.25", "u 0 1000 4 7.25"))
    result = run("check-bound", village, certificate, "--weights", "unit")
    assert result.exit_code == 5
    assert "less than it claims" in told(result)


@pytest.mark.slow
@pytest.mark.parametrize("odd", ["Infinity", "NaN", "1e999", "10"])
def test_a_certificate_with_odd_numbers_is_a_wrong_file(village: Path, odd: str) -> None:
    certificate = village.with_name("bound.json")
    assert run("adjust", village, "--weights", "unit", "--certificate", certificate).exit_code == 0
    worth = json.loads(certificate.read_text())["worth"]
    certificate.write_text(certificate.read_text().replace(f'"worth":"{worth}"', f'"worth":{odd}'))
    for words in (("check-bound", village, certificate), ("check", village, village.with_suffix(".sol"), "--certificate", certificate)):
        result = run(*words, "--weights", "unit")
        assert result.exit_code == 2
        assert "FormatError" in told(result)


@pytest.mark.slow
def test_a_certificate_that_cannot_be_made_is_not_written(village: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("statveil.protect.adjust.Certifier.certified", lambda *_: None)
    result = run("adjust", village, "--certificate", village.with_name("bound.json"))
    assert result.exit_code == 5
    assert names(village.parent) == ["village.jj"]


@pytest.mark.slow
def test_statistics_before_and_after_are_told(village: Path) -> None:
    result = run("adjust", village, "--summary", village.with_suffix(".json"))
    figures = json.loads(village.with_suffix(".json").read_text(encoding="utf-8"))["utility"]
    assert set(figures) == {"all", "sensitive"}
    assert figures["sensitive"]["correlation"] is None  # a single cell
    assert 0.9 < figures["all"]["correlation"] <= 1
    assert "all cells: correlation" in told(result)
    assert "sensitive cells: mean" in told(result)
