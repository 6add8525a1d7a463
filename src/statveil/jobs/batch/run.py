"""`run_batch`: a batch file from its first line to its last. All files that it writes appear together, or none does."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

from statveil.core.atomic import check_targets
from statveil.core.floors import AS_GIVEN
from statveil.core.limits import Limits, OnProgress
from statveil.formats.argus.batch_commands import Batch, scan_batch
from statveil.formats.argus.cells import ArgusStatus
from statveil.jobs.batch.plan import AprioriStep, BatchPlan, BatchSession, SuppressStep, WriteStep, make_plan
from statveil.jobs.batch.results import BatchProtection, link, parts_of, write_result
from statveil.jobs.batch.rounding import rounded
from statveil.jobs.batch.rounding_wish import rounding_wish
from statveil.jobs.batch.suppression import secondary_parts, suppressed
from statveil.jobs.batch.suppression_wish import BY_WORD, suppression_ask
from statveil.jobs.batch.tables import ReadyTable, all_rules, decide, read_tables
from statveil.jobs.tables.protect import protect_assessed, settled
from statveil.jobs.tables.released import as_json
from statveil.protect.options import Method, Options
from statveil.publish.release import Release
from statveil.tables.relations import relations
from statveil.tables.table import ProtectedTable
from statveil.version import VERSION

_PREFIX = ".statveil-"


@dataclass(frozen=True, kw_only=True)
class BatchSettings:
    """What tau-ARGUS hides of RCTA, and its batch files cannot say.

    limits: how long to look, and how close. method: by name, or with settings and seed. options: of the adjustment.

    >>> BatchSettings(limits=Limits(seconds=10)).options.floors.scheme
    'exact'
    """

    limits: Limits = field(default_factory=Limits)
    method: str | Method = "auto"
    options: Options = field(default_factory=lambda: Options(floors=AS_GIVEN))


@dataclass(frozen=True, kw_only=True)
class BatchResult:
    """What a batch did.

    releases: by table. files: that were written. notes: what it had to say.

    >>> BatchResult(releases=(), files=(Path("safe.txt"),), notes=("Table 1: 3 cells, 1 unsafe",)).files[0].name
    'safe.txt'
    """

    releases: tuple[Release, ...] = field(repr=False)
    files: tuple[Path, ...]
    notes: tuple[str, ...]


def run_batch(
    path: str | Path,
    *,
    settings: BatchSettings | None = None,
    out: str | Path | None = None,
    data: str | Path | None = None,
    on_progress: OnProgress | None = None,
) -> BatchResult:
    """Run a .arb file. Its files are looked for beside it and in `data`; what it writes goes beside it, or into `out`.

    path: the .arb file. settings: what it cannot say of the adjustment. on_progress: called with a `Progress` now and then.

    >>> home = Path(tempfile.mkdtemp())
    >>> _ = (home / "shops.asc").write_text("p;7\\np;3\\nq;50\\n")
    >>> _ = (home / "shops.rda").write_text('<SEPARATOR> ";"\\narea 1\\n<RECODEABLE>\\nsales 2\\n<NUMERIC>\\n')
    >>> _ = (home / "shops.arb").write_text('<OPENMICRODATA> shops.asc\\n<OPENMETADATA> shops.rda\\n<SPECIFYTABLE> "area"|"sales"\\n'
    ...     '<SAFETYRULE> FREQ(2,20)\\n<READMICRODATA>\\n<SUPPRESS> CTA(1)\\n<WRITETABLE> (1, 3, AS+, "safe.txt")\\n')
    >>> run_batch(home / "shops.arb").notes[0]
    'Table 1: 3 cells, 1 unsafe'
    """
    batch = scan_batch(path)
    plan = make_plan(batch, out=Path(out) if out else None, data=Path(data) if data else None)
    check_targets(plan.targets, sources=plan.sources)
    with _outbox() as box:
        runner = _Runner(settings or BatchSettings(), on_progress, box)
        for session in plan.sessions:
            runner.run(session)
        _write_notes(plan, batch, runner, box)
        files = box.deliver(plan.sources)
    return BatchResult(releases=tuple(runner.releases), files=tuple(files), notes=tuple(runner.notes))


def _write_notes(plan: BatchPlan, batch: Batch, runner: _Runner, box: _Outbox) -> None:
    """Versions, the logbook with the commands and the time of each note, and the status report; none holds a value of a cell."""
    for file in plan.version_files:
        box.place(file).write_text(f"statveil {VERSION}\n", encoding="utf-8")
    if plan.log:
        commands = [f"line {each.line.number}: {each.line.text.strip()}" for each in batch.commands]
        timed = [f"{when}  {note}" for when, note in zip(runner.times, runner.notes, strict=True)]
        box.place(plan.log).write_text("".join(f"{line}\n" for line in [*commands, *timed]), encoding="utf-8")
    if plan.report:
        box.place(plan.report).write_text("".join(f"{line}\n" for line in [*runner.statuses, *runner.notes]), encoding="utf-8")


class _Runner:
    """The state of a run: tables, releases and notes."""

    def __init__(self, settings: BatchSettings, on_progress: OnProgress | None, box: _Outbox) -> None:
        self.settings, self.on_progress, self.box = settings, on_progress, box
        self.releases: list[Release] = []
        self.notes: list[str] = []
        self.times: list[str] = []
        self.statuses: list[str] = []

    def _stamp(self) -> None:
        """The clock for every note since the last stamp; the logbook alone tells times."""
        self.times += [datetime.now().astimezone().isoformat(timespec="seconds")] * (len(self.notes) - len(self.times))

    def run(self, session: BatchSession) -> None:
        tables = dict(enumerate(read_tables(session.tables), start=1))
        protected: dict[int, BatchProtection] = {}
        for number, ready in tables.items():
            self.notes.append(f"Table {number}: {_counts(ready)}")
        self._stamp()
        for step in session.steps:
            match step:
                case AprioriStep():
                    tables[step.table] = self._decide(step, tables[step.table])
                case SuppressStep() if step.command.method in BY_WORD:
                    tables |= self._suppress(step, {number: tables[number] for number in step.tables})
                case SuppressStep():
                    protected |= self._protect(step, {number: tables[number] for number in step.tables})
                case WriteStep():
                    self._write(step, tables[step.table], protected.get(step.table))
            self._stamp()
        self.statuses += [f"Table {number}: {_status_words(ready)}" for number, ready in tables.items()]

    def _decide(self, step: AprioriStep, ready: ReadyTable) -> ReadyTable:
        asked = step.command
        decided, faults = decide(ready, step.lines, ignore_errors=asked.ignore_errors, expand=asked.expand)
        self.notes.append(f"Table {step.table}: {len(step.lines) - len(faults)} of {len(step.lines)} a-priori lines followed")
        self.notes += [f"  not followed: {fault}" for fault in faults]
        before = set(ready.sensitivity.spread)
        self.notes += [f"  {each.words}" for each in decided.sensitivity.spread if each not in before]
        return decided

    def _protect(self, step: SuppressStep, tables: Mapping[int, ReadyTable]) -> dict[int, BatchProtection]:
        by = step.command.method
        found = {number: self._round(step, tables[number]) for number in tables} if by == "RND" else self._adjust(tables)
        return {number: BatchProtection(table, by) for number, table in found.items()}

    def _suppress(self, step: SuppressStep, tables: Mapping[int, ReadyTable]) -> dict[int, ReadyTable]:
        """The tables with their secondary cells, found in one model and audited together."""
        ask, each = suppression_ask(step.command), list(tables.values())
        options = max((ask.for_rules(ready.plan.rules) for ready in each), key=lambda asked: asked.modular.minimum_frequency)
        found = suppressed(each, ask.method, options, ask.limits(self.settings.limits), self.on_progress)
        linked = " together with the others" if len(tables) > 1 else ""
        own = "" if found.by_rules is None or len(tables) > 1 else f", {found.by_rules} of them by the method's own rules"
        counts = secondary_parts(found, each)
        for number, secondary in zip(tables, counts, strict=True):
            words = f"Table {number}: {int(secondary.sum())} cells suppressed{linked} ({ask.method}){own}, and audited"
            self.notes.append(words)
        return {number: replace(ready, secondary=secondary) for (number, ready), secondary in zip(tables.items(), counts, strict=True)}

    def _round(self, step: SuppressStep, ready: ReadyTable) -> ProtectedTable:
        wish = rounding_wish(step.command)
        table, how = rounded(ready, wish, seconds=self.settings.limits.seconds)
        steps = f" and {how.steps} steps" if how.steps else ""
        self.notes.append(
            f"Table {ready.plan.number}: rounded to base {wish.base}{steps}, and audited with its intervals, gap {how.gap:.4%}"
        )
        return table

    def _adjust(self, tables: Mapping[int, ReadyTable]) -> dict[int, ProtectedTable]:
        """Adjust the tables as one problem, and tell the numbers of each."""
        chosen, each = self.settings, list(tables.values())
        table, sensitivity = link(each)
        how = settled(chosen.options, method=chosen.method, limits=chosen.limits, on_progress=self.on_progress)
        asked = {"tables": [_spec_words(ready) for ready in each], "rules": [as_json(all_rules(ready)) for ready in each]}
        release = protect_assessed(table, sensitivity, how, asked=asked)
        self.releases.append(release)
        linked = " together with the others" if len(tables) > 1 else ""
        self.notes += [f"Table {number}: adjusted{linked} and audited, gap {release.gap:.4%}" for number in tables]
        return dict(zip(tables, parts_of(release, each), strict=True))

    def _write(self, step: WriteStep, ready: ReadyTable, released: BatchProtection | None) -> None:
        write_result(step.command, ready, released, self.box.place(step.file), self.settings.options)
        self.notes.append(f"Table {step.table}: written to {step.file.name}")


def _spec_words(ready: ReadyTable) -> dict[str, Any]:
    spec = ready.plan.spec
    words = {"dimensions": list(spec.dimensions), "response": spec.response, "shadow": spec.shadow, "cost": spec.cost}
    return {**words, "power": str(spec.power), "weighted": ready.plan.rules.weighted}


def _status_words(ready: ReadyTable) -> str:
    """How many cells have each status, by tau-ARGUS's numbers."""
    found, counts = np.unique(ready.statuses, return_counts=True)
    words = [
        f"{count} {ArgusStatus(status).name.lower().replace('_', ' ')} ({status})"
        for status, count in zip(found.tolist(), counts.tolist(), strict=True)
    ]
    return ", ".join(words)


