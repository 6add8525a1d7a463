"""What a run shows while it works and when it is done: live on a terminal, plain lines elsewhere, JSON for machines."""

from __future__ import annotations

import json
import math
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import typer

from statveil.audit.report import AuditReport, Check
from statveil.cli.signals import told_to_stop
from statveil.core.limits import OnProgress, Progress

if TYPE_CHECKING:
    from rich.text import Text

    from statveil.audit.attacks.verdict import SuiteReport
    from statveil.data.microdata import Microdata
    from statveil.jobs.adjust import AdjustedSystem
    from statveil.jobs.folders.tables import FolderRelease
    from statveil.protect.adjustment import Adjustment

EVERY = 2.0
"""Seconds between two plain lines of the same stage."""
MOST_REPAIRS = 20
"""Repairs shown on the screen."""


def gap_of(objective: float, bound: float) -> float:
    """(objective - bound) / bound; infinite until both are known."""
    if not (math.isfinite(objective) and math.isfinite(bound)):
        return math.inf
    if objective <= bound:
        return 0.0
    return (objective - bound) / bound if bound > 0 else math.inf


def in_words(progress: Progress) -> str:
    """A line like: flipping senses  12 s  objective 1234  bound 1200  gap 2.83%  48 s left."""
    words = [f"{progress.stage:<16}", f"{progress.seconds:.0f} s"]
    gap = gap_of(progress.objective, progress.bound)
    if math.isfinite(progress.objective):
        words.append(f"objective {progress.objective:,.6g}")
    if progress.bound > 0 or (math.isfinite(progress.objective) and progress.bound == 0):
        words.append(f"bound {progress.bound:,.6g}")
    if math.isfinite(gap):
        words.append(f"gap {gap:.2%}")
    if 0 < progress.seconds_left < math.inf:
        words.append(f"{progress.seconds_left:.0f} s left")
    return "  ".join(words)


@contextmanager
def narrator(*, as_json: bool) -> Iterator[OnProgress]:
    """Something to tell progress to, fit for where stderr goes."""
    if as_json:
        with _lines(lambda progress: json.dumps({"progress": _as_object(progress)})) as tell:
            yield tell
    elif sys.stderr.isatty():
        with _live() as tell:
            yield tell
    else:
        with _lines(in_words) as tell:
            yield tell


@contextmanager
def _lines(write: Callable[[Progress], str]) -> Iterator[OnProgress]:
    """A line for each new stage at once, and otherwise one every two seconds, news or not."""
    clock, over, one_at_a_time = _Clock(), threading.Event(), threading.Lock()
    stage = ""

    def say() -> None:
        nonlocal stage
        with one_at_a_time:
            stage = clock.last.stage
            typer.echo(write(clock.now()), err=True)

    def hear(progress: Progress) -> None:
        clock.hear(progress)
        if progress.stage != stage:
            say()

    def repeat() -> None:
        while not over.wait(EVERY):
            if clock.last.stage:
                say()

    heart = threading.Thread(target=repeat, daemon=True)
    heart.start()
    try:
        yield hear
    finally:
        over.set()
        heart.join()


def _as_object(progress: Progress) -> dict[str, object]:
    numbers = {name: value for name, value in progress._asdict().items() if name != "stage"}
    numbers["gap"] = gap_of(progress.objective, progress.bound)
    return {"stage": progress.stage, **{name: round(value, 9) if math.isfinite(value) else None for name, value in numbers.items()}}


class _Clock:
    """The newest progress, with its clock running on between two reports."""

    def __init__(self) -> None:
        self.started = self.heard = time.monotonic()
        self.last = Progress("", 0.0, math.inf, -math.inf, math.inf)

    def hear(self, progress: Progress) -> None:
        """Stages after the search know no objective of their own: what was known stays, and no time is left to wait for."""
        if math.isfinite(self.last.objective) and not math.isfinite(progress.objective):
            progress = progress._replace(objective=self.last.objective, bound=self.last.bound, seconds_left=0.0)
        self.last, self.heard = progress, time.monotonic()

    def now(self) -> Progress:
        left = self.last.seconds_left - (time.monotonic() - self.heard)
        return self.last._replace(seconds=time.monotonic() - self.started, seconds_left=max(left, 0.0))


