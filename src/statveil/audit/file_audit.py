"""Check a written safe file against the original: recounted by the engine, by queries that share nothing with how it was made.

The statement says what was promised: fields, recoding value by value, tables with thresholds, the rule, the blanks. The audit reads both
files anew. No row of the released file can be traced to its original, so sums of hashes and counts are compared key by key, and what is
not settled by that row by row: every released record must be an original one with some values blank.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from statveil.audit.file_models import PromisedModel, check_model
from statveil.audit.report import AuditReport, Check
from statveil.core.arrays import IntArray
from statveil.data.engines import Session, counting_session
from statveil.data.microdata import Microdata
from statveil.data.queries.recount import (
    FileRecords,
    LinkedBits,
    Watched,
    compare_households,
    count_differing_blanks,
    count_strangers,
    doubtful_cells,
    keep_cells,
    keep_coded_keys,
    keep_others,
    keys_in_cells,
    lend_unsettled,
    settled_keys,
    still_doubtful,
    unsafe_keys,
)

WEIGHT_UNIT = 1_000_000


class ChangesTuning(NamedTuple):
    part: int = 4_000_000
    """Records of keys that differ between the files which are compared at a time: by judgement."""


CHANGES_TUNING = ChangesTuning()


@dataclass(frozen=True, kw_only=True)
class FileStatement:
    """What was promised about a safe file, in plain words and numbers."""

    fields: tuple[str, ...]
    tables: tuple[tuple[tuple[str, ...], int], ...]
    """Combinations with the number of records (or the weight) that makes one safe."""
    rule: str
    blanks: Mapping[str, int]
    recoded: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    missing_codes: Mapping[str, Sequence[str]] = field(default_factory=dict)
    missing_as: Mapping[str, str] = field(default_factory=dict)
    """By field, the word written for a missing value; where there is none it stays missing."""
    weight: str | None = None
    linked: Sequence[Sequence[str]] = ()
    dropped: Sequence[str] = ()
    caps: Mapping[str, int] = field(default_factory=dict)
    household: str | None = None
    shared: Sequence[str] = ()
    models: Sequence[PromisedModel] = ()

    @property
    def watched(self) -> tuple[str, ...]:
        """Columns that may differ: the key fields, and columns linked to them."""
        further = [name for group in self.linked for name in group if name not in self.fields and name not in self.dropped]
        return (*self.fields, *further)


class FileAudit(NamedTuple):
    """The checks, and what was measured besides: what is unsafe under each of the three rules (None: not counted)."""

    report: AuditReport
    unsafe: Mapping[str, int | None]


def audit_file(original: Microdata, released: Microdata, statement: FileStatement) -> FileAudit:
    """Recount the released file and compare it with the original."""
    columns = Check(name="columns", words="The released file has the columns that were promised", checked=len(released.columns),
                    faults=int(list(released.columns) != [name for name in original.columns if name not in statement.dropped]))  # fmt: skip
    if not columns.passed:
        return FileAudit(AuditReport(checks=(columns,)), {})
    ending = Path(released.origin).suffix.lower()
    with original.engine.session() as other, counting_session() as scratch:
        before = _file_records(other, original, statement, ending=ending)
        before_keys = before.keys()
        with released.engine.session() as session:
            after = _file_records(session, released, statement, ending=ending, original=before)
            after_keys = after.keys()
            checks = [
                columns,
                _same_rest(before_keys, after_keys),
                _as_planned(statement, before_keys, after_keys),
                _within_caps(statement, before_keys, after_keys),
            ]
            checks.append(_only_blanks(scratch, statement, (before, after), (before_keys, after_keys)))
            checks.append(_household_check(scratch, statement, before, after))
            places = [[statement.fields.index(name) for name in names] for names, _ in statement.tables]
            checks += [check_model(model, before, after, places, statement.rule, WEIGHT_UNIT) for model in statement.models]
            unsafe = _recount(scratch, statement, before_keys, after_keys)
    faults = unsafe[statement.rule]
    words = f"No record shows a combination that rule '{statement.rule}' calls unsafe"
    checks.append(Check(name="recount", words=words, checked=len(statement.tables), faults=1 if faults is None else faults))
    return FileAudit(AuditReport(checks=tuple(checks)), unsafe)


def both_records(original: Microdata, released: Microdata, statement: FileStatement) -> tuple[pa.Table, pa.Table]:
    """All records of both files in their order: key fields as released (w0, w1, ...), a hash of the other columns, and the amount."""
    ending = Path(released.origin).suffix.lower()
    with original.engine.session() as session, released.engine.session() as other:
        before = _file_records(session, original, statement, ending=ending)
        return before.in_order(), _file_records(other, released, statement, ending=ending, original=before).in_order()


def _file_records(
    session: Session, data: Microdata, statement: FileStatement, *, ending: str, original: FileRecords | None = None
) -> FileRecords:
    watched = Watched(
        fields=statement.fields,
        linked=statement.watched[len(statement.fields) :],
        rest=[name for name in data.columns if name not in statement.watched and name not in statement.dropped],
        recoded=statement.recoded,
        missing_codes=statement.missing_codes,
        missing_as=statement.missing_as,
    )
    amount = (statement.weight, WEIGHT_UNIT) if statement.weight is not None and statement.weight in data.columns else None
    return FileRecords(session, data, watched, ending=ending, amount=amount, original=original)


def _total(table: pa.Table, name: str) -> int:
    return int(pc.sum(table[name]).as_py() or 0)


def _same_rest(before: pa.Table, after: pa.Table) -> Check:
    """Equally many records, and the same untouched columns in them, in whatever order."""
    faults = sum(_total(before, name) != _total(after, name) for name in ("records", "low", "high"))
    words = "All records are there, with all other columns as they were"
    return Check(name="rest", words=words, checked=_total(before, "records"), faults=faults)


def _blanks(statement: FileStatement, before: pa.Table, after: pa.Table) -> dict[str, int]:
    """Values of each field that are blank in the released file and were not in the original."""
    return {
        name: sum(sign * _total(side.filter(side[f"w{place}"].is_null()), "records") for sign, side in ((1, after), (-1, before)))
        for place, name in enumerate(statement.fields)
    }


def _as_planned(statement: FileStatement, before: pa.Table, after: pa.Table) -> Check:
    found = _blanks(statement, before, after)
    wrong = [name for name in statement.fields if found[name] != statement.blanks.get(name, 0)]
    findings = tuple(f"{name}: {found[name]:,} blanks, planned {statement.blanks.get(name, 0):,}" for name in wrong)
    return Check(name="blanks", words="Each field has as many blanks as planned", checked=len(found), faults=len(wrong), findings=findings)


def _within_caps(statement: FileStatement, before: pa.Table, after: pa.Table) -> Check:
    found = _blanks(statement, before, after)
    faults = sum(found[name] > cap for name, cap in statement.caps.items())
    return Check(name="caps", words="No field has more blanks than its cap", checked=len(statement.caps), faults=faults)


def _household_check(scratch: Session, statement: FileStatement, before: FileRecords, after: FileRecords) -> Check:
    """In every household a shared field is as it was, or blank for all.

    A released file without its column of households is followed as far as its other columns tell records apart.
    """
    words, household = "A blank in a shared field is there for all members of the household", statement.household
    if household is None or not statement.shared:
        return Check(name="households", words=words, checked=0, faults=0)
    if before.has(household) and after.has(household):
        homes = (before.households(household, statement.shared), after.households(household, statement.shared))
    else:
        lone = next(side for side in (before, after) if side.has(household)).lone(household)
        homes = (before.traced_households(lone, statement.shared), after.traced_households(lone, statement.shared))
        words = f"{words}, as far as other columns tell records apart"
    found = compare_households(scratch, *homes, len(statement.shared))
    told = words if found.homes else f"{words} (not checked: no household of several members can be told)"
    return Check(name="households", words=told, checked=found.homes, faults=found.faults)


def _only_blanks(
    scratch: Session, statement: FileStatement, files: tuple[FileRecords, FileRecords], keys: tuple[pa.Table, pa.Table]
) -> Check:
    """Every released record is an original one, recoded, with some values blank. Looked at in parts, as keys may be open in any number."""
    names, groups, faults = [f"w{place}" for place in range(len(statement.watched))], _linked_bits(statement), 0
    settled = settled_keys(scratch, *keys, names)
    for file in files:
        file.lend_settled(settled)
    parts = 1 + (max(_total(each, "records") for each in keys) - _total(settled, "records")) // CHANGES_TUNING.part
    for part in range(parts):
        masks = lend_unsettled(scratch, *(file.unsettled(part, parts) for file in files))
        faults += sum(count_strangers(scratch, names, int(mask), groups) for mask in masks)
    words = "Every released record is an original one, recoded as stated, with some values blank, linked columns together"
    return Check(name="changes", words=words, checked=_total(keys[1], "records"), faults=faults)


def _linked_bits(statement: FileStatement) -> list[LinkedBits]:
    watched = statement.watched
    groups = [[watched.index(name) for name in group if name in watched] for group in statement.linked]
    fields = len(statement.fields)
    return [LinkedBits(_bits(place for place in group if place < fields), _bits(group)) for group in groups]


def _bits(places: Iterable[int]) -> int:
    return sum(1 << place for place in places)


def _recount(session: Session, statement: FileStatement, before: pa.Table, after: pa.Table) -> dict[str, int | None]:
    """Released records that show a combination which each rule calls unsafe; each once, in however many combinations it is."""
    keep_coded_keys(session, *_coded(before, after, len(statement.fields)))
    unit = WEIGHT_UNIT if statement.weight else 1
    tables = [([f"w{statement.fields.index(name)}" for name in fields], threshold) for fields, threshold in statement.tables]
    records = np.asarray(after["records"].to_numpy(), dtype=np.int64)

    def counted(keys: Iterable[IntArray]) -> int:
        bad = np.zeros(records.size, dtype=np.bool_)
        for some in keys:
            bad[some] = True
        return int(records[bad].sum())

    found: dict[str, int | None] = {
        rule: counted(unsafe_keys(session, names, threshold * unit, counted=name) for names, threshold in tables)
        for rule, name in (("original", "coded_before"), ("recount", "coded_after"))
    }
    if statement.weight in statement.dropped:
        found["recount"] = None  # the released file does not tell its weights
    wild = None if statement.weight else wildcard_keys(session, tables)
    found["wildcard"] = None if wild is None else counted(wild)
    return found


def _coded(before: pa.Table, after: pa.Table, fields: int) -> Iterator[pa.Table]:
    """Texts as small numbers, the same in both files: the engine counts those faster."""
    words = [pc.unique(pa.chunked_array([*before[f"w{place}"].chunks, *after[f"w{place}"].chunks], pa.string())) for place in range(fields)]
    for side in (before, after):
        codes = {f"w{place}": pc.index_in(side[f"w{place}"], value_set=words[place].drop_null()) for place in range(fields)}
        yield pa.table({**codes, "records": side["records"], "amount": side["amount"], "id": pa.array(np.arange(len(side)))})


class Compared(NamedTuple):
    """Records that two releases have in common as far as their other columns tell, and how many show a value, by field, that is blank
    in the other release. Without a record in common nothing was compared."""

    joined: int
    differ: Mapping[str, int]


def compare_releases(one: Microdata, other: Microdata, fields: Sequence[str]) -> Compared:
    """Join two releases on all other columns, values as text and numbers however they are written, and compare their blanks."""
    rest = [name for name in one.columns if name in other.columns and name not in fields]
    shared = [name for name in fields if name in one.columns and name in other.columns]
    if not rest or not shared:
        return Compared(0, dict.fromkeys(fields, 0))
    joined, differ = count_differing_blanks(one, other, rest, shared)
    return Compared(joined, dict(zip(shared, differ, strict=True)))


class WildcardCountTuning(NamedTuple):
    work: int = 1_500_000_000
    """Rows that are looked at, over all combinations: some minutes (150,027 keys with 1,024 patterns take 92 s: benchmarks/RESULTS.md).
    Beyond, the count is not known: a million keys with a thousand patterns."""
    join_work: int = 20_000
    """A join of two small tables is as much work as looking at so many rows: by judgement."""
    joined: int = 8
    """Patterns counted in one query: by judgement."""


TUNING = WildcardCountTuning()


class _OutOfWork(Exception):
    pass


def wildcard_keys(session: Session, tables: Sequence[tuple[Sequence[str], int]]) -> list[IntArray] | None:
    """Unsafe keys of the kept table `coded_after`, by combination of its columns; None if it is too much work.

    A record with enough matches in some fields has enough in fewer: combinations within another of no lower threshold are not asked about.
    """
    sets = [(frozenset(fields), threshold) for fields, threshold in tables]
    widest = [
        (fields, threshold)
        for place, (fields, threshold) in enumerate(tables)
        if not any(sets[place][0] < other and least >= threshold for other, least in sets)
    ]
    counter = _WildcardCounter(session)
    try:
        return [keys_in_cells(session, fields, counter.unsafe(fields, threshold)) for fields, threshold in widest]
    except _OutOfWork:
        return None


class _WildcardCounter:
    """Counts a file in which a blank matches every value, without looking at pairs of records.

    Records that are blank in the same fields have the same pattern. A record of pattern P matches a record of pattern Q if the two agree in
    the fields that both show, so its count is the sum over all Q of one grouped count of these fields: as many grouped counts as there are
    pairs of patterns, whatever the number of records. Records of all patterns that leave the same fields of P are grouped together, and a
    record that has reached the threshold is not looked at again.
    """

    def __init__(self, session: Session) -> None:
        self.session = session
        self.left = TUNING.work

    def _spend(self, work: int) -> None:
        self.left -= work
        if self.left < 0:
            raise _OutOfWork

    def unsafe(self, fields: Sequence[str], threshold: int) -> pa.Table:
        """Different values of these fields with their records, where fewer than the threshold match."""
        patterns = keep_cells(self.session, fields)
        doubtful = doubtful_cells(self.session, threshold)
        cells = sum(patterns["cells"].to_pylist())
        found = [doubtful.slice(0, 0)]
        for pattern in sorted(doubtful["blank"].unique().to_pylist()):
            self._spend(cells)
            found.append(self._unsafe_of_pattern(fields, threshold, doubtful.filter(pc.field("blank") == pattern), pattern, patterns))
        return pa.concat_tables(found).select([*fields, "records"])

    def _unsafe_of_pattern(self, fields: Sequence[str], threshold: int, doubtful: pa.Table, pattern: int, patterns: pa.Table) -> pa.Table:
        keep_others(self.session, fields, pattern)
        kinds = _largest_first(pattern, patterns)
        for start in range(0, len(kinds), TUNING.joined):
            if len(doubtful):
                some = kinds[start : start + TUNING.joined]
                self._spend((len(doubtful) + TUNING.join_work) * len(some))
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
