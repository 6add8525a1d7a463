"""S3's 1H2D tables: `auto` over time beside random-BCD, tree-BCD and plain HiGHS (its figures 3 and 4), and how the cost grows with size.

S3 gave its methods three hours of CPLEX; here every method has the same seconds, with HiGHS for the subproblems of both BCDs. The
large tables are left to `auto`: the others do not get to a first table there.
"""

from __future__ import annotations

import itertools
import json
import math
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, cast

from statveil.core.errors import InputError, SolverFailed
from statveil.core.limits import Limits, known
from statveil.formats.system import write_system
from statveil.protect.system import SystemWeights, problem_of
from statveil_lab.generators.one_hierarchy import SHAPES, Filling, Shape, Values, Where, one_hierarchy_system
from statveil_lab.plot import line_chart
from statveil_lab.runner import PLAIN, Ledger, Posed, Run, Table, Task, Tell, check_plan, run_all

METHODS = ("auto", "bcd", "tree-bcd", PLAIN)
MOST_CELLS = {"bcd": 220_000, "tree-bcd": 220_000, PLAIN: 60_000}
"""Cells up to which a method runs unless it is asked for by name."""
COLUMNS = ("table", "values", "where", "weights", "method", "seed", "cells", "sensitive", "objective", "bound", "gap", "first table", "s")
GROWTH = ("table14", "table18", "table16", "table26", "table35", "table36")
LARGEST = Shape(rows=99_000, columns=51, inner=1_200, depth=6, sensitive=450_000)
"""Five million cells, in the proportions of S3's largest."""
GAP = 0.01
"""The certified gap up to which growth is measured unless another is asked for."""
EARLIEST = 0.05
"""Seconds at which a logarithmic axis begins."""


class Plan(NamedTuple):
    """What to compare: every combination is run."""

    shapes: Sequence[str]
    values: Sequence[str] = ("uniform", "lognormal")
    where: Sequence[str] = ("leaf", "any")
    weights: Sequence[str] = ("unit", "inverse")
    methods: Sequence[str] | None = None
    seconds: float = 60.0
    seeds: int = 1

    def check(self) -> None:
        for shape in self.shapes:
            known("shape", shape, tuple(SHAPES))
        for values, where in itertools.product(self.values, self.where):
            Filling(values=cast(Values, values), where=cast(Where, where))
        for weights in self.weights:
            known("weights", weights, ("unit", "inverse"))
        check_plan(self.methods or METHODS, self.seconds, self.seeds)

    def tasks(self) -> list[Task]:
        """One after the other, a table's methods together."""
        kinds = itertools.product(self.shapes, self.values, self.where, self.weights, range(self.seeds))
        return [
            Task(_table(shape, values, where, weights), method, seed, self.seconds)
            for shape, values, where, weights, seed in kinds
            for method in self.methods or [each for each in METHODS if SHAPES[shape].cells <= MOST_CELLS.get(each, math.inf)]
        ]


def compare_shapes(plan: Plan, *, out: Path | None, tell: Tell, stopped: Callable[[], bool]) -> Iterator[str]:
    """Lines of a Markdown table as they come; with a folder, the runs with their traces and a chart for each table as well."""
    plan.check()
    yield "| " + " | ".join(COLUMNS) + " |"
    yield "|" + "---|" * len(COLUMNS)
    ledger, done = Ledger(out), []
    for run in run_all(plan.tasks(), ledger, tell=tell, stopped=stopped):
        done.append(run)
        yield _line(run)
        if out is not None:
            _draw(out, [each for each in done if (each.group, each.table, each.seed) == (run.group, run.table, run.seed)])


def _table(shape: str, values: str, where: str, weights: str) -> Table:
    return Table(f"{values}, {where}, {weights}", shape, SHAPES[shape].cells, partial(_pose, shape, values, where, weights))