class _Line:
    """The clock as a line that rich draws anew four times a second."""

    def __init__(self, clock: _Clock) -> None:
        self.clock = clock

    def __rich__(self) -> Text:
        from rich.text import Text

        return Text(in_words(self.clock.now()), style="cyan", no_wrap=True, overflow="ellipsis")


@contextmanager
def _live() -> Iterator[OnProgress]:
    from rich.console import Console
    from rich.live import Live

    clock = _Clock()
    with Live(_Line(clock), console=Console(stderr=True), refresh_per_second=4, transient=True):
        yield clock.hear


@contextmanager
def warned_aloud() -> Iterator[None]:
    """Say what was warned of, each once, when the work is done."""
    with warnings.catch_warnings(record=True, category=UserWarning, action="always") as told:
        yield
    for words in dict.fromkeys(str(each.message) for each in told):
        typer.echo(f"Warning: {words}", err=True)


def say_prepared(data: Microdata, *, as_json: bool) -> None:
    """What became of the records before they were used: missing words, derived columns, records left out."""
    if data.prepared is not None and not as_json:
        for line in data.prepared.in_words():
            typer.echo(f"Records: {line}", err=True)


def show_release(outcome: FolderRelease, *, as_json: bool) -> None:
    """What came out and where it lies."""
    from statveil.jobs.folders.tables import figures
    from statveil.protect.adjustment import how_good

    release, numbers = outcome.release, figures(outcome.release, outcome.attacks)
    if as_json:
        paths = {words: str(path) for words, path in outcome.files.items()}
        typer.echo(
            json.dumps({"folder": str(outcome.folder), "paths": paths, "seconds": round(outcome.seconds, 3), **numbers}, ensure_ascii=False)
        )
        return
    words = _cells(numbers["cells"], numbers["sensitive"])
    found = f": {how_good(release.adjustment)}" if numbers["sensitive"] else ". Nothing was sensitive; numbers were rounded at most"
    typer.echo(f"Protected a table of {words} in {outcome.seconds:.1f} s{found}.\n")
    _show_stop()
    _show_kept(release.adjustment)
    for words in numbers["moved_totals"]:
        typer.echo(f"{words}\n")
    _show_floors(numbers["floors"])
    typer.echo(f"{audit_in_words(release.audit)}\n")
    typer.echo(f"{attacks_in_words(outcome.attacks)}\n")
    if "narrow" in numbers:
        typer.echo(f"{numbers['narrow']}\n")
    _show_repairs(release.repairs_in_words(), weakened=release.protection_weakened)
    _show_spread([each.words for each in release.sensitivity.spread])
    width = max(len(words) for words in outcome.files)
    for words, path in outcome.files.items():
        typer.echo(f"{words:<{width}}  {path}")
    typer.echo(f"\nOpen {outcome.files.get('internal report', outcome.files['report'])} in a browser.")


def _show_floors(floors: Mapping[str, Any]) -> None:
    """How levels were drawn and what that cost, where they were."""
    if floors["scheme"] != "drawn":
        typer.echo("Levels are exactly those of the rules: who knows the rules knows how far most sensitive cells were moved.\n")
        return
    cost = "" if floors["cost"] is None else f"; with every cell moved the same way, that makes changes {max(floors['cost'], 0):.1%} dearer"
    typer.echo(f"Levels were drawn up to {floors['cap']:g} times those of the rules by key {floors['key']}{cost}.\n")


def show_system(outcome: AdjustedSystem, *, as_json: bool) -> None:
    """What came of a linear system; as JSON, just what the summary file holds."""
    if as_json:
        typer.echo(json.dumps(outcome.summary, allow_nan=False))
        return
    from statveil.protect.adjustment import how_good

    adjustment, cells, sensitive = outcome.adjustment, outcome.summary["cells"], outcome.summary["sensitive"]
    found = how_good(adjustment) if sensitive else "nothing was sensitive"
    typer.echo(f"Adjusted a system of {_cells(cells, sensitive)} in {adjustment.seconds:.1f} s: {found}.")
    typer.echo(f"Objective {adjustment.objective:,.10g}, lower bound {adjustment.bound:,.10g} ({_rests_on(adjustment)}).\n")
    _show_stop()
    _show_kept(adjustment)
    typer.echo(f"{audit_in_words(outcome.audit)}\n")
    if gave := adjustment.relaxations:
        from statveil.audit.repairs import in_words as repairs_in_words
        from statveil.audit.repairs import weakened

        _show_repairs(repairs_in_words(gave), weakened=weakened(gave))
    for cells, statistics in outcome.summary["utility"].items():
        typer.echo(utility_in_words(cells, statistics))
    typer.echo(f"\nsolution  {outcome.solution}")


