"""`compare`: the methods side by side on the table of one job, and which of them to take."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from statveil.audit.attacks.attacker import Effort
from statveil.audit.attacks.suite import attack_system
from statveil.audit.attacks.verdict import Verdict, VerdictStatus
from statveil.core.errors import InputError, StatveilError
from statveil.core.limits import OnProgress, known, stages
from statveil.core.secret import office_key
from statveil.jobs.compare.measures import Loss, Risk, loss_of, risk_of
from statveil.jobs.compare.methods import COMPARED, JudgedTable, MethodAnswer
from statveil.jobs.table_job import TableJob, read_job
from statveil.jobs.tables.assess import assess_records, settle_levels
from statveil.jobs.tables.own_attacks import ReleaseOrigin, release_case
from statveil.jobs.tables.protect import keyed, settled
from statveil.publish.formats.numbers import percent
from statveil.publish.release import Release
from statveil.tables.table import ProtectedTable

ATTACKS = ("T13", "T14", "T27")
"""Attacks that any published table can be tried with, quick ones: coalitions, single respondents, tiny cells."""


class ComparisonTuning(NamedTuple):
    """By judgement: with 100 s the demonstration is compared within three minutes."""

    most_seconds: float = 100.0
    looking: float = 0.3
    """Of the time beside a release, for what readers find out about the answers."""


TUNING = ComparisonTuning()


@dataclass(frozen=True, kw_only=True)
class MethodRow:
    """One method: its figures, or why it has none (`failed`)."""

    name: str
    words: str
    seconds: float
    parameters: str = ""
    quality: str = ""
    loss: Loss | None = None
    risk: Risk | None = None
    attacks: tuple[Verdict, ...] = field(default=(), repr=False)
    failed: str = ""

    @property
    def safe(self) -> bool:
        """Nothing was disclosed that was looked for, and no attack got further than its mark."""
        return self.risk is not None and self.risk.safe and not self.failed_attacks

    @property
    def failed_attacks(self) -> tuple[str, ...]:
        """Those that the method does not withstand."""
        return tuple(each.threat.id for each in self.attacks if each.status is VerdictStatus.FAILED)


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """The methods side by side; `recommended` is the name of one, or empty. Confidential: figures tell of sensitive cells."""

    title: str
    cells: int
    sensitive: int
    rows: tuple[MethodRow, ...]
    recommended: str
    reason: str
    seconds: float
    seed: int

    def __getitem__(self, name: str) -> MethodRow:
        return next(row for row in self.rows if row.name == name)


def compare(
    job: TableJob | str | Path,
    *,
    methods: Sequence[str] = (),
    base: int | None = None,
    seconds: float | None = None,
    release: Release | None = None,
    on_progress: OnProgress | None = None,
) -> Comparison:
    r"""Protect the job's table by several methods, and measure what each loses and what a reader gets out of it.

    job: the job of a table, or its file. methods: by name; none: all. base: of rounding, in published units.
    seconds: for all methods together; None: what the job says, 100 at the most. release: what the job made already, which is not made
    again; `seconds` are then for looking at the answers as well. on_progress: called with a `Progress` now and then.

    Nothing is released: the one that is chosen is made by its own command.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "shops.csv").write_text("area,sales\np,7\np,3\nq,50\n")
    >>> job = '[table]\nmeasure = "sales"\n[table.dimensions]\narea = "flat"\n[[rule]]\ntype = "minimum-frequency"\nn = 2\n'
    >>> _ = (folder / "job.toml").write_text('[data]\nfile = "shops.csv"\n' + job)
    >>> found = compare(folder / "job.toml", methods=["rounding"], base=5)
    >>> found.sensitive, found["rounding"].loss.broken, found.recommended
    (1, 0, '')
    """
    began = time.monotonic()
    job = job if isinstance(job, TableJob) else read_job(Path(job))
    names = list(dict.fromkeys(methods)) or list(COMPARED)
    for name in names:
        known("method", name, tuple(COMPARED))
    if base is not None and base < 1:
        raise InputError("The base must be a whole number of published units, at least 1.")
    limit = min(job.limits().seconds, TUNING.most_seconds) if seconds is None else seconds
    tell = stages(on_progress, job.limits())
    judged = judged_table(job, base)
    if release is not None:
        judged = replace(judged, release=release, looking=TUNING.looking * limit / len(names))
        limit *= 1 - TUNING.looking
    share = {name: COMPARED[name].share if judged.made(name) is None else 0.0 for name in names}
    whole = sum(share.values()) or 1.0
    rows = []
    for name in names:
        tell(COMPARED[name].words)
        rows.append(_row(judged, name, limit * share[name] / whole))
    chosen, reason = recommendation(rows)
    return Comparison(
        title=job.name,
        cells=judged.table.shown,
        sensitive=int(judged.found.sensitive[: judged.table.shown].sum()),
        rows=tuple(rows),
        recommended=chosen,
        reason=reason,
        seconds=time.monotonic() - began,
        seed=job.parts.protection.seed,
    )


def judged_table(job: TableJob, base: int | None = None) -> JudgedTable:
    """The job's table, added up and judged once for all methods."""
    table, found = assess_records(job.microdata, job.linked(), job.rules())
    options = keyed(settled(job.options())).options
    raised = settle_levels(table, found, job.rules(), options)
    return JudgedTable(job=job, table=table, found=found, raised=raised, key=options.floors.key or office_key(make=True), base=base)


