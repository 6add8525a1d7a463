"""T09: the parents on one day, their children on another; the children's sum is a second release of the parent."""

from __future__ import annotations

import numpy as np

from statveil.audit.attacks.attacker import Attacker, rows_and_columns
from statveil.audit.attacks.case import Case
from statveil.audit.attacks.public import RequestAxis, TableRequest
from statveil.audit.attacks.verdict import Threat, Verdict, judged, not_applicable
from statveil.core.arrays import AnyArray

THREAT = Threat(
    id="T09",
    name="levels on different days",
    does="Asks for the parents first, then for the children without their parents, and adds the children up.",
    mark="0 sensitive parents whose implied value lies inside the protection interval or differs from the released one",
)


def attack(case: Case) -> Verdict:
    attacker, journal = case.attacker, case.attacker.journal
    asked = [(journal.ask(above), journal.ask(below)) for above, below in _requests(attacker, case.measure)]
    days = [(above, below) for above, below in asked if above is not None and below is not None]
    sensitive = unsafe = different = parents = 0
    for above, below in days:
        truth = case.truth_of(above)
        released = journal.answers[above].table.values.reshape(-1)
        implied, complete = implied_parents(attacker, above, below)
        aimed = complete & truth.sensitive
        parents, sensitive = parents + int(complete.sum()), sensitive + int(aimed.sum())
        unsafe += int((truth.unsafe(implied) & complete).sum())
        different += int((complete & (implied != released)).sum())
    if not parents:
        return not_applicable(THREAT, "No parent was released apart from all its children.")
    figures = {
        "parents": parents,
        "sensitive parents": sensitive,
        "implied value inside the protection interval": unsafe,
        "implied value differs from the released one": different,
    }
    number = f"{unsafe} of {sensitive} sensitive parents disclosed, {different} of {parents} differ"
    return judged(THREAT, passed=unsafe == 0 and different == 0, number=number, figures=figures)


def _requests(attacker: Attacker, measure: str) -> list[tuple[TableRequest, TableRequest]]:
    """Per aggregate level of the largest dimension: its codes, then the finest codes without totals."""
    found = rows_and_columns(attacker)
    if found is None:
        return []
    rows, columns = found
    tree = columns.trees[0]
    below = TableRequest(axes=(RequestAxis(id=rows.name), RequestAxis(id=columns.name, codes=tree.leaves)), measure=measure, totals=False)
    by_depth: dict[int, list[str]] = {}
    for code in tree.aggregates:
        by_depth.setdefault(tree.depth[code], []).append(code)
    above = [
        TableRequest(axes=(RequestAxis(id=rows.name), RequestAxis(id=columns.name, codes=tuple(codes))), measure=measure, totals=False)
        for depth, codes in sorted(by_depth.items())
        if depth
    ]
    return [(each, below) for each in [TableRequest(axes=(RequestAxis(id=rows.name),), measure=measure, totals=False), *above]]


def implied_parents(attacker: Attacker, above: int, below: int) -> tuple[AnyArray, AnyArray]:
    """For each cell of the first answer the sum of the second's cells inside it, and whether those make it up entirely.

    Every record of the second table is in one cell of the finest codes, so sets add up by their prints.
    """
    journal, register = attacker.journal, attacker.register
    parents, children = journal.answers[above], journal.answers[below]
    records, cells = register.members(children.request, children.table)
    cell_of = np.full(register.size, -1, dtype=np.int64)
    cell_of[records] = cells
    inside, parent = register.members(parents.request, parents.table)
    pairs = np.unique(np.array([parent, cell_of[inside]])[:, cell_of[inside] >= 0], axis=1)
    size, shown = parents.table.values.size, children.table.shown.reshape(-1)
    implied, prints = np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.uint64)
    np.add.at(implied, pairs[0], np.where(shown, children.table.values.reshape(-1), 0)[pairs[1]])
    np.add.at(prints, pairs[0], np.where(shown, journal.prints(below), 0)[pairs[1]])
    return implied, (prints == journal.prints(above)) & (prints != 0) & parents.table.shown.reshape(-1)
