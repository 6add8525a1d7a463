"""Runs of many methods on many tables, one after the other, each with the same time.

Every finished run is written at once as a line of JSON, so that a comparison can be stopped at any moment; the same plan goes
on where it was. A table counts only if the independent audit passes; a run without one tells its reason.
"""

from __future__ import annotations

import dataclasses
import json
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from statveil.audit.systems import audit_system
from statveil.core.errors import AuditFailed, InputError, StatveilError
from statveil.core.limits import Limits, known
from statveil.formats.system import LinearSystem
from statveil.protect.adjust import adjust_problem
from statveil.protect.adjustment import Adjustment, TracePoint
from statveil.protect.problem import ProtectionProblem
from statveil.protect.search.methods import HOMES
from statveil_lab.plain import claims

PLAIN = "highs"
"""The name under which plain HiGHS runs among the methods."""

SETTINGS: dict[str, dict[str, Any]] = {"random": {"repetitions": 1000}}
"""Where a method's usual settings end it too early for a comparison at equal time; S0's figure 1 has Random-1000."""

Key = tuple[str, str, str, int, float]
Tell = Callable[[str], None]


class Posed(NamedTuple):
    """A table as it is given, for the audit, and as the problem to solve."""

    system: LinearSystem
    problem: ProtectionProblem


class Table(NamedTuple):
    """A table to compare methods on: `group` is its figure or its weights, `size` its place on a chart's axis.

    `pose` makes it from a seed: a random table of that seed, or always the same.
    """

    group: str
    name: str
    size: int
    pose: Callable[[int], Posed]


class Task(NamedTuple):
    """One run to make. The seed is the method's, and the table's where that is random."""

    table: Table
    method: str
    seed: int
    limit: float

    @property
    def key(self) -> Key:
        return (self.table.group, self.table.name, self.method, self.seed, self.limit)


@dataclass(frozen=True, kw_only=True)
class Run:
    """What became of a task. Without a table the objective is infinite and `reason` says why."""

    group: str
    table: str
    size: int
    method: str
    seed: int
    limit: float
    cells: int
    sensitive: int
    relations: int
    objective: float
    bound: float
    certified: float
    """The part of the bound that a certificate proves; the rest is a solver's word."""
    ending: str
    seconds: float
    reason: str = ""
    trace: tuple[TracePoint, ...] = ()

    @property
    def key(self) -> Key:
        return (self.group, self.table, self.method, self.seed, self.limit)

    @property
    def proved(self) -> bool:
        return self.ending == "optimal" and self.method != PLAIN

    @property
    def start_only(self) -> bool:
        """Whether the run ended with the first table it had, and that is not proved best: the method improved nothing on its start."""
        tables = [point.objective for point in self.trace if math.isfinite(point.objective)]
        return bool(tables) and not self.reason and not self.proved and self.method != PLAIN and self.objective >= tables[0]

    def line(self) -> str:
        """The run as one line of JSON; infinite numbers are null, and all others unrounded, so that they print alike when read back."""
        content = dataclasses.asdict(self)
        content["trace"] = [[point.seconds, _finite(point.objective), _finite(point.bound)] for point in self.trace]
        content |= {"objective": _finite(self.objective), "bound": _finite(self.bound)}
        return json.dumps(content, allow_nan=False)

    @classmethod
    def of_line(cls, line: str) -> Run:
        content: dict[str, Any] = json.loads(line)
        content["trace"] = tuple(TracePoint(*_from_json(point)) for point in content["trace"])
        _, content["objective"], content["bound"] = _from_json([0.0, content["objective"], content["bound"]])
        return cls(**content)


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None


def _from_json(point: Sequence[float | None]) -> tuple[float, float, float]:
    seconds, objective, bound = point
    return seconds or 0.0, math.inf if objective is None else objective, 0.0 if bound is None else bound


class Ledger:
    """The finished runs, in a file of JSON lines if there is a folder for it. A line cut short by a crash is dropped."""

    def __init__(self, folder: Path | None) -> None:
        self.runs: dict[Key, Run] = {}
        self.path = None if folder is None else folder / "runs.jsonl"
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
        if self.path is not None and self.path.exists():
            self._read(self.path)

    def _read(self, path: Path) -> None:
        *lines, rest = path.read_text(encoding="utf-8").split("\n")
        for number, line in enumerate(lines, start=1):
            try:
                run = Run.of_line(line)
            except (ValueError, TypeError, KeyError):
                raise InputError(f"{path}, line {number} is not a run of this benchmark.", hint="Choose another folder.") from None
            self.runs[run.key] = run
        if rest:
            path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", newline="\n")

    def keep(self, run: Run) -> None:
        self.runs[run.key] = run
        if self.path is not None:
            with self.path.open("a", encoding="utf-8", newline="\n") as file:
                file.write(run.line() + "\n")


