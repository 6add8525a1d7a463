"""The comparison on 1H2D tables: its lines, charts and ledger; and the growth of cost, with a tiny table."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from typer.testing import CliRunner

from statveil.cli.app import app
from statveil.core.errors import InputError
from statveil.protect.adjustment import TracePoint
from statveil_lab import one_hierarchy
from statveil_lab.generate_command import shape_name
from statveil_lab.generators.one_hierarchy import SHAPES, Shape
from statveil_lab.one_hierarchy import GROWTH, LARGEST, METHODS, Plan, first_table, measure_growth, series_of
from tests.lab.stories import a_run

QUICK = ["bench", "1h2d", "--shapes", "14", "--values", "uniform", "--where", "leaf", "--weights", "unit", "--methods", "alternate"]


@pytest.mark.slow
def test_a_line_and_a_chart_for_a_table_and_nothing_is_run_twice(tmp_path: Path) -> None:
    first = CliRunner().invoke(app, [*QUICK, "--seconds", "20", "--out", str(tmp_path)])
    assert first.exit_code == 0, first.output
    header, rule, line = first.stdout.splitlines()
    assert header.startswith("| table | values | where |")
    assert rule == "|" + "---|" * 13
    assert line.startswith("| table14 | uniform | leaf | unit | alternate | 0 | 5388 | 224 | ")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["runs.jsonl", "table14-uniform-leaf-unit-0.svg"]
    second = CliRunner().invoke(app, [*QUICK, "--seconds", "20", "--out", str(tmp_path)])
    assert second.stdout == first.stdout
    assert "1 runs, 1 of them known" in second.stderr


@pytest.mark.parametrize(
    "wrong",
    [
        ["--shapes", "19"],
        ["--values", "normal"],
        ["--where", "top"],
        ["--weights", "file"],
        ["--methods", "magic"],
        ["--seeds", "0"],
        ["--where", ","],
    ],
)
def test_wrong_words_are_input_errors(wrong: list[str]) -> None:
    assert CliRunner().invoke(app, ["bench", "1h2d", *wrong]).exit_code == 2


def test_the_whole_plan_is_every_combination_where_a_method_can() -> None:
    tasks = Plan(shapes=tuple(SHAPES)).tasks()
    assert len({task.key for task in tasks}) == len(tasks)
    assert sum(task.method == "auto" for task in tasks) == 24 * 2 * 2 * 2
    assert {task.method for task in tasks if task.table.name == "table36"} == {"auto"}
    assert {task.method for task in tasks if task.table.name == "table14"} == set(METHODS)


def test_objectives_are_drawn_as_stairs_down_to_the_end() -> None:
    trace = (TracePoint(0.0, math.inf, 5.0), TracePoint(1.0, 20.0, 5.0), TracePoint(3.0, 12.0, 10.0))
    run = a_run(method="auto", trace=trace, seconds=4.0)
    assert series_of([run]) == {
        "auto": [(1.0, 20.0), (3.0, 20.0), (3.0, 12.0), (4.0, 12.0)],
        "bound": [(0.05, 5.0), (1.0, 5.0), (1.0, 5.0), (3.0, 5.0), (3.0, 10.0), (4.0, 10.0)],
    }
    assert first_table(run) == 1.0


def test_a_method_without_a_table_has_no_line_in_the_chart() -> None:
    assert series_of([a_run(method="bcd", objective=math.inf, trace=(TracePoint(1.0, math.inf, 3.0),))]) == {}


def measured(*, gap=0.5, seconds=20.0, out=None, tell=lambda _: None, stopped=lambda: False):
    return measure_growth(gap=gap, seconds=seconds, seeds=1, largest=False, out=out, tell=tell, stopped=stopped)


@pytest.mark.slow
def test_growth_is_measured_through_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small = Shape(rows=14, columns=4, inner=3, depth=2, sensitive=5)
    monkeypatch.setattr(one_hierarchy, "SHAPES", {"tiny": small, "small": Shape(rows=20, columns=5, inner=4, depth=3, sensitive=6)})
    monkeypatch.setattr(one_hierarchy, "GROWTH", ("tiny", "small"))
    told: list[str] = []
    stops = iter([False, True])
    first = list(measured(out=tmp_path, tell=told.append, stopped=lambda: next(stops)))
    assert len(first) == 3  # stopped after the first table, which is kept
    lines = list(measured(out=tmp_path, tell=told.append))
    assert told == ["tiny, seed 0", "tiny, seed 0, known", "small, seed 0"]
    assert lines[2].startswith("| tiny | 56 | 5 | 0 | ")
    assert lines[:3] == first
    assert len(lines) == 4
    assert sorted(path.name for path in tmp_path.iterdir()) == ["growth-memory.svg", "growth-seconds.svg", "growth.json"]


def test_growth_goes_from_five_thousand_to_five_million_cells() -> None:
    assert [SHAPES[name].cells for name in GROWTH] == sorted(SHAPES[name].cells for name in GROWTH)
    assert SHAPES[GROWTH[0]].cells == 5388
    assert 5_000_000 <= LARGEST.cells <= 5_100_000


def test_an_impossible_growth_is_refused_before_it_begins() -> None:
    with pytest.raises(InputError):
        next(iter(measured(gap=-1)))


def test_figures_of_another_kind_are_not_written_over(tmp_path: Path) -> None:
    (tmp_path / "growth.json").write_text('{"table14": []}', encoding="utf-8")
    with pytest.raises(InputError, match="does not hold figures"):
        list(measured(out=tmp_path))
    assert (tmp_path / "growth.json").read_text(encoding="utf-8") == '{"table14": []}'


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["--growth", "--shapes", "14"], "--shapes"),
        (["--growth", "--values", "uniform"], "--values"),
        (["--growth", "--where", "leaf"], "--where"),
        (["--growth", "--weights", "unit"], "--weights"),
        (["--growth", "--methods", "auto"], "--methods"),
        (["--gap", "0.1"], "--gap"),
        (["--largest"], "--largest"),
    ],
)
def test_options_that_would_do_nothing_are_refused(words: list[str], named: str) -> None:
    result = CliRunner().invoke(app, ["bench", "1h2d", *words])
    assert result.exit_code == 2
    assert f"{named} does not go with" in result.stderr


def test_shapes_have_the_names_that_generate_knows() -> None:
    names = ["14", "table14", "Table 14", "TABLE14"]
    assert {shape_name(name) for name in names} == {"table14"}
    result = CliRunner().invoke(app, ["bench", "1h2d", "--shapes", "Table 14", "--where", "top"])
    assert result.exit_code == 2
    assert "Unknown place" in result.stderr  # the shape was understood
