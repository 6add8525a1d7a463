"""`statveil adjust` where no safe table exists: told why, or repaired and listed."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest
from typer.testing import Result

import statveil as sv
from tests.cli.stories import run

CLASH = """0
3
0 30 1 s 29 31 0 0 0
1 20 1 u 0 100 5 5 0
2 10 1 s 8 12 0 0 0
1
0 3 : 0 (-1) 1 (1) 2 (1)
"""
"""20 must move by 5, its total may by 1 and its neighbour by 2."""


def adjust(*arguments: str | Path) -> Result:
    return run("adjust", *arguments)


@pytest.fixture
def clash(tmp_path: Path) -> Path:
    path = tmp_path / "clash.jj"
    path.write_text(CLASH)
    return path


@pytest.mark.slow
def test_the_clash_is_told_and_nothing_is_written(clash: Path) -> None:
    result = adjust(clash)
    assert result.exit_code == 3
    assert "cell 1 must move by its protection level or more" in result.output
    assert "any one fewer can" in result.output
    assert [path.name for path in clash.parent.iterdir()] == ["clash.jj"]


@pytest.mark.slow
def test_a_repair_is_listed_in_the_file_the_summary_and_on_the_screen(clash: Path) -> None:
    result = adjust(clash, "--repair", "--summary", clash.with_suffix(".json"))
    assert result.exit_code == 0, result.output
    listed = json.loads(clash.with_suffix(".repairs.json").read_text())
    assert [(each["place"], each["by"]) for each in listed["repairs"]] == [(2, "2")]
    assert not listed["protection_weakened"]
    summary = json.loads(clash.with_suffix(".json").read_text())
    assert summary["audit"]["passed"]
    assert any(
        finding.startswith("repair: ") and finding.endswith("bound of cell 2 was relaxed") for finding in summary["audit"]["findings"]
    )
    assert "REPAIRED" in result.output
    assert "WEAKENED" not in result.output


@pytest.mark.slow
def test_weakened_protection_is_shouted_about(clash: Path) -> None:
    given = clash.with_name("given.json")
    result = adjust(clash, "--repair", "--repair-order", "protection", "--weaken-protection", "--repairs", given)
    assert result.exit_code == 0, result.output
    assert "WARNING: PROTECTION WAS WEAKENED" in result.output
    assert json.loads(given.read_text())["protection_weakened"]


@pytest.mark.slow
def test_only_what_the_file_names_gives(clash: Path) -> None:
    named = clash.with_suffix(".rep")
    named.write_text("0\n1\n0\n0\n")
    result = adjust(clash, "--repair", "--may-give", named)
    assert result.exit_code == 0, result.output
    listed = json.loads(clash.with_suffix(".repairs.json").read_text())["repairs"]
    assert listed == [{"what": "upper", "place": 0, "by": "2"}]


@pytest.mark.slow
def test_lexmin_keeps_the_directions_given(clash: Path) -> None:
    directions = clash.with_suffix(".dir")
    for up in (0, 1):
        directions.write_text(f"1 {up}\n")
        result = adjust(clash, "--norm", "lexmin", "--start", directions)
        assert result.exit_code == 0, result.output
        released = sv.systems.read_solution(clash.with_suffix(".sol"), decimals=0).released
        assert (released[1] > 20) == bool(up)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--norm", "lexmin"], "keeps given directions"),
        (["--repair-order", "inner"], "belong to a repair"),
        (["--weaken-protection"], "belong to a repair"),
        (["--repairs", "x.json"], "belong to a repair"),
        (["--repair", "--weaken-protection"], "Protection gives only"),
        (["--repair", "--repair-order", "luck"], "Unknown class"),
        (["--repair", "--certificate", "c.json"], "no certificate of a repaired table"),
    ],
)
def test_what_does_not_go_together_is_refused(clash: Path, options: list[str], words: str) -> None:
    result = adjust(clash, *options)
    assert result.exit_code == 2
    assert words in result.output


@pytest.mark.slow
def test_a_long_list_is_cut_on_the_screen_only(tmp_path: Path) -> None:
    """25 separate sums that each clash."""
    cells = [f"{3 * k + j} {line}" for k in range(25) for j, line in enumerate(["30 1 s 30 31 0 0", "20 1 u 0 99 5 5", "10 1 s 10 12 0 0"])]
    rows = [f"0 3 : {3 * k} (-1) {3 * k + 1} (1) {3 * k + 2} (1)" for k in range(25)]
    path = tmp_path / "many.jj"
    path.write_text("\n".join(["0", "75", *cells, "25", *rows, ""]))
    result = adjust(path, "--repair")
    assert result.exit_code == 0, result.output
    count = len(json.loads(path.with_suffix(".repairs.json").read_text())["repairs"])
    assert count >= 25
    assert f"and {count - 20} more" in result.output


@pytest.mark.slow
def test_the_labels_of_a_table_are_in_the_explanation() -> None:
    data = pa.table({"area": list("pppqqq"), "trade": list("uuvuuv"), "sales": [7, 3, 1, 50, 20, 9]})
    spec = sv.TableSpec(dimensions={"area": None, "trade": None}, measure="sales")
    with pytest.raises(sv.InfeasibleProblem) as failure:
        sv.protect_table(data, spec, rules=[sv.MinimumFrequency(2)], options=sv.Options(bounds=sv.Bounds(percent_down=0, percent_up=0)))
    words = failure.value.hint
    assert " x trade v must move by its protection level or more" in words
    assert "the total area" in words
    assert isinstance(failure.value.explanation, sv.repair.Explanation)
    assert failure.value.explanation.minimal