def _pose(shape: str, values: str, where: str, weights: str, seed: int) -> Posed:
    filling = Filling(values=cast(Values, values), where=cast(Where, where))
    system = one_hierarchy_system(SHAPES[shape], seed=seed, filling=filling)
    return Posed(system, problem_of(system, weights=cast(SystemWeights, weights)))


def _line(run: Run) -> str:
    start = [run.table, *run.group.split(", "), run.method, str(run.seed), str(run.cells), str(run.sensitive)]
    found = [run.reason, f"{run.bound:.8g}", "", ""]
    if math.isfinite(run.objective):
        gap = f"{(run.objective - run.bound) / run.bound:.3%}" if run.bound > 0 else ""
        found = [f"{run.objective:.8g}", f"{run.bound:.8g}", gap, f"{first_table(run):.1f}"]
    return "| " + " | ".join([*start, *found, f"{run.seconds:.1f}"]) + " |"


def first_table(run: Run) -> float:
    """Seconds until the first table."""
    return next((point.seconds for point in run.trace if math.isfinite(point.objective)), run.seconds)


def _draw(out: Path, runs: Sequence[Run]) -> None:
    series = series_of(runs)
    if series:
        title = f"{runs[0].table} ({runs[0].cells:,} cells), {runs[0].group}, seed {runs[0].seed}"
        chart = line_chart(series, title=title, x_label="seconds", y_label="objective", log_x=True, marks=False)
        name = f"{runs[0].table}-{runs[0].group.replace(', ', '-')}-{runs[0].seed}.svg"
        (out / name).write_text(chart, encoding="utf-8", newline="\n")


def series_of(runs: Sequence[Run]) -> dict[str, list[tuple[float, float]]]:
    """Each method's best objective over time as a staircase, and the best bound of ours, which comes from `auto`."""
    series = {run.method: _stairs([(point.seconds, point.objective) for point in run.trace], run.seconds) for run in runs}
    ours = [run for run in runs if run.method == "auto"]
    if ours:
        series["bound"] = _stairs([(point.seconds, point.bound) for point in ours[0].trace], ours[0].seconds)
    return {name: points for name, points in series.items() if points}


def _stairs(points: Sequence[tuple[float, float]], end: float) -> list[tuple[float, float]]:
    known_points = [(max(seconds, EARLIEST), amount) for seconds, amount in points if math.isfinite(amount) and amount > 0]
    stairs = [(later[0], before[1]) for before, later in itertools.pairwise(known_points)]
    corners = [point for pair in itertools.zip_longest(known_points, stairs) for point in pair if point is not None]
    return [*corners, (max(end, EARLIEST), corners[-1][1])] if corners else []


# -- growth -------------------------------------------------------------------------------------------------------------


def measure_growth(
    *, gap: float, seconds: float, seeds: int, largest: bool, out: Path | None, tell: Tell, stopped: Callable[[], bool]
) -> Iterator[str]:
    """Seconds and peak memory of `statveil protect` until the gap is certified, table by table, each in a process of its own.

    With a folder, figures are kept after each table; what was measured with the same gap and seconds is not measured again.
    """
    Limits(seconds=seconds, gap=gap)
    check_plan(("auto",), seconds, seeds)
    yield "| table | cells | sensitive | seed | gap | s to a table | s to the gap | s in all | peak MB |"
    yield "|" + "---|" * 9
    shapes = {name: SHAPES[name] for name in GROWTH} | ({"5M": LARGEST} if largest else {})
    known_figures = _kept_figures(out)
    figures: dict[str, list[Mapping[str, Any]]] = {}
    for name, seed in itertools.product(shapes, range(seeds)):
        if stopped():
            break
        asked = {"table": name, "seed": seed, "asked_gap": gap, "asked_seconds": seconds}
        summary = next((each for each in known_figures if asked.items() <= each.items()), None)
        tell(f"{name}, seed {seed}" + ("" if summary is None else ", known"))
        if summary is None:
            summary = _adjust_apart(shapes[name], seed, gap, seconds) | asked
            known_figures.append(summary)
        figures.setdefault(name, []).append(summary)
        found = " | ".join(f"{summary[key]:.1f}" for key in ("first", "reached", "elapsed", "peak_mb"))
        reached = "" if summary["gap"] is None else f"{summary['gap']:.3%}"
        yield f"| {name} | {summary['cells']} | {summary['sensitive']} | {seed} | {reached} | {found} |"
        if out is not None:
            _keep_growth(out, known_figures, figures)


