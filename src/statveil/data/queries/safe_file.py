"""The records of a safe file: recoded, blanked as planned, and in an order that says nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from statveil.data.digest import keyed_digest
from statveil.data.engines import Session, column, scalar_row
from statveil.data.microdata import Microdata
from statveil.data.queries.columns import text_of
from statveil.data.queries.keys import RecordKey


class ReleasedColumn(NamedTuple):
    """One column as it is released. `blanked_by` are the bits of the masks that blank it; a recoded field is read from its recoding;
    `missing_as` is the word that stands for a missing value of the field."""

    name: str
    as_text: bool
    blanked_by: int = 0
    recoded: bool = False
    missing_as: str | None = None


def lend_recodings(session: Session, recodings: Mapping[int, Mapping[str, str]]) -> None:
    """The new code of each old code, by the place of the field in the key."""
    for place, mapping in recodings.items():
        old, new = pa.array(mapping.keys(), pa.string()), pa.array(mapping.values(), pa.string())
        session.lend(f"new{place}", pa.table({"old": old, "new": new}))


def lend_blanks(session: Session, blanks: pa.Table) -> None:
    """Keys with their masks; of keys that are `split`, only the records ranked `low` to `high` get the mask."""
    session.lend("blanks", blanks)
    session.keep("whole_keys", "SELECT * FROM blanks WHERE NOT split")
    session.keep("split_keys", "SELECT * FROM blanks WHERE split")


class ReleasedRecords(NamedTuple):
    """The released records in a session to which recodings and blanks were lent: columns o0, o1, ..."""

    session: Session
    rows: str
    columns: Sequence[str]

    def schema(self) -> pa.Schema:
        found = self.session.query(f"SELECT * FROM ({self.rows}) LIMIT 0").schema
        return pa.schema([found.field(f"o{place}").with_name(name) for place, name in enumerate(self.columns)])

    def counted(self) -> pa.Table:
        """The different records, as c0, c1, ..., and how many (`n`) of each there are."""
        outputs = ", ".join(f"o{place} AS c{place}" for place in range(len(self.columns)))
        return self.session.query(f"SELECT {outputs}, count(*) AS n FROM ({self.rows}) GROUP BY ALL")

    def measured(self, texts: Sequence[str]) -> tuple[int, dict[str, int]]:
        """The number of records, and the length of the longest text of each of these columns, in bytes."""
        places = {name: f"o{self.columns.index(name)}" for name in texts}
        longest = "".join(f", max(byte_length({text})) AS {text}" for text in places.values())
        found = scalar_row(self.session.query(f"SELECT count(*) AS records{longest} FROM ({self.rows})"))
        return int(found["records"]), {name: int(found[text] or 0) for name, text in places.items()}

    def shuffled(self, secrets: tuple[int, int], *, rows: int) -> Iterator[pa.RecordBatch]:
        """All records in the order of keyed digests of what they show."""
        shown, order = self._shown(), ", ".join(self._digests(secrets))
        return self.session.batches(f"SELECT {', '.join(shown)} FROM ({self.rows}) ORDER BY {order}", rows=rows)

    def write_folder(self, secrets: tuple[int, int], folder: Path) -> None:
        """The same as Parquet files of a folder, which the engine writes."""
        places = [f"{digest} AS place{number}" for number, digest in enumerate(self._digests(secrets))]
        answer = f"SELECT {', '.join([*self._shown(), *places])} FROM ({self.rows})"
        self.session.write_folder(answer, [f"place{number}" for number in range(len(places))], self.columns, folder)

    def _shown(self) -> list[str]:
        return [f"o{place}" for place in range(len(self.columns))]

    def _digests(self, secrets: tuple[int, int]) -> list[str]:
        return [keyed_digest(secret, [f"CAST({each} AS STRING)" for each in self._shown()]) for secret in secrets]


def released_records(session: Session, key: RecordKey, columns: Sequence[ReleasedColumn], *, secret: int) -> ReleasedRecords:
    """The records with these columns; `secret` decides which records of a key that is blanked in part get the blanks."""
    keyed = f"SELECT *, {', '.join([*key.texts, *key.told, *key.home])} FROM records"
    same = " AND ".join(
        [f"r.k{place} IS NOT DISTINCT FROM b.k{place}" for place in range(len(key.fields))]
        + [f"r.{name} = b.{name}" for name in key.names[len(key.fields) :]]
        + ["r.home = b.home"] * len(key.home)
    )
    masked = f"SELECT r.*, coalesce(b.mask, 0) AS mask FROM ({keyed}) r LEFT JOIN whole_keys b ON {same}"
    if session.query("SELECT count(*) AS n FROM split_keys")["n"][0].as_py():
        masked = _with_split(masked, same, key, secret)
    recoded = dict.fromkeys(key.fields.index(each.name) for each in columns if each.recoded)
    joins = "".join(f" LEFT JOIN new{place} ON new{place}.old = t.k{place}" for place in recoded)
    outputs = [f"{_output(key, each)} AS o{place}" for place, each in enumerate(columns)]
    rows = f"SELECT {', '.join(outputs)} FROM ({masked}) t{joins}"
    return ReleasedRecords(session, rows, [each.name for each in columns])


def _with_split(masked: str, same: str, key: RecordKey, secret: int) -> str:
    """Of keys that are blanked in part, the records are ranked by a keyed digest of all they hold; equal records are interchangeable."""
    order = keyed_digest(secret, [text_of(key.data.engine, name) for name in key.data.columns])
    came = [*(column(key.data.engine, name) for name in key.data.columns), *key.names, *(["home"] if key.home else [])]
    listed = ", ".join(f"r.{name}" for name in came)
    some = f"SELECT {listed}, r.mask FROM ({masked}) r WHERE EXISTS (SELECT 1 FROM split_keys b WHERE {same})"
    none = f"SELECT {listed}, r.mask FROM ({masked}) r WHERE NOT EXISTS (SELECT 1 FROM split_keys b WHERE {same})"
    owner = ", ".join([*key.names, *(["home"] if key.home else [])])
    ranked = f"SELECT *, row_number() OVER (PARTITION BY {owner} ORDER BY {order}) AS rank FROM ({some})"
    chosen = f"SELECT {listed}, b.mask FROM ({ranked}) r JOIN split_keys b ON {same} AND r.rank BETWEEN b.low AND b.high"
    return f"SELECT * FROM ({none}) UNION ALL SELECT * FROM ({chosen})"


def _output(key: RecordKey, released: ReleasedColumn) -> str:
    """One released column: recoded, blanked, or as it was."""
    text = f"new{key.fields.index(released.name)}.new" if released.recoded else text_of(key.data.engine, released.name)
    value = text if released.recoded or released.as_text else f"t.{column(key.data.engine, released.name)}"
    if released.missing_as is not None:
        missing = f"t.k{key.fields.index(released.name)} IS NULL"
        value = f"CASE WHEN {missing} THEN '{released.missing_as}' ELSE {text} END"
    return f"CASE WHEN t.mask & {released.blanked_by} <> 0 THEN NULL ELSE {value} END" if released.blanked_by else value


def columns_beyond(session: Session, data: Microdata, names: Sequence[str], largest: int) -> list[str]:
    """Those of these columns of whole numbers that hold one larger than this, of either sign."""
    if not names:
        return []
    places = {name: column(data.engine, name) for name in names}
    tests = ", ".join(f"coalesce(max({c}) > {largest} OR min({c}) < -{largest}, false) AS {c}" for c in places.values())
    found = scalar_row(session.query(f"SELECT {tests} FROM records"))
    return [name for name in names if found[places[name]]]