def _show_stop() -> None:
    """A search that was cut short must not pass for one that came to its end."""
    if told_to_stop():
        typer.echo("STOPPED by a signal before the time was over: this is the best table found until then.\n")


def _show_kept(adjustment: Adjustment) -> None:
    """What became of the statistics to keep, and a cap that had to be widened for them."""
    if adjustment.quality is not None:
        typer.echo("\n".join(f"- {words}" for words in adjustment.quality.in_words()) + "\n")


def utility_in_words(cells: str, statistics: Mapping[str, Any]) -> str:
    """A line like: sensitive cells: correlation 0.99850, slope 1.00210, variance ratio 1.00720, mean 120.5 to 120.7."""
    told = [
        f"{name.replace('_', ' ')} {statistics[name]:.5f}"
        for name in ("correlation", "slope", "variance_ratio")
        if statistics[name] is not None
    ]
    before, after = statistics["mean"]
    return f"{cells} cells: {', '.join([*told, f'mean {before:,.6g} to {after:,.6g}'])}"


def _show_spread(reached: Sequence[str]) -> None:
    """Cells that are safe because another name of the same records was declared so."""
    for words in reached[:MOST_REPAIRS]:
        typer.echo(f"- {words}")
    if len(reached) > MOST_REPAIRS:
        typer.echo(f"- and {len(reached) - MOST_REPAIRS:,} more, all in run.json")
    if reached:
        typer.echo("")


def _show_repairs(given: Sequence[str], *, weakened: bool) -> None:
    """What was asked and not kept. A reader must not miss it."""
    if not given:
        return
    if weakened:
        typer.echo("WARNING: PROTECTION WAS WEAKENED. The levels that the rules ask for do not hold in this solution.")
    typer.echo(f"REPAIRED: no safe table kept all that was asked; {len(given):,} of it gave:")
    typer.echo("\n".join(f"- {words}" for words in given[:MOST_REPAIRS]))
    if len(given) > MOST_REPAIRS:
        typer.echo(f"- and {len(given) - MOST_REPAIRS:,} more, all in the list of repairs")
    typer.echo("")


def _rests_on(adjustment: Adjustment) -> str:
    if adjustment.bound_by == "solver":
        return f"as claimed by the solver; certified: {adjustment.certified_bound:,.10g}"
    return "nothing is certified" if adjustment.bound_by == "none" else "certified"


def _cells(cells: int, sensitive: int) -> str:
    words = f"{cells:,} {'cell' if cells == 1 else 'cells'}"
    return f"{words}, {sensitive:,} of them sensitive," if sensitive else words


def attacks_in_words(report: SuiteReport) -> str:
    """A line for each attack: its code, the verdict, and the number found."""
    return "\n".join(
        f"{each.threat.id}  {str(each.status).upper() if not each.passed and not each.reason else each.status!s:<15} {each.threat.name}: "
        f"{each.reason or each.number}"
        for each in report.verdicts
    )


def audit_in_words(report: AuditReport) -> str:
    return "\n".join(check_in_words(check) for check in report.checks)


def check_in_words(check: Check) -> str:
    """A line like: passed  Every total equals the sum of its parts: 1,234 checked, no faults."""
    if check.passed and not check.checked:
        return f"passed  {check.words}: nothing to check"
    faults = f"{check.faults:,} {'fault' if check.faults == 1 else 'faults'}" if check.faults else "no faults"
    return f"{'passed' if check.passed else 'FAILED'}  {check.words}: {check.checked:,} checked, {faults}"


def show_audit(report: AuditReport, *, as_json: bool) -> None:
    if as_json:
        from statveil.jobs.folders.tables import audit_figures

        typer.echo(json.dumps({"audit": audit_figures(report)}, ensure_ascii=False))
        return
    typer.echo(audit_in_words(report))
    for check in report.checks:
        for finding in check.findings:
            typer.echo(f"  {check.name}: {finding}")
    typer.echo("The release is sound." if report.passed else "The release is NOT sound.")
