"""A release attacked before it is written: what a reader who thinks could find out, by attacks that need this one release alone.

The truth is the job's own table and what its rules say of it, so whatever a table can be made of can be attacked: weights, holdings,
shadow variables, requests, waivers, cells named by hand, linked tables, equations and sets of cells.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from statveil.audit.attacks.attacker import Effort
from statveil.audit.attacks.case import Contributions, Respondents, ReverseSolver, SystemCase, SystemOriginals
from statveil.audit.attacks.public import ReleasedSystem, around
from statveil.audit.attacks.suite import THREAT_BY_ID, attack_system
from statveil.audit.attacks.verdict import SuiteReport, Verdict, not_applicable
from statveil.audit.tables import Requirements
from statveil.core.arrays import IntArray
from statveil.core.errors import AuditFailed
from statveil.core.limits import Limits
from statveil.data.microdata import Microdata
from statveil.jobs.reverse import reverse_by_adjustment
from statveil.jobs.tables.assess import LinkedTables
from statveil.protect.options import Options
from statveil.publish.release import Release
from statveil.risk.assess import assess
from statveil.risk.coalitions import opponents
from statveil.risk.rules import Rule
from statveil.tables.relations import relations
from statveil.tables.respondents import CellRespondents, respondents_of
from statveil.tables.spec import TableSpec
from statveil.tables.table import ProtectedTable, Table, levels_of

OWN_ATTACKS = ("T11", "T17", "T27", "T19", "T14", "T13", "T12")
"""In the order in which they are made: the quick ones first."""
ONLY_TOLD = ("T19",)
"""Its chi-square fails one sound release in fifty; the decimals themselves are a matter of the audit."""
NARROW = "Bounds and caps that a reader may know narrow the way back: wider ones help against T11 and T12."
OVER = "The time for attacks was over before this one."


class OwnAttackTuning(NamedTuple):
    """How much of a job goes into attacks on what it made. All by judgement."""

    share: float = 0.2
    """Of the job's time limit."""
    most_seconds: float = 15.0
    reserved: float = 0.5
    """Of that, for T12, whatever the others took: nothing is released that was not adjusted backwards."""
    longest: float = 60.0
    """Seconds that it takes on a machine so busy that its search could not begin in less: then the job's limit is passed."""
    most_cells: int = 20_000
    """Cells that are adjusted backwards (T12); of larger tables a part."""
    usual_cap: float = 2.0
    """What T11 and T12 take for q / p where the job has no cap."""


TUNING = OwnAttackTuning()


def seconds_for_attacks(limits: Limits) -> float:
    """What attacks take of the job's time."""
    return min(TUNING.share * limits.seconds, TUNING.most_seconds)


@dataclass(frozen=True, kw_only=True)
class ReleaseOrigin:
    """What a release was made from and by."""

    data: Microdata
    linked: LinkedTables
    rules: Sequence[Rule]
    options: Options


def attack_release(
    release: Release, origin: ReleaseOrigin, *, seconds: float, tell: Callable[[str], object] = lambda _: None
) -> SuiteReport:
    """The verdicts of the attacks that one release can be tried with; those that there is no time for say so."""
    end = time.monotonic() + seconds
    case = release_case(release.table, release.protected, origin, effort=Effort())
    found: dict[str, Verdict] = {}
    facts = {}
    for name in OWN_ATTACKS:
        left = max(end - time.monotonic(), TUNING.reserved * seconds if name == "T12" else 0.0)
        if left <= 0:
            found[name] = not_applicable(THREAT_BY_ID[name], OVER)
            continue
        tell(f"attack {name}")
        reverse = reverse_by_adjustment(seconds=left, longest=TUNING.longest)
        made = attack_system(replace(case, reverse=reverse), target=_name(release), only=(name,))
        found[name], facts = made[name], dict(made.facts)
    return SuiteReport(target=_name(release), verdicts=tuple(found[name] for name in THREAT_BY_ID if name in found), facts=facts)


def _name(release: Release) -> str:
    return ", ".join(view.name for view in release.protected.views)