def every_method() -> list[str]:
    """All methods that choose senses by themselves, our portfolio last."""
    return [*(name for name in HOMES if name not in ("fixed", "auto")), "auto"]


def check_plan(methods: Sequence[str], seconds: float, seeds: int) -> None:
    """Refuse a comparison that could not run to its end."""
    for method in methods:
        known("method", method, (*every_method(), PLAIN))
    Limits(seconds=seconds)
    if seeds < 1:
        raise InputError("Seeds must be 1 or more.")


def run_all(tasks: Sequence[Task], ledger: Ledger, *, tell: Tell, stopped: Callable[[], bool]) -> Iterator[Run]:
    """The runs of a plan in its order, those in the ledger from there. After ctrl-C (`stopped`) the unfinished run is left out."""
    to_do = [task for task in tasks if task.key not in ledger.runs]
    most = sum(task.limit for task in to_do) / 60
    tell(f"{len(tasks)} runs, {len(tasks) - len(to_do)} of them known; at most about {most:.0f} minutes.")
    posed: tuple[object, Posed] | None = None
    for number, task in enumerate(tasks, start=1):
        run = ledger.runs.get(task.key)
        if run is None:
            which = (task.table.group, task.table.name, task.seed)
            if posed is None or posed[0] != which:
                posed = (which, task.table.pose(task.seed))
            run = perform(task, posed[1])
            if stopped():
                tell("Stopped. The same command goes on from here." if ledger.path else "Stopped.")
                return
            ledger.keep(run)
            tell(f"[{number}/{len(tasks)}] {in_words(run)}")
        yield run


def in_words(run: Run) -> str:
    ending = "start only" if run.start_only else run.ending
    found = run.reason or f"{run.objective:.8g} (bound {run.bound:.8g}, {ending})"
    return f"{run.group}, {run.table}, {run.method}, seed {run.seed}: {found}, {run.seconds:.1f} s"


def perform(task: Task, posed: Posed) -> Run:
    """Make one run. Whatever a method or its solver raises is its reason; a fault of ours is not hidden."""
    if task.method == PLAIN:
        return _plainly(task, posed.problem)
    began, bound = time.monotonic(), [0.0]
    try:
        found = adjust_problem(
            posed.problem,
            method=task.method,
            settings=SETTINGS.get(task.method),
            limits=Limits(seconds=task.limit),
            seed=task.seed,
            on_progress=lambda news: bound.append(news.bound),
        )
        _audit(posed, found)
    except StatveilError as error:
        end = TracePoint(time.monotonic() - began, math.inf, max(bound))
        return _run_of(task, posed.problem, end, "none", reason=f"{type(error).__name__}: {error.message}")
    end = TracePoint(found.seconds, found.objective, found.bound)
    return _run_of(task, posed.problem, end, str(found.ending), certified=found.certified_bound, trace=found.trace)


def _audit(posed: Posed, found: Adjustment) -> None:
    """The same check that a release must pass, on the table as it was given."""
    if not audit_system(posed.system, posed.problem.value + found.deviation, variant=posed.problem.variant).passed:
        raise AuditFailed("The independent audit found faults.")


def _plainly(task: Task, problem: ProtectionProblem) -> Run:
    heard = claims(problem, task.limit)
    end, words = heard[-1]
    reason = "" if math.isfinite(end.objective) else f"HiGHS: {words}"
    return _run_of(task, problem, end, words.lower(), reason=reason, trace=tuple(point for point, _ in heard))


def _run_of(
    task: Task,
    problem: ProtectionProblem,
    end: TracePoint,
    ending: str,
    *,
    certified: float = 0.0,
    reason: str = "",
    trace: tuple[TracePoint, ...] = (),
) -> Run:
    return Run(
        group=task.table.group,
        table=task.table.name,
        size=task.table.size,
        method=task.method,
        seed=task.seed,
        limit=task.limit,
        cells=problem.size,
        sensitive=int(problem.sensitive.sum()),
        relations=int(problem.rhs.size),
        objective=end.objective,
        bound=end.bound,
        certified=certified,
        ending=ending,
        seconds=end.seconds,
        reason=reason,
        trace=trace,
    )
