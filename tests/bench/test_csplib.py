"""The comparison with plain HiGHS: both prove the same optimum on a table small enough to check by hand."""

from __future__ import annotations

from pathlib import Path

from typer.testing import CliRunner

from statveil.cli.app import app

ONE_ROW = """0
4
0 10 1 u 0 100 4 4 0
1 20 1 s 0 100 0 0 0
2 30 1 s 0 100 0 0 0
3 60 1 s 0 100 0 0 0
1
0 4 : 3 (-1) 0 (1) 1 (1) 2 (1)
"""


def test_both_prove_that_one_cell_costs_its_level_twice(tmp_path: Path) -> None:
    (tmp_path / "row.jj").write_text(ONE_ROW)
    answer = CliRunner().invoke(app, ["bench", "csplib", str(tmp_path), "--seconds", "10", "--weights", "unit"])
    assert answer.exit_code == 0
    fields = [field.strip() for field in answer.stdout.splitlines()[-1].strip("|").split("|")]
    assert fields[:5] == ["row", "unit", "4", "1", "1"]
    assert fields[5:8] == ["8", "8", "8"]
    assert fields[10] == "optimal"


def test_a_folder_without_tables_is_an_input_error(tmp_path: Path) -> None:
    answer = CliRunner().invoke(app, ["bench", "csplib", str(tmp_path)])
    assert answer.exit_code == 2
    assert "holds no .jj files" in answer.output