def refuse_if_broken(report: SuiteReport, release: Release) -> None:
    """Nothing is released of which an attack learns more than its mark allows; of what chance alone may bring about it is only told."""
    failed = [each for each in report.failed if each.threat.id not in ONLY_TOLD]
    if failed:
        told = "; ".join(f"{each.threat.id} {each.threat.name}: {each.number}" for each in failed)
        wider = f"{NARROW} " if is_narrow(release.requirements) else ""
        raise AuditFailed(
            f"Attacks on the release learn more than they may; nothing is released. {told}.",
            hint=f"{wider}docs/attacks.md says what each attack does and what helps against it. To release it all the same, with the "
            'attacks reported, write attacks = "report" under [protection].',
        )


def is_narrow(asked: Requirements) -> bool:
    """Whether it is said how far cells may move, which a reader may know."""
    return any(each is not None for each in (asked.cap, asked.percent_down, asked.percent_up))


def release_case(
    table: Table, protected: ProtectedTable, origin: ReleaseOrigin, *, effort: Effort, reverse: ReverseSolver | None = None
) -> SystemCase:
    """A released table as a system of its distinct cells, in the finer of the table's and the published units."""
    sensitivity = assess(table, origin.rules)
    finest = max(table.scale, protected.decimals)
    step, unit = 10 ** (finest - table.scale), 10 ** (finest - protected.decimals)
    released = protected.value * unit
    low, high = around(released, most_change(origin.options))
    matrix = relations(table)
    published = ReleasedSystem(
        relations=matrix,
        rhs=np.zeros(matrix.shape[0], dtype=np.int64),
        released=released,
        low=low,
        high=high,
        known_bounds=most_change(origin.options) is not None,
    )
    originals = SystemOriginals(
        value=table.value * step,
        sensitive=np.array(sensitivity.sensitive),
        lower=sensitivity.lower_level * step,
        upper=sensitivity.upper_level * step,
        leader=table.leader,
    )
    return SystemCase(
        published=originals.bounds_around(published),
        originals=originals,
        cap=float(origin.options.cap or TUNING.usual_cap),
        effort=effort,
        reverse=reverse,
        unit=unit,
        decimals=max(finest, 0),
        level=levels_of(table),
        shown=np.arange(table.size) < table.shown,
        respondents=_respondents(table, origin, step),
        most_reversed=TUNING.most_cells,
    )


def most_change(options: Options) -> float | None:
    """How far any cell may lie from the truth, as a share of it, as far as the job says so."""
    percent = [options.bounds.percent_down, options.bounds.percent_up]
    return None if None in percent else max(float(each) for each in percent if each is not None) / 100


def percent_of(rules: Sequence[Rule]) -> float:
    """The p of the p% rule."""
    return float(100 * opponents(rules)[0])


def _respondents(table: Table, origin: ReleaseOrigin, step: int) -> Respondents:
    near, coalition = opponents(origin.rules)
    return Respondents(
        number=table.units,
        protected=table.largest_unwaived >= 0,
        percent=float(near),
        coalition=coalition,
        contributions=lambda cells: contributions_of(table, origin.data, origin.linked.specs, cells, step),
    )


def contributions_of(table: Table, data: Microdata, specs: Sequence[TableSpec], cells: IntArray, step: int) -> list[Contributions]:
    """What each respondent gives to each of the cells, in units of the attack; of a shadow variable the same share of the value."""
    found = respondents_of(data, specs, table, np.unique(cells))
    start, end = (np.searchsorted(found.cell, cells, side=side) for side in ("left", "right"))
    rows = [np.arange(*ends) for ends in zip(start, end, strict=True)]
    return [_of_cell(table, found.take(each), cell, step) for cell, each in zip(cells.tolist(), rows, strict=True)]


def _of_cell(table: Table, found: CellRespondents, cell: int, step: int) -> Contributions:
    amount, protected = np.repeat(found.amount, found.copies), np.repeat(found.unwaived, found.copies)
    if table.has_shadow:
        share = np.abs(amount) / max(float(np.abs(amount).sum()), 1.0)
        scaled = np.rint(share * float(table.value[cell])).astype(np.int64)
    else:
        scaled = _rescaled(amount, table.scale - table.rule_scale)
    return Contributions(amount=scaled * step, protected=protected)


def _rescaled(amount: IntArray, decimals: int) -> IntArray:
    return np.asarray(amount * 10**decimals if decimals >= 0 else amount // 10**-decimals, dtype=np.int64)
