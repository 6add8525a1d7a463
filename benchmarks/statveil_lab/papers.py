"""The papers' comparisons once more: every method on their tables, each with the same time.

S0's figures 1 to 4 on its random tables, S1's linked codes, and the objective over time as in S3's figures 3 and 4.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from statveil_lab.runner import Ledger, Run, Table, Task, Tell, check_plan, every_method, run_all
from statveil_lab.summary import (
    contradictions,
    paragraph,
    percent_chart,
    percent_table,
    reasons,
    same_random_table,
    time_chart,
    write_charts,
    write_text,
)
from statveil_lab.tables import FIGURES, Figure, check_figures, tables_of


def compare_papers(
    *,
    figures: Sequence[str] | None = None,
    sizes: Sequence[int] | None = None,
    methods: Sequence[str] | None = None,
    seconds: float = 10.0,
    seeds: int = 3,
    out: Path | None = None,
    tell: Tell = lambda words: None,
    stopped: Callable[[], bool] = lambda: False,
) -> str:
    """Run the plan and tell the results as Markdown; with `out` also in files: runs.jsonl (resumed), results.md and charts."""
    methods = every_method() if methods is None else methods
    check_plan(methods, seconds, seeds)
    tables = {FIGURES[figure].group: (FIGURES[figure], tables_of(figure, sizes)) for figure in check_figures(figures)}
    tasks = _plan([table for _, of_figure in tables.values() for table in of_figure], methods, seconds, seeds)
    runs = list(run_all(tasks, Ledger(out), tell=tell, stopped=stopped))
    parts = [_part(figure, [run for run in runs if run.group == group], out) for group, (figure, _) in tables.items()]
    text = "\n".join(line for part in parts for line in part)
    if out is not None:
        write_text(out / "results.md", text)
    return text


def _plan(tables: Sequence[Table], methods: Sequence[str], seconds: float, seeds: int) -> list[Task]:
    """Seed by seed, so that a plan stopped early has all tables; table by table, so that all methods meet the same machine."""
    return [Task(table, method, seed, seconds) for seed in range(seeds) for table in tables for method in methods]


def _part(figure: Figure, runs: Sequence[Run], out: Path | None) -> list[str]:
    """The results on one family of tables; its charts are written on the way."""
    if not runs:
        return []
    ordered = sorted(runs, key=lambda run: run.size)
    seeds, seconds = len({run.seed for run in runs}), runs[0].limit
    lines = [
        f"## {figure.title}",
        "",
        "Percent above the optimum, or above the best certified bound where none is proved; "
        f"medians over {seeds} {'seed' if seeds == 1 else 'seeds'}, {seconds:g} s a run.",
        "",
        *percent_table(ordered, same_random_table),
        "",
        *paragraph("", contradictions(runs, same_random_table)),
        *paragraph("Runs without a table:", reasons(runs)),
    ]
    return lines if out is None else [*lines, *_charts(figure, ordered, out)]


def _charts(figure: Figure, runs: Sequence[Run], out: Path) -> list[str]:
    """Percent by size, and the objective over time on the largest table of the first seed; lines that show them."""
    largest = [run for run in runs if run.size == runs[-1].size and run.seed == 0]
    charts = {
        figure.group: percent_chart(runs, title=figure.title, axis=figure.axis),
        f"time-{runs[-1].table}": time_chart(largest, title=f"Objective over time: {runs[-1].table}"),
    }
    return write_charts(charts, out)
