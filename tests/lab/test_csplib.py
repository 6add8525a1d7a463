"""The comparison with plain HiGHS: both prove the same optimum on a table small enough to check by hand."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from statveil.cli.app import app
from statveil_lab import csplib
from statveil_lab.runner import Ledger, every_method

ONE_ROW = """0
4
0 10 1 u 0 100 4 4 0
1 20 1 s 0 100 0 0 0
2 30 1 s 0 100 0 0 0
3 60 1 s 0 100 0 0 0
1
0 4 : 3 (-1) 0 (1) 1 (1) 2 (1)
"""


def fields(text: str) -> list[str]:
    line = next(line for line in text.splitlines() if line.startswith("| row"))
    return [field.strip() for field in line.strip("|").split("|")]


@pytest.mark.slow
def test_both_prove_that_one_cell_costs_its_level_twice(tmp_path: Path) -> None:
    (tmp_path / "row.jj").write_text(ONE_ROW)
    answer = CliRunner().invoke(app, ["bench", "csplib", str(tmp_path), "--seconds", "10", "--weights", "unit"])
    assert answer.exit_code == 0
    found = fields(answer.stdout)
    assert found[:5] == ["row", "unit", "4", "1", "1"]
    assert [float(field) for field in found[5:7]] == pytest.approx([8, 8], rel=1e-6), "HiGHS claims within its tolerances"
    assert found[7:9] == ["8", "8"]
    assert found[11] == "optimal"


@pytest.mark.slow
def test_each_method_gives_an_audited_table_of_the_least_cost_or_its_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    some = ["alternate", "dense", "flips", "auto"]
    assert set(some) < set(every_method())
    monkeypatch.setattr(csplib, "every_method", lambda: some)
    (tmp_path / "row.jj").write_text(ONE_ROW)
    words = ["bench", "csplib", str(tmp_path), "--seconds", "100", "--weights", "unit", "--all-methods", "--out", str(tmp_path / "out")]
    answer = CliRunner().invoke(app, words)
    assert answer.exit_code == 0
    assert fields(answer.stdout)[7] == "8"
    runs = [run for run in Ledger(tmp_path / "out").runs.values() if run.method != "highs"]
    assert [run.method for run in runs] == some
    ends = {run.method: (run.objective, run.reason) for run in runs}
    assert ends.pop("dense")[1].startswith("InputError: Method 'dense' needs a full table of two dimensions"), "one row is none"
    assert set(ends.values()) == {(8.0, "")}
    assert (tmp_path / "out" / "time-row-unit.svg").exists()


@pytest.mark.slow
def test_a_table_without_solution_is_told_by_both(tmp_path: Path) -> None:
    (tmp_path / "row.jj").write_text(
        ONE_ROW.replace("1 20 1 s 0 100", "1 20 1 z 20 20").replace("2 30 1 s", "2 30 1 z").replace("60 1 s", "60 1 z")
    )
    answer = CliRunner().invoke(app, ["bench", "csplib", str(tmp_path), "--seconds", "10", "--weights", "unit", "--seeds", "2"])
    assert answer.exit_code == 0
    assert fields(answer.stdout)[5:8] == ["Infeasible", "0", "InfeasibleProblem"]
    assert "- auto: InfeasibleProblem: No safe table exists within the bounds given. (row, seeds 0, 1)" in answer.stdout


def test_a_folder_without_tables_is_an_input_error(tmp_path: Path) -> None:
    answer = CliRunner().invoke(app, ["bench", "csplib", str(tmp_path)])
    assert answer.exit_code == 2
    assert "holds no .jj files" in answer.output
