"""Check a written safe file against the original: recounted by the engine, by queries that share nothing with how it was made.

The statement says what was promised: fields, recoding value by value, tables with thresholds, the rule, the blanks. The audit reads both
files anew. No row of the released file can be traced to its original, so sums of hashes and counts are compared key by key, and what is
not settled by that row by row: every released record must be an original one with some values blank.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from statveil.audit.report import AuditReport, Check
from statveil.audit.wildcards import count_wildcards
from statveil.data.engines import Session, column, scalar_row
from statveil.data.microdata import Microdata

WEIGHT_UNIT = 1_000_000
LARGEST_WHOLE = 2**53
"""Up to here equal doubles are equal whole numbers; what is larger is compared as text."""


@dataclass(frozen=True, kw_only=True)
class FileStatement:
    """What was promised about a safe file, in plain words and numbers."""

    fields: tuple[str, ...]
    tables: tuple[tuple[tuple[str, ...], int], ...]
    """Combinations with the number of records (or the weight) that makes one safe."""
    rule: str
    blanks: Mapping[str, int]
    recoded: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    missing: str = "unknown"
    missing_codes: Mapping[str, Sequence[str]] = field(default_factory=dict)
    missing_label: str = "missing"
    weight: str | None = None
    linked: Sequence[Sequence[str]] = ()
    dropped: Sequence[str] = ()
    caps: Mapping[str, int] = field(default_factory=dict)
    household: str | None = None
    shared: Sequence[str] = ()

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
    with released.engine.session() as session:
        after = _Side(session, released, statement, made=True, ending=ending)
        after_keys = after.keys()
        with original.engine.session() as other:
            before = _Side(other, original, statement, made=False, ending=ending)
            before_keys = before.keys()
            checks = [
                columns,
                _same_rest(before_keys, after_keys),
                _as_planned(statement, before_keys, after_keys),
                _within_caps(statement, before_keys, after_keys),
            ]
            checks.append(_only_blanks(before, after, before_keys, after_keys))
            checks.append(_household_check(statement, before, after))
            unsafe = _recount(other, statement, before_keys, after_keys)
    faults = unsafe[statement.rule]
    words = f"No record shows a combination that rule '{statement.rule}' calls unsafe"
    checks.append(Check(name="recount", words=words, checked=len(statement.tables), faults=1 if faults is None else faults))
    return FileAudit(AuditReport(checks=tuple(checks)), unsafe)


class _Side:
    """One of the two files: its records as texts of the watched columns and a hash of the rest."""

    def __init__(self, session: Session, data: Microdata, statement: FileStatement, *, made: bool, ending: str) -> None:
        self.session, self.data, self.statement = session, data, statement
        self.made, self.ending = made, ending
        self.size = len(statement.watched)
        self.names = [f"w{place}" for place in range(self.size)]
        schema = session.query("SELECT * FROM records LIMIT 0").schema
        self.short_floats = {name for name in data.columns if schema.field(column(data.engine, name)).type == pa.float32()}
        self._lend()
        rest = [name for name in data.columns if name not in statement.watched and name not in statement.dropped]
        texts = [f"{self._text(place, name)} AS {self.names[place]}" for place, name in enumerate(statement.watched)]
        hashed = ", ".join(["1", *(self._plain(name) for name in rest)])
        weight = (
            f"CAST(round(CAST(replace({self._plain(statement.weight)}, ',', '.') AS DOUBLE) * {WEIGHT_UNIT}) AS BIGINT)"
            if statement.weight in data.columns
            else "1"
        )
        joins = "".join(f" LEFT JOIN map{place} ON map{place}.old = {self._found(name)}" for place, name in self._recoded())
        self.rows = f"SELECT {', '.join(texts)}, hash({hashed}) AS rest, {weight} AS amount FROM records{joins}"

    def _lend(self) -> None:
        listed = [(name, code.strip()) for name, codes in self.statement.missing_codes.items() for code in codes]
        places = pa.array([self.statement.fields.index(name) for name, _ in listed], pa.int32())
        self.session.lend("absent", pa.table({"place": places, "code": pa.array([code for _, code in listed], pa.string())}))
        for place, name in self._recoded():
            mapping = self.statement.recoded[name]
            self.session.lend(
                f"map{place}", pa.table({"old": pa.array(list(mapping), pa.string()), "new": pa.array(list(mapping.values()), pa.string())})
            )

    def _recoded(self) -> list[tuple[int, str]]:
        """Recoded fields of the original; the released file holds their new values already."""
        return [] if self.made else [(place, name) for place, name in enumerate(self.statement.fields) if name in self.statement.recoded]

    def _plain(self, name: str) -> str:
        """A value as text, as far as the released format tells values apart: an empty text from a missing one, or a whole number."""
        found = column(self.data.engine, name)
        text = f"CAST({found} AS VARCHAR)"
        if self.ending not in (".sav", ".dta"):
            return f"NULLIF({text}, '')" if self.ending == ".csv" else text
        if name in self.short_floats:
            return f"CAST(CAST({found} AS DOUBLE) AS VARCHAR)"
        number = f"TRY_CAST({text} AS DOUBLE)"
        return f"CASE WHEN abs({number}) <= {LARGEST_WHOLE} THEN CAST({number} AS VARCHAR) ELSE NULLIF(rtrim({text}, ' '), '') END"

    def _found(self, name: str) -> str:
        """A watched value as text; NULL where it is missing."""
        raw = f"CAST({column(self.data.engine, name)} AS VARCHAR)"
        text = f"NULLIF({raw if name in self.statement.recoded else self._plain(name)}, '')"
        if not self.statement.missing_codes.get(name) or (self.made and name in self.statement.recoded):
            return text
        place = self.statement.fields.index(name)
        return f"CASE WHEN trim({raw}) IN (SELECT code FROM absent WHERE place = {place}) THEN NULL ELSE {text} END"

    def _text(self, place: int, name: str) -> str:
        if self.made or place >= len(self.statement.fields):
            return self._found(name)
        text = f"map{place}.new" if name in self.statement.recoded else self._found(name)
        return text if self.statement.missing == "unknown" else f"coalesce({text}, '{self.statement.missing_label}')"

    def keys(self) -> pa.Table:
        """Each different key with its records, their amount, and the sum of the hashes of the rest."""
        names = ", ".join(self.names)
        halves = "CAST(sum(rest % 4294967296) AS BIGINT) AS low, CAST(sum(rest >> 32) AS BIGINT) AS high"
        sums = f"count(*) AS records, CAST(sum(amount) AS BIGINT) AS amount, {halves}"
        return self.session.query(f"SELECT {names}, {sums} FROM ({self.rows}) GROUP BY {names}")

    def unsettled(self, settled: pa.Table) -> pa.Table:
        """The different records whose key is not settled, with the bits of the watched columns that are blank."""
        self.session.lend("settled", settled)
        names = ", ".join(self.names)
        same = " AND ".join(f"r.{name} IS NOT DISTINCT FROM s.{name}" for name in self.names)
        bits = " + ".join(f"(CASE WHEN {name} IS NULL THEN {1 << place} ELSE 0 END)" for place, name in enumerate(self.names))
        open_rows = f"SELECT r.* FROM ({self.rows}) r WHERE NOT EXISTS (SELECT 1 FROM settled s WHERE {same})"
        return self.session.query(
            f"SELECT {names}, rest, CAST({bits} AS BIGINT) AS blank, count(*) AS records FROM ({open_rows}) GROUP BY {names}, rest"
        )

    def at_home(self, household: str) -> str:
        """The rows with the household that they name."""
        return self.rows.replace("SELECT ", f"SELECT coalesce({self._plain(household)}, '') AS home, ", 1)

    def traced(self) -> str:
        """The rows whose other columns are those of a single original record, with its household."""
        return f"SELECT t.home, r.* FROM ({self.rows}) r JOIN traced t ON r.rest = t.rest"

    def households(self, rows: str) -> pa.Table:
        """Each household with how many members show each shared field; records without a household have none to share with."""
        shown = [f"count(w{self.statement.fields.index(name)}) AS s{place}" for place, name in enumerate(self.statement.shared)]
        return self.session.query(f"SELECT home, count(*) AS members, {', '.join(shown)} FROM ({rows}) WHERE home <> '' GROUP BY home")


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


def _household_check(statement: FileStatement, before: _Side, after: _Side) -> Check:
    """In every household a shared field is as it was, or blank for all.

    A released file without its column of households is followed as far as its other columns tell records apart.
    """
    words, household = "A blank in a shared field is there for all members of the household", statement.household
    if household is None:
        return Check(name="households", words=words, checked=0, faults=0)
    rows = [each.at_home(household) for each in (before, after) if household in each.data.columns]
    if len(rows) < 2:
        alone = f"SELECT rest, any_value(home) AS home FROM ({rows[0]}) GROUP BY rest HAVING count(*) = 1"
        traced = before.session.query(alone)
        for side in (before, after):
            side.session.lend("traced", traced)
        rows = [before.traced(), after.traced()]
        words = f"{words}, as far as other columns tell records apart"
    for name, side, its_rows in zip(("homes_before", "homes_after"), (before, after), rows, strict=True):
        before.session.lend(name, side.households(its_rows))
    kept = " AND ".join(f"a.s{place} IN (0, b.s{place})" for place in range(len(statement.shared)))
    counted = f"count(*) FILTER (NOT ({kept})) AS faults, count(*) FILTER (b.members > 1) AS homes"
    found = scalar_row(before.session.query(f"SELECT {counted} FROM homes_after a JOIN homes_before b ON a.home = b.home"))
    told = words if found["homes"] else f"{words} (not checked: no household of several members can be told)"
    return Check(name="households", words=told, checked=int(found["homes"]), faults=int(found["faults"]))


def _only_blanks(before: _Side, after: _Side, before_keys: pa.Table, after_keys: pa.Table) -> Check:
    """Every released record is an original one, recoded, with some values blank."""
    session, names = before.session, before.names
    session.lend("before", before_keys)
    session.lend("after", after_keys)
    same = " AND ".join(f"a.{name} IS NOT DISTINCT FROM b.{name}" for name in names)
    equal = "a.records = b.records AND a.low = b.low AND a.high = b.high"
    settled = session.query(f"SELECT {', '.join(f'a.{name}' for name in names)} FROM after a JOIN before b ON {same} AND {equal}")
    session.lend("left_after", after.unsettled(settled))
    session.lend("left_before", before.unsettled(settled))
    masks = sorted(session.query("SELECT DISTINCT blank FROM left_after")["blank"].to_pylist())
    groups = _linked_bits(before.statement)
    faults = sum(_strangers(session, names, int(mask), groups) for mask in masks)
    words = "Every released record is an original one, recoded as stated, with some values blank, linked columns together"
    return Check(name="changes", words=words, checked=_total(after_keys, "records"), faults=faults)


class _Linked(NamedTuple):
    """The watched columns of a linked group as bits: those that are key fields, and all of them."""

    keys: int
    every: int


def _linked_bits(statement: FileStatement) -> list[_Linked]:
    watched = statement.watched
    places = [[watched.index(name) for name in group if name in watched] for group in statement.linked]
    return [
        _Linked(sum(1 << place for place in group if place < len(statement.fields)), sum(1 << place for place in group)) for group in places
    ]


def _linked_before(mask: int, group: _Linked) -> str:
    """What must hold for the missing values of an original (bits of `blank`) that is released with these blanks.

    A group is blanked as a whole, where it has a known key field. One that still shows a key field was not touched, so its blanks were
    there before; one that shows another column, but no key field, never had any; one that shows nothing had some, or had nothing at all.
    """
    if group.keys & ~mask:
        return f"(blank & {mask & group.every}) = {mask & group.every}"
    if group.every & ~mask:
        return f"(blank & {group.keys}) = {group.keys}"
    return f"((blank & {group.keys}) <> {group.keys} OR (blank & {group.every}) = {group.every})"


def _strangers(session: Session, names: Sequence[str], mask: int, groups: Sequence[_Linked]) -> int:
    """Released records with these blanks that are more than the originals which could have become them."""
    shown = ["rest", *(name for place, name in enumerate(names) if not mask >> place & 1)]
    listed = ", ".join(shown)
    mine = f"SELECT {listed}, sum(records) AS n FROM left_after WHERE blank = {mask} GROUP BY {listed}"
    alike = [f"rest IN (SELECT rest FROM left_after WHERE blank = {mask})", *(_linked_before(mask, group) for group in groups)]
    near = f"SELECT * FROM left_before WHERE {' AND '.join(alike)}"
    theirs = f"SELECT {listed}, sum(records) AS n FROM ({near}) GROUP BY {listed}"
    same = " AND ".join(f"m.{name} IS NOT DISTINCT FROM t.{name}" for name in shown)
    more = "CAST(coalesce(sum(greatest(m.n - coalesce(t.n, 0), 0)), 0) AS BIGINT) AS n"
    query = f"SELECT {more} FROM ({mine}) m LEFT JOIN ({theirs}) t ON {same}"
    return int(scalar_row(session.query(query))["n"])


def _recount(session: Session, statement: FileStatement, before: pa.Table, after: pa.Table) -> dict[str, int | None]:
    """Unsafe (record, combination) pairs of the released file under each rule."""
    for name, table in zip(("coded_before", "coded_after"), _coded(before, after, len(statement.fields)), strict=True):
        session.lend(f"lent_{name}", table)
        session.keep(name, f"SELECT * FROM lent_{name}")
    unit = WEIGHT_UNIT if statement.weight else 1
    tables = [([f"w{statement.fields.index(name)}" for name in fields], threshold) for fields, threshold in statement.tables]
    found: dict[str, int | None] = {"original": 0, "recount": 0}
    for names, threshold in tables:
        for rule, query in _queries(names, threshold * unit):
            found[rule] = (found[rule] or 0) + int(scalar_row(session.query(query))["n"])
    if statement.weight in statement.dropped:
        found["recount"] = None  # the released file does not tell its weights
    found["wildcard"] = None if statement.weight else count_wildcards(session, tables)
    return found


def _coded(before: pa.Table, after: pa.Table, fields: int) -> Iterator[pa.Table]:
    """Texts as small numbers, the same in both files: the engine counts those faster."""
    words = [pc.unique(pa.chunked_array([*before[f"w{place}"].chunks, *after[f"w{place}"].chunks], pa.string())) for place in range(fields)]
    for side in (before, after):
        codes = {f"w{place}": pc.index_in(side[f"w{place}"], value_set=words[place].drop_null()) for place in range(fields)}
        yield pa.table({**codes, "records": side["records"], "amount": side["amount"]})


def _queries(names: Sequence[str], threshold: int) -> Iterator[tuple[str, str]]:
    listed, here = ", ".join(names), " AND ".join(f"{name} IS NOT NULL" for name in names)
    same = " AND ".join(f"a.{name} = b.{name}" for name in names)
    rare = f"SELECT {listed} FROM coded_before WHERE {here} GROUP BY {listed} HAVING sum(amount) < {threshold}"
    yield "original", f"SELECT CAST(coalesce(sum(a.records), 0) AS BIGINT) AS n FROM coded_after a JOIN ({rare}) b ON {same}"
    cells = f"SELECT sum(records) AS n FROM coded_after WHERE {here} GROUP BY {listed} HAVING sum(amount) < {threshold}"
    yield "recount", f"SELECT CAST(coalesce(sum(n), 0) AS BIGINT) AS n FROM ({cells})"


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
    with one.engine.session() as session, other.engine.session() as second:
        session.lend("theirs", second.query(_joinable(other, rest, shared)))
        differ = [f"count(*) FILTER (a.b{place} <> b.b{place}) AS n{place}" for place in range(len(shared))]
        joined = f"({_joinable(one, rest, shared)}) a JOIN theirs b ON a.rest = b.rest"
        found = scalar_row(session.query(f"SELECT count(*) AS joined, {', '.join(differ)} FROM {joined}"))
    return Compared(int(found["joined"]), {name: int(found[f"n{place}"]) for place, name in enumerate(shared)})


def _joinable(data: Microdata, rest: Sequence[str], fields: Sequence[str]) -> str:
    """Records that their other columns tell apart from all others, and which of their fields are blank."""
    texts = ", ".join(_canonical(data, name) for name in rest)
    blanks = [
        f"bool_and(NULLIF(CAST({column(data.engine, name)} AS VARCHAR), '') IS NULL) AS b{place}" for place, name in enumerate(fields)
    ]
    return f"SELECT hash({texts}) AS rest, {', '.join(blanks)} FROM records GROUP BY hash({texts}) HAVING count(*) = 1"


def _canonical(data: Microdata, name: str) -> str:
    """A value as text that all formats agree on: '1.0', '1' and the number 1 are the same, and so are an empty text and a missing one."""
    text = f"CAST({column(data.engine, name)} AS VARCHAR)"
    number = f"TRY_CAST({text} AS DOUBLE)"
    return f"CASE WHEN abs({number}) <= {LARGEST_WHOLE} THEN CAST({number} + 0.0 AS VARCHAR) ELSE NULLIF(rtrim({text}, ' '), '') END"