def _row(judged: JudgedTable, name: str, seconds: float) -> MethodRow:
    """A method's figures; what it cannot do is told in its row, and the others go on."""
    method, clock = COMPARED[name], time.monotonic()
    try:
        answer = method.run(judged, seconds)
    except StatveilError as error:
        return MethodRow(name=name, words=method.words, seconds=time.monotonic() - clock, failed=error.message)
    took = time.monotonic() - clock
    return MethodRow(
        name=name,
        words=method.words,
        seconds=took,
        parameters=answer.parameters,
        quality=answer.quality,
        loss=loss_of(judged, answer),
        risk=risk_of(judged, answer, seed=judged.job.parts.protection.seed),
        attacks=_attacked(judged, answer) if answer.pattern is None else (),
    )


def _attacked(judged: JudgedTable, answer: MethodAnswer) -> tuple[Verdict, ...]:
    job, table = judged.job, judged.table
    origin = ReleaseOrigin(data=job.microdata, linked=job.linked(), rules=job.rules(), options=job.options())
    published = ProtectedTable(views=table.views, value=answer.released, decimals=table.decimals)
    case = release_case(table, published, origin, effort=Effort())
    return tuple(attack_system(case, target=job.name, only=ATTACKS).verdicts)


def recommendation(rows: Sequence[MethodRow]) -> tuple[str, str]:
    """Of the methods from which no sensitive cell was learned, the one that loses least; none where there is none."""
    safe = [row for row in rows if row.safe and row.loss is not None]
    unsafe = [row.words for row in rows if row.risk is not None and not row.safe]
    aside = f" Left out, because sensitive cells are disclosed: {', '.join(unsafe)}." if unsafe else ""
    if not safe:
        return "", f"None can be recommended: no method kept every sensitive cell from its readers.{aside}"
    best = min(safe, key=lambda row: (row.loss.lost, row.words) if row.loss else (1.0, row.words))
    assert best.loss is not None
    others = ", ".join(f"{row.words} {percent(row.loss.lost)}" for row in safe if row is not best and row.loss)
    beside = f" (others that are safe: {others})" if others else ""
    return best.name, (
        f"Of the methods from which no sensitive cell was learned, {best.words} loses least: {percent(best.loss.lost)} of a cell on "
        f"average{beside}.{aside}"
    )
