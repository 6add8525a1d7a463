"""T03: does a cell ever go up in one answer and down in another?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from statveil.audit.attacks.attacker import TUNING, Attacker, crossings, less_one_code
from statveil.audit.attacks.case import Case, both_signs
from statveil.audit.attacks.public import TableRequest
from statveil.audit.attacks.verdict import Threat, Verdict, judged, not_applicable

THREAT = Threat(
    id="T03",
    name="contradicting senses",
    does="Asks again with the dimensions in another order, without totals, with a filter that keeps everything, after a restart "
    "and from a second worker; looks for a cell that is above the truth once and below it another time.",
    mark="signs identical in 100% of the releases of a cell",
)


def attack(case: Case) -> Verdict:
    attacker, journal = case.attacker, case.attacker.journal
    base = [*less_one_code(attacker, case.measure), *crossings(attacker, case.measure)[: TUNING.requests_repeated]]
    variants = [variant for request in base for variant in _variants(attacker, request)]
    journal.ask_all([*base, *variants])
    servers = list(case.operator.reopened()) if case.operator is not None and journal.open else []
    again = [len(journal.ask_at(server, [*base, *variants])) for server in servers]
    seen = case.seen(measure=case.measure)
    if seen.truth is None or not seen.sensitive.any():
        return not_applicable(THREAT, "No sensitive cell was released.")
    cells = case.true_cells(seen.sightings)
    sign = np.where(cells.sensitive, np.sign(seen.sightings.value - cells.value), 0)
    contradicted = both_signs(seen.sightings.key, sign)
    repeated = seen.sensitive & (seen.releases.times > 1)
    varying = repeated & (seen.releases.lowest != seen.releases.highest)
    figures = {
        "sensitive cells": int(seen.sensitive.sum()),
        "seen more than once": int(repeated.sum()),
        "releases of sensitive cells": int(cells.sensitive.sum()),
        "cells with both signs": int(contradicted.size),
        "cells with several values": int(varying.sum()),
        "restarts and further workers": len(servers),
        "answers of those": sum(again),
    }
    number = f"{contradicted.size} contradictions in {int(cells.sensitive.sum()):,} releases"
    return judged(THREAT, passed=contradicted.size == 0, number=number, figures=figures)


def _variants(attacker: Attacker, request: TableRequest) -> Iterator[TableRequest]:
    """The same table asked differently."""
    yield replace(request, axes=tuple(reversed(request.axes)))
    yield replace(request, totals=not request.totals)
    named = {axis.id for axis in request.axes} | {name for name, _ in request.filters}
    for name in attacker.catalogue.filters:
        if name not in named:
            everything = attacker.catalogue.dimension(name).trees[0].leaves
            yield replace(request, filters=(*request.filters, (name, everything)))
            return
