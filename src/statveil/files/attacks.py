"""A plan as the attacks of the audit want it: plain codes, released and true."""

from __future__ import annotations

import numpy as np

from statveil.anonymise.measures import released_codes
from statveil.anonymise.plan import FilePlan
from statveil.anonymise.suppression import row_amount
from statveil.anonymise.wildcard import written_codes
from statveil.arrays import BoolArray
from statveil.audit.files_attacks import Edit, Exposed


def exposed(plan: FilePlan) -> Exposed:
    found = plan.suppression
    return Exposed(
        fields=plan.keys.names,
        released=released_codes(plan),
        truth=written_codes(found.problem, found.key),
        records=found.records,
        amount=row_amount(found.problem, found.key, found.records),
        tables=plan.coded.tables,
        decoys=plan.keys.candidates > 0,
        edits=_edits(plan),
        refined={place: _alone(plan, place) for place, level in enumerate(plan.levels) if level},
    )


def _edits(plan: FilePlan) -> list[Edit]:
    """Edit rules speak of original values; a new value fits where all old ones behind it do."""
    names, found = plan.keys.names, list[Edit]()
    for rule in plan.keys.edits:
        when = {names.index(name): _within(plan, names.index(name), set(values)) for name, values in rule.when.items()}
        for name, value in rule.then.items():
            place = names.index(name)
            if value in plan.coded.values[place]:
                level = plan.coded.levels[place][plan.levels[place]]
                found.append(Edit(when=when, place=place, code=int(level.code[plan.coded.values[place].index(value)])))
    return found


def _within(plan: FilePlan, place: int, values: set[str]) -> frozenset[int]:
    level = plan.coded.levels[place][plan.levels[place]]
    outside = {int(level.code[code]) for code, value in enumerate(plan.coded.values[place]) if value not in values}
    return frozenset(range(level.size)) - outside


def _alone(plan: FilePlan, place: int) -> BoolArray:
    """New codes with a single old one behind them, written in another way."""
    level, old = plan.coded.levels[place][plan.levels[place]], plan.coded.values[place]
    alone = np.bincount(level.code, minlength=level.size) == 1
    kept = [int(new) for code, new in enumerate(level.code) if level.values[new] == old[code]]
    alone[kept] = False
    return np.asarray(alone)