def _counts(ready: ReadyTable) -> str:
    unsafe = sum(ArgusStatus(int(status)).unsafe for status in ready.statuses)
    read = ready.plan.read
    off = int(np.count_nonzero(relations(ready.table) @ ready.table.value)) if read and read.totals == 2 else 0
    words = f"{ready.table.size} cells, {unsafe} unsafe" + (f"; {off} totals do not add up; adjusted, they will" if off else "")
    response = ready.plan.metadata.find(ready.plan.spec.response)
    if response and response.decimals > ready.table.decimals:
        words += f"; published with {ready.table.decimals} decimals, as its values have, not the {response.decimals} declared"
    return words


class _Outbox:
    """Files on their way: each is written in a hidden folder beside its target, and moved when all are there."""

    def __init__(self) -> None:
        self.folders: list[tuple[Path, Path]] = []

    def place(self, target: Path) -> Path:
        folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=target.parent))
        self.folders.append((folder, target.parent))
        return folder / target.name

    def deliver(self, sources: Sequence[Path]) -> list[Path]:
        """Move everything, files that came along (.rda, .hrc) as well, but never over a file that was read."""
        moves = [(file, home / file.name) for folder, home in self.folders for file in sorted(folder.iterdir())]
        targets = [target for _, target in moves]
        check_targets(targets, sources=sources)
        for file, target in moves:
            file.replace(target)
        return targets


@contextmanager
def _outbox() -> Iterator[_Outbox]:
    box = _Outbox()
    try:
        yield box
    finally:
        for folder, _ in box.folders:
            with contextlib.suppress(OSError):
                shutil.rmtree(folder)
