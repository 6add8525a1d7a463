"""Rule `wildcard`: a blank matches every value (sdcMicro's alpha = 1).

For comparison only: it calls files safe in which many records still show a key that was rare. A record that is blank in every field
matches all others, so that k - 1 such records make any file safe for threshold k; that is the optimum of most files. Blanks only raise
counts here, so the blanks of rule `original` are another start; where its tables leave something unsafe more are added, and then each
blank that is not needed is taken back.
"""

from __future__ import annotations

import numpy as np

from statveil.core.arrays import BoolArray, IntArray
from statveil.core.errors import InfeasibleProblem
from statveil.records.frequencies import cell_index
from statveil.records.suppress.blanks import known_only
from statveil.records.suppress.covers import cheapest_covers
from statveil.records.suppress.problem import SuppressionProblem

PRUNING_WORK = 4_000_000_000


def wildcard_totals(problem: SuppressionProblem, codes: IntArray, records: IntArray) -> IntArray:
    """For each table and row, the records that are compatible with it: equal in every field, or blank on either side."""
    tables = problem.coded.tables
    total = np.zeros((len(tables), codes.shape[1]), dtype=np.int64)
    for number, (places, _) in enumerate(tables):
        bits = sum(((codes[place] < 0).astype(np.int64) << order) for order, place in enumerate(places))
        for own in np.unique(bits):
            rows = np.flatnonzero(bits == own)
            for other in np.unique(bits):
                total[number, rows] += _matching(problem, codes, records, places, rows, np.flatnonzero(bits == other), int(own | other))
    return total


def _matching(
    problem: SuppressionProblem, codes: IntArray, records: IntArray, places: tuple[int, ...], rows: IntArray, others: IntArray, blank: int
) -> IntArray:
    """Records of `others` that agree with each row in the fields where neither is blank."""
    compared = [place for order, place in enumerate(places) if not blank >> order & 1]
    if not compared:
        return np.full(rows.size, records[others].sum(), dtype=np.int64)
    levels = [problem.levels[place] for place in compared]
    index, _ = cell_index(np.ascontiguousarray(codes[:, np.concatenate([rows, others])]), problem.maps, compared, levels)
    distinct, inverse = np.unique(index, return_inverse=True)
    inverse = inverse.ravel()
    sums = np.bincount(inverse[rows.size :], weights=records[others], minlength=distinct.size)
    return np.asarray(sums[inverse[: rows.size]].astype(np.int64))


def refuse_small(problem: SuppressionProblem) -> None:
    if problem.coded.records < max(threshold for _, threshold in problem.coded.tables):
        raise InfeasibleProblem(
            "The file has fewer records than the threshold: under rule 'wildcard' no blanks make it safe.", hint="Use rule 'original'."
        )


def blank_altogether(problem: SuppressionProblem) -> tuple[IntArray, IntArray, IntArray]:
    """Rows of (key, mask, records): the cheapest k - 1 records blank in every field, so that each combination is matched k times."""
    coded = problem.coded
    every = known_only(problem, np.arange(coded.size), np.full(coded.size, (1 << len(coded.values)) - 1))
    price = problem.mask_cost(every) * (coded.mass / coded.count)
    left = max(threshold for _, threshold in coded.tables) - 1
    blanked = np.zeros(coded.size, dtype=np.int64)
    for key in np.lexsort((np.arange(coded.size), price)):
        blanked[key] = min(left, coded.count[key])
        left -= int(blanked[key])
        if not left:
            break
    some, rest = np.flatnonzero(blanked), np.flatnonzero(coded.count > blanked)
    masks = np.concatenate([every[some], np.zeros(rest.size, dtype=np.int64)])
    return np.concatenate([some, rest]), masks, np.concatenate([blanked[some], (coded.count - blanked)[rest]])


def add_until_safe(problem: SuppressionProblem, key: IntArray, units: IntArray, records: IntArray) -> IntArray:
    """Blank more until every row is compatible with enough records in every table."""
    thresholds = np.array([threshold for _, threshold in problem.coded.tables])[:, None]
    while True:
        bad = wildcard_totals(problem, problem.blanked(key, problem.fields_of(units)), records) < thresholds
        rows = np.flatnonzero(bad.any(axis=0))
        if not rows.size:
            return units
        units = units.copy()
        for row in rows:
            units[row] |= _one_more(problem, units[row], bad[:, row])


def _one_more(problem: SuppressionProblem, units: np.int64, bad: BoolArray) -> int:
    """The cheapest blanks that touch an open field of every table that is unsafe for the row."""
    open_masks = problem.table_masks & ~units
    pattern = np.zeros((1, (bad.size + 63) // 64), dtype=np.uint64)
    for table in np.flatnonzero(bad & (open_masks != 0)):
        pattern[0, table // 64] |= np.uint64(1) << np.uint64(table % 64)
    return int(cheapest_covers(pattern, open_masks, problem.unit_cost)[0][0])


def take_back(problem: SuppressionProblem, key: IntArray, units: IntArray, records: IntArray) -> IntArray:
    """Take blanks back one by one, dearest units and rows with most blanks first, as long as every row stays safe."""
    units = units.copy()
    codes = problem.blanked(key, problem.fields_of(units))
    blanked = np.flatnonzero(units)
    if blanked.size * units.size * len(problem.coded.tables) > PRUNING_WORK:
        return units
    written = written_codes(problem, key)
    total = wildcard_totals(problem, codes, records)
    for unit in (int(each) for each in np.argsort(-problem.unit_cost, kind="stable")):
        rows = [int(row) for row in blanked if units[row] >> unit & 1]
        for row in sorted(rows, key=lambda row: (int(records[row]), -int(units[row]).bit_count(), row)):
            if _open_again(problem, codes, written, records, total, row, int(problem.unit_mask[unit])):
                units[row] &= ~(1 << unit)
                for field in range(codes.shape[0]):
                    if problem.unit_mask[unit] >> field & 1:
                        codes[field, row] = problem.coded.codes[field, key[row]]
    return units


def written_codes(problem: SuppressionProblem, key: IntArray) -> IntArray:
    """The keys' codes as the recoding writes them; unknown stays unknown."""
    codes = problem.coded.codes[:, key]
    rows = [np.where(row < 0, -1, problem.maps.code(field, level)[np.maximum(row, 0)])
            for field, (row, level) in enumerate(zip(codes, problem.levels, strict=True))]  # fmt: skip
    return np.stack(rows)


def _open_again(
    problem: SuppressionProblem, codes: IntArray, written: IntArray, records: IntArray, total: IntArray, row: int, fields: int
) -> bool:
    """Show the row's fields again if nobody becomes unsafe by it; `total` is brought up to date then."""
    losses: list[tuple[int, IntArray, int]] = []
    for number, (places, threshold) in enumerate(problem.coded.tables):
        shown = [place for place in places if fields >> place & 1 and codes[place, row] < 0 <= written[place, row]]
        if not shown:
            continue
        match = np.ones(records.size, dtype=np.bool_)
        for place in places:
            if codes[place, row] >= 0:
                match &= (codes[place] < 0) | (written[place] == written[place, row])
        still = match.copy()
        for place in shown:
            still &= (codes[place] < 0) | (written[place] == written[place, row])
        still[row] = True
        lost = np.flatnonzero(match & ~still)
        own = int(records[lost].sum())
        if total[number, row] - own < threshold or (total[number, lost] - records[row] < threshold).any():
            return False
        losses.append((number, lost, own))
    for number, lost, own in losses:
        total[number, lost] -= records[row]
        total[number, row] -= own
    return True
