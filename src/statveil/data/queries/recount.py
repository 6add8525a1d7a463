"""The audit's own queries on a safe file and its original: they share nothing with those that made the file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from statveil.core.arrays import IntArray
from statveil.data.engines import Session, column, scalar_row
from statveil.data.microdata import Microdata


def keep_cells(session: Session, fields: Sequence[str]) -> pa.Table:
    """Keep `cells`, the different values of these fields with their records; each pattern of blanks with its cells and records."""
    listed = ", ".join(fields)
    blank = " + ".join(f"(CASE WHEN {name} IS NULL THEN {1 << place} ELSE 0 END)" for place, name in enumerate(fields))
    sums = f"CAST({blank} AS BIGINT) AS blank, CAST(sum(records) AS BIGINT) AS records"
    session.keep("cells", f"SELECT {listed}, {sums} FROM coded_after GROUP BY {listed}")
    return session.query("SELECT blank, count(*) AS cells, CAST(sum(records) AS BIGINT) AS records FROM cells GROUP BY blank")


def doubtful_cells(session: Session, threshold: int) -> pa.Table:
    """Cells whose own group is too small to be safe without the matches of a blank."""
    return session.query(f"SELECT *, CAST(0 AS BIGINT) AS total FROM cells a WHERE records < {threshold}")


def keys_in_cells(session: Session, fields: Sequence[str], cells: pa.Table) -> IntArray:
    """The numbers of the released keys that lie in these cells, blanks included."""
    session.lend("lent_cells", cells)
    same = " AND ".join(f"a.{name} IS NOT DISTINCT FROM b.{name}" for name in fields)
    return _ids(session.query(f"SELECT a.id FROM coded_after a JOIN lent_cells b ON {same}"))


def keep_others(session: Session, fields: Sequence[str], pattern: int) -> None:
    """Keep `others`, the records of all cells by the fields that a pattern shows, apart by what they share with it (their kind)."""
    shown = [name for place, name in enumerate(fields) if not pattern >> place & 1]
    grouped = ", ".join([*shown, "kind"])
    seen = f"SELECT *, blank | {pattern} AS kind FROM cells"
    session.keep("others", f"SELECT {grouped}, CAST(sum(records) AS BIGINT) AS n FROM ({seen}) GROUP BY {grouped}")


def still_doubtful(session: Session, fields: Sequence[str], threshold: int, doubtful: pa.Table, kinds: Sequence[int]) -> pa.Table:
    """Add the matching records of these kinds (the fields that they and the pattern do not share); who has enough is out."""
    session.lend("doubtful", doubtful)
    joins = []
    for number, kind in enumerate(kinds):
        agree = [f"a.{name} = o{number}.{name}" for place, name in enumerate(fields) if not kind >> place & 1]
        joins.append(f"LEFT JOIN (SELECT * FROM others WHERE kind = {kind}) o{number} ON {' AND '.join(agree) or 'true'}")
    total = " + ".join(["a.total", *(f"coalesce(o{number}.n, 0)" for number in range(len(kinds)))])
    more = f"SELECT a.* REPLACE ({total} AS total) FROM doubtful a {' '.join(joins)}"
    return session.query(f"SELECT * FROM ({more}) WHERE total < {threshold}")


LARGEST_WHOLE = 2**53
"""Up to here equal doubles are equal whole numbers; what is larger is compared as text."""


@dataclass(frozen=True, kw_only=True)
class Watched:
    """What was promised of the columns of a safe file: the key fields, and those linked to them, may differ; `rest` may not."""

    fields: Sequence[str]
    linked: Sequence[str]
    rest: Sequence[str]
    recoded: Mapping[str, Mapping[str, str]]
    missing_codes: Mapping[str, Sequence[str]]
    missing_as: Mapping[str, str]
    """What a missing value of a field becomes; it stays missing in fields that are not here."""

    @property
    def names(self) -> list[str]:
        """How queries call the fields and the linked columns."""
        return [f"w{place}" for place in range(len(self.fields) + len(self.linked))]


def _digest(texts: Sequence[str]) -> str:
    """The MD5 of these texts, each with its length before it, '-' for a missing one: the same in every engine and version of it."""
    fenced = ["'rest'", *(f"coalesce(CAST(length({text}) AS STRING) || ':' || {text}, '-')" for text in texts)]
    return f"md5(concat({', '.join(fenced)}))"


def _sums_of(digest: str) -> str:
    """The sums of its first and second 60 bits, `low` and `high`."""
    numbers = {"low": f"hex_number(substr({digest}, 1, 15))", "high": f"hex_number(substr({digest}, 16, 15))"}
    return ", ".join(f"CAST(sum(CAST({number} AS DECIMAL(20, 0))) AS DECIMAL(38, 0)) AS {name}" for name, number in numbers.items())


def _text(word: str) -> str:
    """A word as a query holds it: as hexadecimal digits, so that no sign of it can mean anything."""
    return f"hex_text('{word.encode().hex()}')"


class FileRecords:
    """One of the two files: its records as texts of the watched columns and a hash of the rest.

    The released file is the one with an `original`: it holds the new values of recoded fields already. `ending` is its format, and
    `amount` a column of weights with the units that make a weight of one.
    """

    def __init__(
        self, session: Session, data: Microdata, watched: Watched, *, ending: str, amount: tuple[str, int] | None,
        original: FileRecords | None = None,
    ):  # fmt: skip
        self.session, self._data, self._watched = session, data, watched
        self._made, self._ending = original is not None, ending
        self._listed = ", ".join(watched.names)
        schema = session.query("SELECT * FROM records LIMIT 0").schema
        kinds = {name: schema.field(column(data.engine, name)).type for name in data.columns}
        self._short_floats = {name for name, kind in kinds.items() if kind == pa.float32()}
        self._decimals = {name for name, kind in kinds.items() if pa.types.is_floating(kind) or pa.types.is_decimal(kind)}
        self._decimals |= original._decimals if original is not None else set()
        self._lend()
        texts = [f"{self._text(place, name)} AS w{place}" for place, name in enumerate([*watched.fields, *watched.linked])]
        rest = _digest([self._plain(name) for name in watched.rest])
        weight = "1"
        if amount:
            weight = f"CAST(round(CAST(replace({self._plain(amount[0])}, ',', '.') AS DOUBLE) * {amount[1]}) AS BIGINT)"
        joins = "".join(f" LEFT JOIN map{place} ON map{place}.old = {self._found(name)}" for place, name in self._recoded())
        self._rows = f"SELECT {', '.join(texts)}, {rest} AS rest, {weight} AS amount FROM records{joins}"

    def _lend(self) -> None:
        for place, name in self._recoded():
            mapping = self._watched.recoded[name]
            self.session.lend(
                f"map{place}", pa.table({"old": pa.array(list(mapping), pa.string()), "new": pa.array(list(mapping.values()), pa.string())})
            )

    def _recoded(self) -> list[tuple[int, str]]:
        """Recoded fields of the original; the released file holds their new values already."""
        return [] if self._made else [(place, name) for place, name in enumerate(self._watched.fields) if name in self._watched.recoded]

    def _plain(self, name: str) -> str:
        """A value as text, as far as the released format tells values apart: an empty text from a missing one, or a whole number."""
        found = column(self._data.engine, name)
        text = self._data.engine.text(name)
        if self._ending not in (".sav", ".dta"):
            return f"NULLIF({text}, '')" if self._ending == ".csv" else text
        if name in self._short_floats:
            return f"double_text(CAST({found} AS DOUBLE))"
        number = f"TRY_CAST({text} AS DOUBLE)"
        return f"CASE WHEN abs({number}) <= {LARGEST_WHOLE} THEN double_text({number}) ELSE {_without_blanks(text)} END"

    def _found(self, name: str) -> str:
        """A watched value as text; NULL where it is missing."""
        raw = self._data.engine.text(name)
        text = f"NULLIF({raw if name in self._watched.recoded else self._plain(name)}, '')"
        written = self._made and (name in self._watched.recoded or name in self._watched.missing_as)
        if not self._watched.missing_codes.get(name) or written:
            return text
        codes = [_text(code.strip()) for code in self._watched.missing_codes[name]]
        missing = f"trimmed({raw}) IN ({', '.join(codes)})"
        if name in self._decimals:
            missing += f" OR TRY_CAST({raw} AS DOUBLE) IN ({', '.join(f'TRY_CAST({code} AS DOUBLE)' for code in codes)})"
        return f"CASE WHEN {missing} THEN NULL ELSE {text} END"

    def _text(self, place: int, name: str) -> str:
        if self._made or place >= len(self._watched.fields):
            return self._found(name)
        text = f"map{place}.new" if name in self._watched.recoded else self._found(name)
        return f"coalesce({text}, {_text(self._watched.missing_as[name])})" if name in self._watched.missing_as else text

    def keys(self) -> pa.Table:
        """Each different key with its records, their amount, and the sum of the hashes of the rest."""
        sums = f"count(*) AS records, CAST(sum(amount) AS BIGINT) AS amount, {_sums_of('rest')}"
        return self.session.query(f"SELECT {self._listed}, {sums} FROM ({self._rows}) GROUP BY {self._listed}")

    def in_order(self) -> pa.Table:
        """Every record in the order of the file."""
        numbered = "FROM (SELECT *, row_number() OVER () AS line FROM records) AS records"
        rows = self._rows.replace("FROM records", numbered, 1).replace("SELECT ", "SELECT line, ", 1)
        return self.session.query(f"SELECT {self._listed}, rest, amount FROM ({rows}) ORDER BY line")

    def lend_settled(self, settled: pa.Table) -> None:
        self.session.lend("settled", settled)

    def unsettled(self, part: int, parts: int) -> pa.Table:
        """The different records whose key is not settled, with the bits of the watched columns that are blank: one part of so many,
        of which each holds all records with the same rest."""
        names = self._watched.names
        same = " AND ".join(f"r.{name} IS NOT DISTINCT FROM s.{name}" for name in names)
        bits = " + ".join(f"(CASE WHEN {name} IS NULL THEN {1 << place} ELSE 0 END)" for place, name in enumerate(names))
        rows = f"SELECT * FROM ({self._rows}) WHERE hex_number(substr(rest, 1, 15)) % {parts} = {part}"
        open_rows = f"SELECT r.* FROM ({rows}) r WHERE NOT EXISTS (SELECT 1 FROM settled s WHERE {same})"
        counted = f"CAST({bits} AS BIGINT) AS blank, count(*) AS records"
        return self.session.query(f"SELECT {self._listed}, rest, {counted} FROM ({open_rows}) GROUP BY {self._listed}, rest")

    def held(self, value: str | None, weight: tuple[str, int] | None, household: str | None) -> pa.Table:
        """The different records as far as these go: the key fields, the text of a column (`x`), the household (`home`), with how many
        they are and the sum of their weights in units."""
        fields = self._watched.names[: len(self._watched.fields)]
        told = [f"{self._plain(name)} AS {label}" for name, label in ((value, "x"), (household, "home")) if name is not None]
        units = (
            "1" if weight is None else f"CAST(round(CAST(replace({self._plain(weight[0])}, ',', '.') AS DOUBLE) * {weight[1]}) AS BIGINT)"
        )
        rows = self._rows.replace("SELECT ", f"SELECT {', '.join([*told, f'{units} AS units'])}, ", 1)
        grouped = ", ".join([*fields, *(label for name, label in ((value, "x"), (household, "home")) if name is not None)])
        sums = "count(*) AS records, CAST(sum(units) AS BIGINT) AS units"
        return self.session.query(f"SELECT {grouped}, {sums} FROM ({rows}) GROUP BY {grouped}")

    def has(self, name: str) -> bool:
        return name in self._data.columns

    def households(self, household: str, shared: Sequence[str]) -> pa.Table:
        """Each household with how many members show each shared field; records without a household have none to share with."""
        return self._households(self._at_home(household), shared)

    def lone(self, household: str) -> pa.Table:
        """The hash of the rest and the household of the records that their other columns tell apart from all others."""
        rows = self._at_home(household)
        return self.session.query(f"SELECT rest, any_value(home) AS home FROM ({rows}) GROUP BY rest HAVING count(*) = 1")

    def traced_households(self, lone: pa.Table, shared: Sequence[str]) -> pa.Table:
        """The same of the records whose other columns are those of a single original record, with its household."""
        self.session.lend("traced", lone)
        return self._households(f"SELECT t.home, r.* FROM ({self._rows}) r JOIN traced t ON r.rest = t.rest", shared)

    def _at_home(self, household: str) -> str:
        return self._rows.replace("SELECT ", f"SELECT coalesce({self._plain(household)}, '') AS home, ", 1)

    def _households(self, rows: str, shared: Sequence[str]) -> pa.Table:
        shown = [f"count(w{self._watched.fields.index(name)}) AS s{place}" for place, name in enumerate(shared)]
        return self.session.query(f"SELECT home, count(*) AS members, {', '.join(shown)} FROM ({rows}) WHERE home <> '' GROUP BY home")


class HouseholdFaults(NamedTuple):
    """Households that show a shared field for some members only, and how many of several members were compared."""

    faults: int
    homes: int


def compare_households(session: Session, before: pa.Table, after: pa.Table, shared: int) -> HouseholdFaults:
    session.lend("homes_before", before)
    session.lend("homes_after", after)
    kept = " AND ".join(f"a.s{place} IN (0, b.s{place})" for place in range(shared))
    counted = f"count(*) FILTER (WHERE NOT ({kept})) AS faults, count(*) FILTER (WHERE b.members > 1) AS homes"
    found = scalar_row(session.query(f"SELECT {counted} FROM homes_after a JOIN homes_before b ON a.home = b.home"))
    return HouseholdFaults(int(found["faults"]), int(found["homes"]))


def settled_keys(session: Session, before: pa.Table, after: pa.Table, names: Sequence[str]) -> pa.Table:
    """The keys with equally many records and the same rest in both files, and how many these are."""
    session.lend("before", before)
    session.lend("after", after)
    same = " AND ".join(f"a.{name} IS NOT DISTINCT FROM b.{name}" for name in names)
    equal = "a.records = b.records AND a.low = b.low AND a.high = b.high"
    return session.query(f"SELECT {', '.join(f'a.{name}' for name in names)}, a.records FROM after a JOIN before b ON {same} AND {equal}")


def lend_unsettled(session: Session, before: pa.Table, after: pa.Table) -> list[int]:
    """Lend the records that `count_strangers` compares; the different blanks of the released ones, as bits."""
    session.lend("left_after", after)
    session.lend("left_before", before)
    return sorted(session.query("SELECT DISTINCT blank FROM left_after")["blank"].to_pylist())


class LinkedBits(NamedTuple):
    """The watched columns of a linked group as bits: those that are key fields, and all of them."""

    keys: int
    every: int


def count_strangers(session: Session, names: Sequence[str], mask: int, groups: Sequence[LinkedBits]) -> int:
    """Released records with these blanks that are more than the originals which could have become them."""
    shown = ["rest", *(name for place, name in enumerate(names) if not mask >> place & 1)]
    listed = ", ".join(shown)
    mine = f"SELECT {listed}, sum(records) AS n FROM left_after WHERE blank = {mask} GROUP BY {listed}"
    alike = [f"rest IN (SELECT rest FROM left_after WHERE blank = {mask})", *(_linked_before(mask, group) for group in groups)]
    near = f"SELECT * FROM left_before WHERE {' AND '.join(alike)}"
    theirs = f"SELECT {listed}, sum(records) AS n FROM ({near}) GROUP BY {listed}"
    same = " AND ".join(f"m.{name} IS NOT DISTINCT FROM t.{name}" for name in shown)
    more = "CAST(coalesce(sum(greatest(m.n - coalesce(t.n, 0), 0)), 0) AS BIGINT) AS n"
    return int(scalar_row(session.query(f"SELECT {more} FROM ({mine}) m LEFT JOIN ({theirs}) t ON {same}"))["n"])


def _linked_before(mask: int, group: LinkedBits) -> str:
    """What must hold for the missing values of an original (bits of `blank`) that is released with these blanks.

    A group is blanked as a whole, where it has a known key field. One that still shows a key field was not touched, so its blanks were
    there before; one that shows another column, but no key field, never had any; one that shows nothing had some, or had nothing at all.
    """
    if group.keys & ~mask:
        return f"(blank & {mask & group.every}) = {mask & group.every}"
    if group.every & ~mask:
        return f"(blank & {group.keys}) = {group.keys}"
    return f"((blank & {group.keys}) <> {group.keys} OR (blank & {group.every}) = {group.every})"


def keep_coded_keys(session: Session, before: pa.Table, after: pa.Table) -> None:
    """Keep the keys of both files, texts as small numbers, for the counts below and those of `wildcards`."""
    for name, table in (("coded_before", before), ("coded_after", after)):
        session.lend(f"lent_{name}", table)
        session.keep(name, f"SELECT * FROM lent_{name}")


def unsafe_keys(session: Session, names: Sequence[str], threshold: int, *, counted: str) -> IntArray:
    """The numbers of the released keys that show a combination of these fields which is rare in the original (`counted` in
    coded_before) or in the released file itself (in coded_after)."""
    listed, here = ", ".join(names), " AND ".join(f"{name} IS NOT NULL" for name in names)
    same = " AND ".join(f"a.{name} = b.{name}" for name in names)
    rare = f"SELECT {listed} FROM {counted} WHERE {here} GROUP BY {listed} HAVING sum(amount) < {threshold}"
    return _ids(session.query(f"SELECT a.id FROM coded_after a JOIN ({rare}) b ON {same}"))


def _ids(found: pa.Table) -> IntArray:
    return np.asarray(found["id"].to_numpy(), dtype=np.int64)


def content_sums(data: Microdata) -> tuple[int, int, int]:
    """The number of records and the sum of the hashes of all they hold, whatever their order."""
    digest = _digest([data.engine.text(name) for name in data.columns])
    with data.engine.session() as session:
        found = scalar_row(session.query(f"SELECT count(*) AS records, {_sums_of('h')} FROM (SELECT {digest} AS h FROM records)"))
    return int(found["records"]), int(found["low"] or 0), int(found["high"] or 0)


def count_differing_blanks(one: Microdata, other: Microdata, rest: Sequence[str], fields: Sequence[str]) -> tuple[int, list[int]]:
    """Records that two releases have in common as far as the columns `rest` tell, and how many differ in whether each field is blank."""
    with one.engine.session() as session, other.engine.session() as second:
        session.lend("theirs", second.query(_joinable(other, rest, fields)))
        differ = [f"count(*) FILTER (WHERE a.b{place} <> b.b{place}) AS n{place}" for place in range(len(fields))]
        joined = f"({_joinable(one, rest, fields)}) a JOIN theirs b ON a.rest = b.rest"
        found = scalar_row(session.query(f"SELECT count(*) AS joined, {', '.join(differ)} FROM {joined}"))
    return int(found["joined"]), [int(found[f"n{place}"]) for place in range(len(fields))]


def _joinable(data: Microdata, rest: Sequence[str], fields: Sequence[str]) -> str:
    """Records that their other columns tell apart from all others, and which of their fields are blank."""
    digest = _digest([_canonical(data, name) for name in rest])
    blanks = [f"bool_and(NULLIF(CAST({column(data.engine, name)} AS STRING), '') IS NULL) AS b{place}" for place, name in enumerate(fields)]
    return f"SELECT {digest} AS rest, {', '.join(blanks)} FROM records GROUP BY {digest} HAVING count(*) = 1"


def _canonical(data: Microdata, name: str) -> str:
    """A value as text that all formats agree on: '1.0', '1' and the number 1 are the same, and so are an empty text and a missing one."""
    text = f"CAST({column(data.engine, name)} AS STRING)"
    number = f"TRY_CAST({text} AS DOUBLE)"
    return f"CASE WHEN abs({number}) <= {LARGEST_WHOLE} THEN double_text({number} + 0.0) ELSE {_without_blanks(text)} END"


def _without_blanks(text: str) -> str:
    """Without those at its end, which formats of fixed width cannot tell; missing where nothing is left."""
    return f"NULLIF(trim(TRAILING ' ' FROM {text}), '')"