def _kept_figures(out: Path | None) -> list[dict[str, Any]]:
    """What an earlier run in this folder measured."""
    file = None if out is None else out / "growth.json"
    if file is None or not file.exists():
        return []
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except ValueError:
        found = None
    if not isinstance(found, list) or not all(isinstance(each, dict) and "asked_gap" in each for each in found):
        raise InputError(f"{file} does not hold figures of this version.", hint="Take a new folder.")
    return found


def _keep_growth(out: Path, every: Sequence[Mapping[str, Any]], figures: Mapping[str, Sequence[Mapping[str, Any]]]) -> None:
    out.mkdir(parents=True, exist_ok=True)
    texts = {
        "growth.json": json.dumps(every),
        "growth-seconds.svg": _growth_chart(figures, ("elapsed", "reached", "first"), "seconds"),
        "growth-memory.svg": _growth_chart(figures, ("peak_mb",), "megabytes"),
    }
    for name, text in texts.items():
        (out / name).write_text(text, encoding="utf-8", newline="\n")


NAMES = {"elapsed": "in all, from file to file", "reached": "to the certified gap", "first": "to the first table", "peak_mb": "peak memory"}


def _growth_chart(figures: Mapping[str, Sequence[Mapping[str, Any]]], keys: Sequence[str], unit: str) -> str:
    series = {
        NAMES[key]: [(float(runs[0]["cells"]), max(statistics.median(run[key] for run in runs), EARLIEST)) for runs in figures.values()]
        for key in keys
    }
    return line_chart(series, title="Cost against size", x_label="cells", y_label=unit, log_x=True, log_y=True)


def _adjust_apart(shape: Shape, seed: int, gap: float, seconds: float) -> dict[str, Any]:
    """Generate a table, adjust it through the command line, and read the summary."""
    with tempfile.TemporaryDirectory() as folder:
        file, summary = Path(folder) / "table.npz", Path(folder) / "summary.json"
        write_system(one_hierarchy_system(shape, seed=seed), file)
        options = ["--weights", "unit", "--gap", str(gap), "--seconds", str(seconds), "--seed", str(seed), "--summary", str(summary)]
        began = time.monotonic()
        command = [sys.executable, "-c", "from statveil.cli import main; main()", "adjust", str(file), *options]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        elapsed = time.monotonic() - began
        if done.returncode:
            raise SolverFailed(f"`statveil protect` ended with code {done.returncode}.", hint=done.stderr.strip()[-300:])
        figures: dict[str, Any] = json.loads(summary.read_text(encoding="utf-8"))
    return figures | {"elapsed": elapsed, "first": _when(figures, math.inf), "reached": _when(figures, gap)}


def _when(figures: Mapping[str, Any], gap: float) -> float:
    """Seconds until objective and bound were this near; until the end if they never were."""
    near = (second for second, objective, bound in figures["trace"] if objective is not None and objective <= (1 + gap) * (bound or 0.0))
    if math.isinf(gap):
        near = (second for second, objective, _ in figures["trace"] if objective is not None)
    return float(next(near, figures["seconds"]))


def chosen(name: str, words: str | None, usual: Sequence[str]) -> list[str]:
    """A comma-separated choice, or the usual ones."""
    if words is None:
        return list(usual)
    parts = [word.strip() for word in words.split(",") if word.strip()]
    if not parts:
        raise InputError(f"--{name} names nothing.")
    return parts
