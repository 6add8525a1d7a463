"""What the runs say: medians over seeds as Markdown, percent above what is certified, reasons, and charts."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from statistics import median

from statveil_lab.plot import Point, line_chart
from statveil_lab.runner import PLAIN, Run

LEAST_SHOWN = 0.01
"""Percent: what is closer to the reference is drawn here, for a logarithmic axis has no zero."""
BOUND_SHOWN = 0.8
"""Share of its last value from which a bound is drawn over time: its rise from nothing would flatten all else."""
CONTRADICTED = 1e-6
"""Relative: an audited table this far below a lower bound shows that the bound is wrong."""


def references(runs: Iterable[Run], table_of: Callable[[Run], tuple[object, ...]]) -> dict[tuple[object, ...], float]:
    """For each table the optimum if a run proved it, else the best certified bound. What plain HiGHS claims does not count."""
    return _largest(runs, table_of, lambda run: run.bound if run.proved else run.certified)


def _largest(
    runs: Iterable[Run], table_of: Callable[[Run], tuple[object, ...]], bound_of: Callable[[Run], float]
) -> dict[tuple[object, ...], float]:
    best: dict[tuple[object, ...], float] = defaultdict(float)
    for run in runs:
        if run.method != PLAIN:
            best[table_of(run)] = max(best[table_of(run)], bound_of(run))
    return dict(best)


def same_random_table(run: Run) -> tuple[object, ...]:
    """A random table is another for every seed."""
    return (run.group, run.table, run.seed)


def same_file(run: Run) -> tuple[object, ...]:
    """A table from a file is the same for every seed."""
    return (run.group, run.table)


def percent_above(objective: float, reference: float) -> float:
    if objective <= reference:
        return 0.0
    return 100 * (objective / reference - 1) if reference > 0 else math.inf


def percents(runs: Sequence[Run], table_of: Callable[[Run], tuple[object, ...]]) -> dict[tuple[str, str], float]:
    """By method and table the median over seeds of the percent above the reference; infinite if half the seeds have no table."""
    known = references(runs, table_of)
    found: dict[tuple[str, str], list[float]] = defaultdict(list)
    for run in runs:
        found[run.method, run.table].append(percent_above(run.objective, known.get(table_of(run), 0.0)))
    return {key: median(values) for key, values in found.items()}


def percent_table(runs: Sequence[Run], table_of: Callable[[Run], tuple[object, ...]]) -> list[str]:
    """Methods by tables as Markdown. The last row tells on how many tables the reference is the proved optimum."""
    tables, methods = _in_order(run.table for run in runs), _in_order(run.method for run in runs)
    medians = percents(runs, table_of)
    lines = [f"| method | {' | '.join(tables)} |", "|---|" + "---|" * len(tables)]
    for method in methods:
        cells = [_percent_cell([run for run in runs if (run.method, run.table) == (method, table)], medians) for table in tables]
        lines.append(f"| {method} | {' | '.join(cells)} |")
    proved = [_proved_cell([run for run in runs if run.table == table], table_of) for table in tables]
    return [*lines, f"| *optimum proved* | {' | '.join(proved)} |"]


def _percent_cell(runs: Sequence[Run], medians: dict[tuple[str, str], float]) -> str:
    if not runs:
        return ""
    number = medians[runs[0].method, runs[0].table]
    found = sum(not run.reason for run in runs)
    words = "none" if math.isinf(number) else f"{round(number, 3):.4g}"
    words += " (start only)" if all(run.start_only for run in runs) else ""
    return words if found in (0, len(runs)) else f"{words} ({found} of {len(runs)})"


def _proved_cell(runs: Sequence[Run], table_of: Callable[[Run], tuple[object, ...]]) -> str:
    every, proved = {table_of(run) for run in runs}, {table_of(run) for run in runs if run.proved}
    return "yes" if every == proved else "no" if not proved else f"{len(proved)} of {len(every)}"


def reasons(runs: Sequence[Run]) -> list[str]:
    """Why methods gave no table, as a Markdown list; the same words of a method are said once, with the tables."""
    without: dict[tuple[str, str], dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for run in runs:
        if run.reason:
            without[run.method, run.reason][run.table].append(run.seed)
    return [f"- {method}: {reason} ({_with_seeds(tables)})" for (method, reason), tables in without.items()]


def _with_seeds(tables: Mapping[str, Sequence[int]]) -> str:
    return "; ".join(f"{table}, {'seed' if len(seeds) == 1 else 'seeds'} {', '.join(map(str, seeds))}" for table, seeds in tables.items())


def contradictions(runs: Sequence[Run], table_of: Callable[[Run], tuple[object, ...]]) -> list[str]:
    """Audited tables that are better than a lower bound of any run allows: there must be none."""
    known = _largest(runs, table_of, lambda run: run.bound)
    wrong = [run for run in runs if run.method != PLAIN and run.objective < known[table_of(run)] * (1 - CONTRADICTED)]
    return [f"- **Fault**: {run.method} on {run.table}, seed {run.seed}, is below a lower bound of this table." for run in wrong]


def percent_chart(runs: Sequence[Run], *, title: str, axis: str) -> str:
    """Percent above the reference by size, a line a method."""
    medians = percents(runs, same_random_table)
    sizes = {run.table: run.size for run in runs}
    lines: dict[str, list[Point]] = {}
    for method in _in_order(run.method for run in runs):
        points = [(float(size), medians.get((method, table), math.inf)) for table, size in sizes.items()]
        shown = sorted((size, max(percent, LEAST_SHOWN)) for size, percent in points if math.isfinite(percent))
        if shown:
            lines[method] = shown
    lowest = min((percent for line in lines.values() for _, percent in line), default=math.inf)
    label = "percent above optimum or bound" + (f" ({LEAST_SHOWN:g}: that or less)" if lowest <= LEAST_SHOWN else "")
    return line_chart(lines, title=title, x_label=axis, y_label=label, log_y=True) if lines else ""


def time_chart(runs: Sequence[Run], *, title: str) -> str:
    """The best objective over time (S3, figures 3 and 4), a line a method, and the best bound over time of the run that proved most."""
    lines = {run.method: _stairs([(point.seconds, point.objective) for point in run.trace], run.seconds) for run in runs}
    lines = {method: points for method, points in lines.items() if points}
    best = max((run for run in runs if run.method != PLAIN), key=lambda run: run.bound, default=None)
    if not lines:
        return ""
    if best is not None and best.bound > 0:
        near = [(point.seconds, point.bound) for point in best.trace if point.bound > BOUND_SHOWN * best.bound]
        lines[f"bound ({best.method})"] = _stairs(near, best.seconds)
    return line_chart(
        {name: line for name, line in lines.items() if line},
        title=title,
        x_label="seconds",
        y_label="objective",
        log_x=True,
        log_y=True,
        marks=False,
    )


def _stairs(points: Iterable[Point], end: float) -> list[Point]:
    """Known from each point to the next, and from the last to the end."""
    known = [(max(seconds, 0.01), amount) for seconds, amount in points if math.isfinite(amount) and amount > 0]
    corners = [(later, amount) for (_, amount), (later, _) in zip(known, [*known[1:], (end, 0.0)], strict=False)]
    return [point for pair in zip(known, corners, strict=True) for point in pair]


def paragraph(heading: str, lines: Sequence[str]) -> list[str]:
    """A list under its heading, or nothing."""
    return [*([heading, ""] if heading else []), *lines, ""] if lines else []


def write_charts(charts: Mapping[str, str], folder: Path) -> list[str]:
    """Write charts under their names; lines of Markdown that show them. One without any line is left out."""
    drawn = {name: chart for name, chart in charts.items() if chart}
    for name, chart in drawn.items():
        write_text(folder / f"{name}.svg", chart)
    return [line for name in drawn for line in (f"![{name}]({name}.svg)", "")]


def write_text(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="\n")


def _in_order(words: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(words))
