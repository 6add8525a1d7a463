"""Count a file in which a blank matches every value, without looking at pairs of records.

Records that are blank in the same fields have the same pattern. A record of pattern P matches a record of pattern Q if the two agree in
the fields that both show, so its count is the sum over all Q of one grouped count of these fields: as many grouped counts as there are
pairs of patterns, whatever the number of records. Records of all patterns that leave the same fields of P are grouped together, and a
record that has reached the threshold is not looked at again. A record with enough matches in some fields has enough in fewer, so smaller
combinations ask only about the records that a larger one found unsafe.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from statveil.data.engines import Session
from statveil.data.queries.wildcards import doubtful_cells, keep_cells, keep_others, still_doubtful

WORK = 1_500_000_000
"""Rows that are looked at, over all combinations: some minutes. Beyond, the count is not known: a million keys with a thousand patterns."""
JOIN_WORK = 20_000
"""A join of two small tables is as much work as looking at so many rows."""
JOINED = 8
"""Patterns counted in one query."""


class _OutOfWork(Exception):
    pass


class _Counted(NamedTuple):
    fields: frozenset[str]
    threshold: int
    unsafe: pa.Table

    def covers(self, fields: Sequence[str], threshold: int) -> bool:
        return self.fields.issuperset(fields) and self.threshold >= threshold


def count_wildcards(session: Session, tables: Sequence[tuple[Sequence[str], int]]) -> int | None:
    """Unsafe (record, combination) pairs of the kept table `coded_after`, in combinations of its columns; None if it is too much work."""
    counter, counted, unsafe = _WildcardCounter(session), list[_Counted](), 0
    try:
        for fields, threshold in sorted(tables, key=lambda table: -len(table[0])):
            above = [each.unsafe for each in counted if each.covers(fields, threshold)]
            within = min(above, key=len, default=None)
            if within is None or len(within):
                found = counter.unsafe(fields, threshold, within)
                unsafe += sum(found["records"].to_pylist())
                if within is None:
                    counted.append(_Counted(frozenset(fields), threshold, found))
    except _OutOfWork:
        return None
    return unsafe


class _WildcardCounter:
    def __init__(self, session: Session) -> None:
        self.session = session
        self.left = WORK

    def _spend(self, work: int) -> None:
        self.left -= work
        if self.left < 0:
            raise _OutOfWork

    def unsafe(self, fields: Sequence[str], threshold: int, within: pa.Table | None) -> pa.Table:
        """Different values of these fields with their records, where fewer than the threshold match; `within` holds all of them."""
        patterns = keep_cells(self.session, fields)
        doubtful = doubtful_cells(self.session, fields, threshold, within)
        cells = sum(patterns["cells"].to_pylist())
        found = [doubtful.slice(0, 0)]
        for pattern in sorted(doubtful["blank"].unique().to_pylist()):
            self._spend(cells)
            found.append(self._unsafe_of_pattern(fields, threshold, doubtful.filter(pc.field("blank") == pattern), pattern, patterns))
        return pa.concat_tables(found).select([*fields, "records"])

    def _unsafe_of_pattern(self, fields: Sequence[str], threshold: int, doubtful: pa.Table, pattern: int, patterns: pa.Table) -> pa.Table:
        keep_others(self.session, fields, pattern)
        kinds = _largest_first(pattern, patterns)
        for start in range(0, len(kinds), JOINED):
            if len(doubtful):
                some = kinds[start : start + JOINED]
                self._spend((len(doubtful) + JOIN_WORK) * len(some))
                doubtful = still_doubtful(self.session, fields, threshold, doubtful, some)
        return doubtful


def _largest_first(pattern: int, patterns: pa.Table) -> list[int]:
    """What the patterns of the file leave of this one; first where a group has many records, as most are safe after that."""
    cells: Counter[int] = Counter()
    records: Counter[int] = Counter()
    for row in patterns.to_pylist():
        cells[row["blank"] | pattern] += row["cells"]
        records[row["blank"] | pattern] += row["records"]
    return sorted(cells, key=lambda kind: (-records[kind] / cells[kind], kind))
