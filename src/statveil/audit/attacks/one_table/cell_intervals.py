"""T08: all equations of all released tables together, and the interval that they leave to each sensitive cell."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csr_matrix, vstack

from statveil.audit.attacks.attacker import TUNING, Attacker, Sightings, plain
from statveil.audit.attacks.case import Case, SystemOriginals
from statveil.audit.attacks.public import ReleasedSystem, RequestAxis, TableRequest, around, released_system
from statveil.audit.attacks.verdict import Number, Threat, Verdict, judged, not_applicable
from statveil.core.arrays import AnyArray, FloatArray, IntArray
from statveil.solve.highs import ColumnRanges
from statveil.solve.model import LinearModel


@dataclass(frozen=True, kw_only=True)
class CellIntervals:
    """Lowest and highest possible true value of each of `cells`; infinite ends where nothing bounds it. None possible: empty.

    Where a cell was seen to reach all that is `enough`, the interval is at least this wide; otherwise it is exactly this.
    """

    cells: IntArray
    low: FloatArray
    high: FloatArray
    possible: bool
    programs: int


def infer(
    published: ReleasedSystem, cells: IntArray, enough: tuple[FloatArray, FloatArray] | None = None, *, until: float = math.inf
) -> CellIntervals:
    """The attacker's interval of each cell, from the relations and what the public knows of each value.

    `enough` (low, high per cell): an end is not looked for once some possible table was seen at or beyond it. `until`: on the monotonic
    clock, when no further cell is looked at; those that were are answered.
    """
    if not published.known_bounds and not published.rhs.any() and not published.low.any():
        return _scaled(published, cells)
    scale = max(float(np.abs(published.released).max(initial=1)) / 1e6, 1.0)  # the solver computes in doubles
    ranges = ColumnRanges(
        LinearModel(
            cost=np.zeros(published.released.size),
            matrix=published.relations,
            row_lower=published.rhs / scale,
            row_upper=published.rhs / scale,
            lower=published.low / scale,
            upper=published.high / scale,
        )
    )
    if not ranges.possible:
        nothing = np.full(cells.size, np.nan)
        return CellIntervals(cells=cells, low=nothing, high=nothing, possible=False, programs=1)
    unlimited = np.full(cells.size, np.inf)
    need_low, need_high = (-unlimited, unlimited) if enough is None else (enough[0] / scale, enough[1] / scale)
    low = high = ranges.point[cells]
    programs = 1
    for place, cell in enumerate(cells.tolist()):
        if time.monotonic() > until:
            cells, low, high = cells[:place], low[:place], high[:place]
            break
        for end, done in ((ranges.lowest, low[place] <= need_low[place]), (ranges.highest, high[place] >= need_high[place])):
            if done:
                continue
            found = end(cell)
            programs += 1
            point = ranges.point[cells] if np.isfinite(found) else low
            low, high = np.minimum(low, point), np.maximum(high, point)
            low[place], high[place] = min(low[place], found), max(high[place], found)
    return CellIntervals(cells=cells, low=low * scale, high=high * scale, possible=True, programs=programs)


def _scaled(published: ReleasedSystem, cells: IntArray) -> CellIntervals:
    """Nothing known but sums and signs: the released table times any factor is possible too, so only zeros are certain."""
    high = np.where(published.released[cells] > 0, np.inf, published.high[cells])
    return CellIntervals(cells=cells, low=np.zeros(cells.size), high=high, possible=True, programs=0)


def sample(originals: SystemOriginals, most: int, rng: np.random.Generator) -> IntArray:
    """The sensitive cells to look at: all, or that many at random."""
    cells = np.flatnonzero(originals.sensitive)
    return cells if cells.size <= most else np.sort(rng.choice(cells, size=most, replace=False))


def measured(found: CellIntervals, originals: SystemOriginals) -> dict[str, float]:
    """How wide the intervals are beside the protection asked, and whether they hold the protection interval."""
    at = found.cells
    need_low, need_high = protection_interval(originals, at)
    need = originals.lower[at] + originals.upper[at]
    width = np.where(found.low == found.high, 0.0, found.high - found.low)
    ratio = width / np.maximum(need, 1)
    tolerance = 1e-6 * np.maximum(np.abs(originals.value[at]), 1)  # ends come from a solver in doubles
    holds = (found.low <= need_low + tolerance) & (found.high >= need_high - tolerance)
    pinned = width <= 0.2 * need
    return {
        "linear programs": found.programs,
        "least width / 2p": float(ratio.min(initial=np.inf)),
        "narrower than 2p": int((ratio < 1 - 1e-9).sum()),
        "without [a - p, a + p]": int((~holds).sum()),
        "known to within 0.1 p": int(pinned.sum()),
    }


def protection_interval(originals: SystemOriginals, cells: IntArray) -> tuple[FloatArray, FloatArray]:
    """[a - p, a + p], cut at zero for values that are not negative; the least that an attacker must be left with."""
    value = originals.value[cells].astype(np.float64)
    low = value - originals.lower[cells]
    return np.where(value >= 0, np.maximum(low, 0.0), low), value + originals.upper[cells]


THREAT = Threat(
    id="T08",
    name="overlapping geographies, interval of a cell",
    does="Puts the equations of all tables (all trees over the same units) together and computes by linear programming between "
    "which values each sensitive cell must lie, with the bounds of the method known and not known.",
    mark="the interval contains [a - p, a + p] and is at least 2p wide for every sensitive cell",
)


def attack(case: Case) -> Verdict:
    attacker = case.attacker
    numbers = attacker.journal.ask_all(_requests(attacker, case.measure))
    chosen = numbers or [n for n, each in enumerate(attacker.journal.answers) if each.request.measure == case.measure]
    if not chosen:
        return not_applicable(THREAT, "No table was released.")
    union, first = union_of(attacker, chosen)
    originals, rng = case.true_cells(first).originals, attacker.rng("intervals")
    return intervals(union, originals, most=attacker.effort.cells, rng=rng, facts={"tables": len(chosen)})


def intervals(
    union: ReleasedSystem, originals: SystemOriginals, *, most: int, rng: np.random.Generator, facts: dict[str, Number]
) -> Verdict:
    """The verdict on the intervals, with the bounds as they are known and as if they were not."""
    cells = sample(originals, most, rng)
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


def _requests(attacker: Attacker, measure: str) -> list[TableRequest]:
    """Every code of every tree of the largest dimension with several trees, or else the table of the two largest dimensions."""
    forests = [dimension for dimension in attacker.catalogue.by_size if len(dimension.trees) > 1]
    whole = plain(attacker, measure)
    if not forests:
        return (
            [whole] if whole is not None else [TableRequest(axes=(RequestAxis(id=attacker.catalogue.dimensions[0].name),), measure=measure)]
        )
    forest = forests[0]
    others = [dimension for dimension in attacker.catalogue.by_size if dimension is not forest][:1]
    beside = tuple(RequestAxis(id=dimension.name) for dimension in others)
    return [TableRequest(axes=(RequestAxis(id=forest.name, codes=tree.codes), *beside), measure=measure) for tree in forest.trees]


def union_of(attacker: Attacker, numbers: Sequence[int]) -> tuple[ReleasedSystem, Sightings]:
    """One system whose cells are the distinct sets of records in the answers, and a sighting of each.

    Where a cell was released with several values, the truth lies in the intersection of what each of them allows.
    """
    journal, change = attacker.journal, attacker.catalogue.most_change
    seen = journal.sightings(numbers)
    keys, first = np.unique(seen.key, return_index=True)
    kept = np.sort(first)[: TUNING.most_union_cells]
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
        ReleasedSystem(
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
    own = released_system(table, attacker.register.dimensions, None).relations.tocoo()
    at = np.minimum(np.searchsorted(keys, prints), max(keys.size - 1, 0))
    known = (keys[at] == prints) if keys.size else np.zeros(prints.size, dtype=np.bool_)
    lost = np.unique(own.row[~known[own.col] & (prints[own.col] != 0)])
    usable = known[own.col] & ~np.isin(own.row, lost)
    return csr_matrix((own.data[usable], (own.row[usable], at[own.col[usable]])), shape=(own.shape[0], keys.size))
