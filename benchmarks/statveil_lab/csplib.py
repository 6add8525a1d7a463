"""Tables in JJ files: our methods beside plain HiGHS at equal time, one after the other.

HiGHS's figures are as it claims them; ours are of whole, audited tables. With several seeds ours are medians.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from statistics import median

from statveil.core.errors import InputError
from statveil.core.limits import known
from statveil.formats.system import read_system
from statveil.protect.system import SystemWeights, problem_of
from statveil_lab.runner import PLAIN, Ledger, Posed, Run, Table, Task, Tell, check_plan, every_method, run_all
from statveil_lab.summary import contradictions, paragraph, percent_table, reasons, same_file, time_chart, write_charts, write_text


def compare_folder(
    folder: Path,
    *,
    seconds: float,
    weights: Sequence[SystemWeights],
    method: str = "auto",
    all_methods: bool = False,
    seeds: int = 1,
    out: Path | None = None,
    tell: Tell = lambda words: None,
    stopped: Callable[[], bool] = lambda: False,
) -> Iterator[str]:
    """Lines of Markdown as they come: a table of one row per file and weighting, then how every method did, if asked.

    With `out` the lines are also written to results.md, the runs to runs.jsonl (and resumed from it), and charts beside them.
    """
    methods = every_method() if all_methods else [method]
    check_plan([method, *methods], seconds, seeds)
    tables = _tables(folder, weights)
    tasks = [task for table in tables for task in _tasks(table, methods, seconds, seeds)]
    lines: list[str] = []
    for line in _lines(tasks, run_all(tasks, Ledger(out), tell=tell, stopped=stopped), method, all_methods=all_methods, out=out):
        lines.append(line)
        yield line
    if out is not None:
        write_text(out / "results.md", "\n".join([*lines, ""]))


def _tables(folder: Path, weights: Sequence[SystemWeights]) -> list[Table]:
    for weighting in weights:
        known("weights", weighting, ("file", "unit", "value", "inverse"))
    files = sorted(folder.glob("*.jj"))
    if not files:
        raise InputError(f"{folder} holds no .jj files.")
    return [
        Table(weighting, path.stem, place, partial(_pose, path, weighting)) for place, path in enumerate(files) for weighting in weights
    ]


def _pose(path: Path, weights: SystemWeights, _: int) -> Posed:
    system = read_system(path, decimals="all")  # as the papers take it: levels as they are written, whatever the values have
    return Posed(system, problem_of(system, weights=weights))


def _tasks(table: Table, methods: Sequence[str], seconds: float, seeds: int) -> list[Task]:
    """HiGHS knows no seed of ours: it runs once."""
    return [Task(table, PLAIN, 0, seconds), *(Task(table, method, seed, seconds) for method in methods for seed in range(seeds))]


def _lines(tasks: Sequence[Task], runs: Iterator[Run], method: str, *, all_methods: bool, out: Path | None) -> Iterator[str]:
    yield f"| table | weights | cells | sensitive | relations | HiGHS | its bound | {method} | bound | certified | gap | ending | s |"
    yield "|" + "---|" * 13
    due = Counter(task.key[:2] for task in tasks)
    done: list[Run] = []
    for run in runs:
        done.append(run)
        of_table = [other for other in done if other.key[:2] == run.key[:2]]
        if len(of_table) == due[run.key[:2]]:
            yield _row(of_table, method)
    yield ""
    yield from paragraph("", contradictions(done, same_file))
    for weights in dict.fromkeys(run.group for run in done):
        of_weights = [run for run in done if run.group == weights]
        yield from _by_method(of_weights) if all_methods else ()
        yield from paragraph(f"Weights {weights}, runs without a table:", reasons(of_weights))
    if out is not None:
        yield from write_charts(_charts(done), out)


def _row(runs: Sequence[Run], method: str) -> str:
    plain = next(run for run in runs if run.method == PLAIN)
    fields: list[str | int] = [plain.table, plain.group, plain.cells, plain.sensitive, plain.relations]
    fields += [plain.reason.removeprefix("HiGHS: ") or _number(plain.objective), _number(plain.bound)]
    fields += _medians([run for run in runs if run.method == method])
    return f"| {' | '.join(map(str, fields))} |"


def _medians(runs: Sequence[Run]) -> list[str]:
    """Objective, bound, certified bound, gap, ending and seconds; if half the seeds have no table, why."""
    objective, bound, certified, seconds = (
        median(getattr(run, name) for run in runs) for name in ("objective", "bound", "certified", "seconds")
    )
    if math.isinf(objective):
        without = next(run.reason for run in runs if run.reason)
        return [without.partition(":")[0], _number(bound), "", "", "none", f"{seconds:.1f}"]
    gap = median(0.0 if run.proved else run.objective / run.bound - 1 if run.bound > 0 else math.inf for run in runs)
    ending = "optimal" if all(run.proved for run in runs) else "start only" if all(run.start_only for run in runs) else "feasible"
    return [_number(objective), _number(bound), _number(certified), f"{100 * gap:.3g}%", ending, f"{seconds:.1f}"]


def _by_method(runs: Sequence[Run]) -> list[str]:
    """Methods by files, for one weighting."""
    said = f"Weights {runs[0].group}: percent above the optimum, or above the best certified bound of any run; medians over seeds."
    return [said, "", *percent_table(runs, same_file), ""]


def _charts(runs: Sequence[Run]) -> dict[str, str]:
    """The objective over time of the first seed, for each file and weighting."""
    charts = {}
    for weights, table in dict.fromkeys((run.group, run.table) for run in runs):
        of_table = [run for run in runs if (run.group, run.table, run.seed) == (weights, table, 0)]
        charts[f"time-{table}-{weights}"] = time_chart(of_table, title=f"Objective over time: {table}, weights {weights}")
    return charts


def _number(amount: float) -> str:
    return f"{amount:.8g}"
