"""T08: all equations of all released tables together, and the interval that they leave to each sensitive cell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy.sparse import csr_matrix, vstack

from statveil.arrays import AnyArray
from statveil.audit.attacks.case import Attacker, Case
from statveil.audit.attacks.intervals import infer, measured, protection_interval, sample
from statveil.audit.attacks.journal import Sightings
from statveil.audit.attacks.plans import plain
from statveil.audit.attacks.public import Axis, Request
from statveil.audit.attacks.system import Originals, Published, around, published_table
from statveil.audit.attacks.verdict import Number, Threat, Verdict, judged, not_applicable

THREAT = Threat(
    id="T08",
    name="overlapping geographies, interval of a cell",
    does="Puts the equations of all tables (all trees over the same units) together and computes by linear programming between "
    "which values each sensitive cell must lie, with the bounds of the method known and not known.",
    mark="the interval contains [a - p, a + p] and is at least 2p wide for every sensitive cell",
)
MOST_CELLS = 20_000
"""Distinct cells in one union of tables; further tables are left out."""


def attack(case: Case) -> Verdict:
    attacker = case.attacker
    numbers = attacker.journal.ask_all(_requests(attacker, case.measure))
    chosen = numbers or [n for n, each in enumerate(attacker.journal.answers) if each.request.measure == case.measure]
    if not chosen:
        return not_applicable(THREAT, "No table was released.")
    union, first = union_of(attacker, chosen)
    truth = case.true_cells(first)
    originals = Originals(value=truth.value, sensitive=truth.sensitive, lower=truth.lower, upper=truth.upper)
    return interval_verdict(attacker, union, originals, {"tables": len(chosen)})


def interval_verdict(attacker: Attacker, union: Published, originals: Originals, facts: dict[str, Number]) -> Verdict:
    return intervals(union, originals, most=attacker.effort.cells, dice=attacker.dice("intervals"), facts=facts)


def intervals(union: Published, originals: Originals, *, most: int, dice: np.random.Generator, facts: dict[str, Number]) -> Verdict:
    """The verdict on the intervals, with the bounds as they are known and as if they were not."""
    cells = sample(originals, most, dice)
    if not cells.size:
        return not_applicable(THREAT, "No cell is sensitive.", facts)
    low, high = around(union.released, None)
    figures: dict[str, Number] = {**facts, "cells": int(originals.value.size), "sensitive cells": int(originals.sensitive.sum())}
    faults = 0
    for words, known in (("bounds not known", replace(union, low=low, high=high, known_bounds=False)), ("bounds known", union)):
        if words == "bounds known" and not union.known_bounds:
            figures[words] = "the method has none"
            continue
        found = infer(known, cells, protection_interval(originals, cells))
        if not found.possible:
            figures[words] = "contradicted by the releases"
            continue
        numbers = measured(found, originals)
        figures |= {f"{name}, {words}": number for name, number in numbers.items()}
        faults += int(numbers["narrower than 2p"] > 0) + int(numbers["without [a - p, a + p]"] > 0)
    figures["cells looked at"] = int(cells.size)
    return judged(THREAT, passed=faults == 0, number=_words(figures, int(cells.size)), figures=figures)


def _words(figures: dict[str, Number], cells: int) -> str:
    parts = []
    for words in ("bounds not known", "bounds known"):
        narrow = figures.get(f"without [a - p, a + p], {words}")
        parts.append(f"{words}: {figures.get(words)}" if narrow is None else f"{words}: {narrow} of {cells} too narrow")
    return "; ".join(parts)


def _requests(attacker: Attacker, measure: str) -> list[Request]:
    """Every code of every tree of the largest dimension with several trees, or else the table of the two largest dimensions."""
    forests = [dimension for dimension in attacker.catalogue.by_size if len(dimension.trees) > 1]
    whole = plain(attacker, measure)
    if not forests:
        return [whole] if whole is not None else [Request(axes=(Axis(id=attacker.catalogue.dimensions[0].name),), measure=measure)]
    forest = forests[0]
    others = [dimension for dimension in attacker.catalogue.by_size if dimension is not forest][:1]
    beside = tuple(Axis(id=dimension.name) for dimension in others)
    return [Request(axes=(Axis(id=forest.name, codes=tree.codes), *beside), measure=measure) for tree in forest.trees]


def union_of(attacker: Attacker, numbers: Sequence[int]) -> tuple[Published, Sightings]:
    """One system whose cells are the distinct sets of records in the answers, and a sighting of each.

    Where a cell was released with several values, the truth lies in the intersection of what each of them allows.
    """
    journal, change = attacker.journal, attacker.catalogue.most_change
    seen = journal.sightings(numbers)
    keys, first = np.unique(seen.key, return_index=True)
    kept = np.sort(first)[:MOST_CELLS]
    kept = kept[np.argsort(seen.key[kept])]
    keys = seen.key[kept]
    low, high = np.zeros(keys.size), np.full(keys.size, np.inf)
    at = np.searchsorted(keys, seen.key)
    inside = (at < keys.size) & (keys[np.minimum(at, keys.size - 1)] == seen.key)
    least, most = around(seen.value, change)
    np.maximum.at(low, at[inside], least[inside])
    np.minimum.at(high, at[inside], most[inside])
    relations = [_renumbered(attacker, number, keys) for number in numbers]
    matrix = vstack(relations, format="csr") if relations else csr_matrix((0, keys.size))
    released = seen.value[kept]
    return (
        Published(
            relations=matrix,
            rhs=np.zeros(matrix.shape[0], dtype=np.int64),
            released=released,
            low=low,
            high=np.maximum(high, low),
            known_bounds=change is not None,
        ),
        seen.take(kept),
    )


def _renumbered(attacker: Attacker, number: int, keys: AnyArray) -> csr_matrix:
    """The relations of one answer in terms of the distinct sets; those with a cell outside are left out, empty cells are zero."""
    table, prints = attacker.journal.answers[number].table, attacker.journal.prints(number)
    own = published_table(table, attacker.register.dimensions, None).relations.tocoo()
    at = np.minimum(np.searchsorted(keys, prints), max(keys.size - 1, 0))
    known = (keys[at] == prints) if keys.size else np.zeros(prints.size, dtype=np.bool_)
    lost = np.unique(own.row[~known[own.col] & (prints[own.col] != 0)])
    usable = known[own.col] & ~np.isin(own.row, lost)
    return csr_matrix((own.data[usable], (own.row[usable], at[own.col[usable]])), shape=(own.shape[0], keys.size))
