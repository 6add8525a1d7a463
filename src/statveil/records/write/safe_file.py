"""The safe file: the whole file streamed once more, with the plan's recoding and blanks and nothing else changed.

Which of several equal keys is blanked, and the order of the released records, are decided by keyed hashes of what the records hold:
the order of the original file plays no part, and the same file, plan and seed give the same bytes (M08).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from statveil.core.arrays import IntArray
from statveil.core.errors import InputError
from statveil.core.provenance import sha256
from statveil.data.engines import Session, column, scalar_row
from statveil.data.microdata import FileLabels, Microdata, read_labels
from statveil.records.coding import CodedFile, household_text, key_text, lend_missing, number_texts, telling
from statveil.records.keys import MISSING_LABEL
from statveil.records.plan import FilePlan
from statveil.records.suppress.blanks import merged
from statveil.records.write.content import LARGEST_WHOLE, FileContent
from statveil.records.write.formats import ROWS, format_of, write_batches

FIXED_WIDTH = ("spss", "stata")


def write_safe_file(data: Microdata, plan: FilePlan, path: Path, *, drop: Sequence[str] = (), key: str | None = None) -> None:
    """Write the safe file; `drop` names columns to leave out, `key` is the secret of the shuffle (by default made from the seed)."""
    _check_drop(data, plan, drop)
    names = [name for name in data.columns if name not in drop]
    first, second = _secrets(plan, key)
    with data.engine.session() as session:
        lend_missing(session, plan.keys)
        _lend_recodings(session, plan)
        _lend_blanks(session, plan)
        shown = ", ".join(f"o{place}" for place in range(len(names)))
        texts = _texts(session, data, format_of(path), names, _released(session, data, plan, names, texts=frozenset(), secret=first))
        released = _released(session, data, plan, names, texts=texts, secret=first)
        query = f"SELECT {shown} FROM ({released}) ORDER BY hash({first}, {shown}), hash({second}, {shown})"
        content = _content(session, plan, names, released, read_labels(data.origin), measured=format_of(path) in FIXED_WIDTH)
        write_batches(path, session.batches(query, rows=ROWS), content)


def released_values(data: Microdata, plan: FilePlan, names: Sequence[str], *, key: str | None = None) -> pa.Table:
    """These columns as `write_safe_file` writes them, as text c0, c1, ..., and how many records (`n`) show the same."""
    outputs = [f"o{place} AS c{place}" for place in range(len(names))]
    with data.engine.session() as session:
        lend_missing(session, plan.keys)
        _lend_recodings(session, plan)
        _lend_blanks(session, plan)
        released = _released(session, data, plan, names, texts=frozenset(names), secret=_secrets(plan, key)[0])
        return session.query(f"SELECT {', '.join(outputs)}, count(*) AS n FROM ({released}) GROUP BY ALL")


def _content(session: Session, plan: FilePlan, names: Sequence[str], released: str, labels: FileLabels, *, measured: bool) -> FileContent:
    """What the writer must know beforehand; formats of fixed width also how many records come and how long their texts are."""
    empty = session.query(f"SELECT * FROM ({released}) LIMIT 0").schema
    schema = pa.schema([pa.field(name, _plain(empty.field(f"o{place}").type)) for place, name in enumerate(names)])
    kept = FileLabels(columns=labels.columns, values={name: each for name, each in labels.values.items() if name not in plan.mapping()})
    if not measured:
        return FileContent(schema=schema, labels=kept)
    texts = {name: f"o{place}" for place, name in enumerate(names) if pa.types.is_string(schema.field(name).type)}
    longest = "".join(f", max(strlen({text})) AS {text}" for text in texts.values())
    found = scalar_row(session.query(f"SELECT count(*) AS records{longest} FROM ({released})"))
    widths = {name: int(found[text] or 0) for name, text in texts.items()}
    return FileContent(schema=schema, records=int(found["records"]), widths=widths, labels=kept)


def _texts(session: Session, data: Microdata, written_as: str, names: Sequence[str], released: str) -> frozenset[str]:
    """Columns that are written as text: all of CSV, and in SPSS and Stata files what these would write in a way of their own."""
    if written_as not in FIXED_WIDTH:
        return frozenset(names if written_as == "csv" else ())
    schema = session.query(f"SELECT * FROM ({released}) LIMIT 0").schema
    known = (pa.types.is_integer, pa.types.is_floating, pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
    kinds = {name: schema.field(f"o{place}").type for place, name in enumerate(names)}
    unknown = [name for name, kind in kinds.items() if not any(is_(kind) for is_ in known)]
    return frozenset([*unknown, *_beyond_doubles(session, data, [name for name in names if kinds[name] in (pa.int64(), pa.uint64())])])


def _beyond_doubles(session: Session, data: Microdata, names: Sequence[str]) -> list[str]:
    """Columns with whole numbers that a double would change, as long identifiers: text keeps them."""
    if not names:
        return []
    column_of = {name: column(data.engine, name) for name in names}
    tests = ", ".join(f"coalesce(max({c}) > {LARGEST_WHOLE} OR min({c}) < -{LARGEST_WHOLE}, false) AS {c}" for c in column_of.values())
    found = scalar_row(session.query(f"SELECT {tests} FROM records"))
    return [name for name in names if found[column_of[name]]]


def _plain(kind: pa.DataType) -> pa.DataType:
    """Text as plain text: the engine may hand over views that not every writer knows."""
    return pa.string() if pa.types.is_string_view(kind) or pa.types.is_large_string(kind) else kind


def _check_drop(data: Microdata, plan: FilePlan, drop: Sequence[str]) -> None:
    data.require(drop)
    kept = [name for name in drop if name in plan.keys.names]
    if kept:
        raise InputError(f"{kept[0]!r} is a key field and cannot be dropped.", hint="Take it out of the key fields.")
    if plan.keys.rule == "recount" and plan.keys.counting == "weights" and plan.keys.weight in drop:
        raise InputError(
            "The weights cannot be dropped: without them nobody can recount the released file.", hint="Keep them, or use rule 'original'."
        )


def _secrets(plan: FilePlan, key: str | None) -> tuple[int, int]:
    words = [f"{purpose} {plan.seed} {key or ''}".encode() for purpose in ("order", "ties")]
    first, second = (int(sha256(word)[:15], 16) for word in words)
    return first, second


def _lend_recodings(session: Session, plan: FilePlan) -> None:
    for name, mapping in plan.mapping().items():
        pairs = [(old, new) for old, new in mapping.items() if old != MISSING_LABEL]
        old, new = (pa.array([pair[side] for pair in pairs], pa.string()) for side in (0, 1))
        session.lend(f"new{plan.keys.names.index(name)}", pa.table({"old": old, "new": new}))


def _lend_blanks(session: Session, plan: FilePlan) -> None:
    """Keys (in households: household and key) with their masks; `low` to `high` are the ranks of their records that get a mask."""
    coded, found = plan.coded, plan.suppression
    home = None if found.home is None else _by_name(coded, found.home)
    owner = found.key if home is None else home * coded.size + found.key
    owner, mask, records = merged(owner, found.mask, found.records)
    starts = np.flatnonzero(np.r_[True, owner[1:] != owner[:-1]])
    variants = np.diff(np.r_[starts, owner.size])
    split = np.repeat(variants > 1, variants)
    high = np.cumsum(records) - np.repeat(np.cumsum(records)[starts] - records[starts], variants)
    wanted = split | (mask != 0)
    columns = key_columns(coded, owner[wanted] % coded.size)
    if home is not None:
        assert coded.households is not None
        columns["home"] = coded.households.names.take(pa.array(owner[wanted] // coded.size))
    columns |= {"mask": pa.array(mask[wanted]), "low": pa.array((high - records + 1)[wanted]), "high": pa.array(high[wanted])}
    columns["split"] = pa.array(split[wanted])
    table = pa.table(columns)
    session.lend("blanks", table)
    session.keep("whole_keys", "SELECT * FROM blanks WHERE NOT split")
    session.keep("split_keys", "SELECT * FROM blanks WHERE split")


def _by_name(coded: CodedFile, home: IntArray) -> IntArray:
    """Households as a query knows them: records without one cannot be told apart by their household, so they count as one here."""
    assert coded.households is not None
    alone = int(pc.sum(pc.equal(coded.households.names, "")).as_py())
    return np.asarray(np.where(home < alone, 0, home), dtype=np.int64)


def key_columns(coded: CodedFile, key: IntArray) -> dict[str, pa.Array]:
    """The text of these keys' fields, as a query reads it; missing is NULL."""
    columns = {}
    for place, values in enumerate(coded.values):
        category = coded.keys.missing == "category"
        words = pa.array([None if category and value == MISSING_LABEL else value for value in values], pa.string())
        code = coded.codes[place, key]
        columns[f"k{place}"] = words.take(pa.array(code, mask=code < 0))
    return columns | {f"n{place}": pa.array(row[key]) for place, row in enumerate(coded.numbers)}


def _released(session: Session, data: Microdata, plan: FilePlan, names: Sequence[str], *, texts: frozenset[str], secret: int) -> str:
    """The query of the released columns o0, o1, ... in the order of `names`."""
    keys = plan.keys
    told = number_texts(data, telling(keys))
    own = [f"{key_text(data, keys, name)} AS k{place}" for place, name in enumerate(keys.names)] + told
    home = [household_text(data, keys)] if keys.household else []
    keyed = f"SELECT *, {', '.join([*own, *home])} FROM records"
    same = " AND ".join(
        [f"r.k{place} IS NOT DISTINCT FROM b.k{place}" for place in range(len(keys.names))]
        + [f"r.n{place} = b.n{place}" for place in range(len(told))]
        + ["r.home = b.home"] * len(home)
    )
    masked = f"SELECT r.*, coalesce(b.mask, 0) AS mask FROM ({keyed}) r LEFT JOIN whole_keys b ON {same}"
    if session.query("SELECT count(*) AS n FROM split_keys")["n"][0].as_py():
        masked = _with_split(masked, same, data, secret)
    joins = "".join(
        f" LEFT JOIN new{keys.names.index(name)} ON new{keys.names.index(name)}.old = t.k{keys.names.index(name)}"
        for name in plan.mapping()
    )
    outputs = [f"{_output(data, plan, name, as_text=name in texts)} AS o{place}" for place, name in enumerate(names)]
    return f"SELECT {', '.join(outputs)} FROM ({masked}) t{joins}"


def _with_split(masked: str, same: str, data: Microdata, secret: int) -> str:
    """Of keys that are blanked in part, the records are ranked by a keyed hash of all they hold; equal records are interchangeable."""
    every = ", ".join(column(data.engine, name) for name in data.columns)
    some = f"SELECT r.* FROM ({masked}) r WHERE EXISTS (SELECT 1 FROM split_keys b WHERE {same})"
    none = f"SELECT r.* FROM ({masked}) r WHERE NOT EXISTS (SELECT 1 FROM split_keys b WHERE {same})"
    keyed = [f"{letter}{place}" for letter in "kn" for place in range(same.count(f"r.{letter}"))]
    owner = ", ".join(keyed + (["home"] if "r.home" in same else []))
    ranked = f"SELECT *, row_number() OVER (PARTITION BY {owner} ORDER BY hash({secret}, {every})) AS rank FROM ({some})"
    chosen = f"SELECT r.* EXCLUDE (mask, rank), b.mask FROM ({ranked}) r JOIN split_keys b ON {same} AND r.rank BETWEEN b.low AND b.high"
    return f"SELECT * FROM ({none}) UNION ALL BY NAME SELECT * FROM ({chosen})"


def _output(data: Microdata, plan: FilePlan, name: str, *, as_text: bool) -> str:
    """One released column: recoded, blanked, or as it was."""
    keys, identifier = plan.keys, f"t.{column(data.engine, name)}"
    bits = _bits(plan, name)
    value = identifier
    if name in keys.names:
        place = keys.names.index(name)
        category = keys.missing == "category" and MISSING_LABEL in plan.coded.values[place]
        if plan.levels[place]:
            value = f"new{place}.new"
        if category:
            value = f"CASE WHEN t.k{place} IS NULL THEN '{MISSING_LABEL}' ELSE CAST({value} AS VARCHAR) END"
    if as_text:
        value = f"CAST({value} AS VARCHAR)"
    return f"CASE WHEN t.mask & {bits} <> 0 THEN NULL ELSE {value} END" if bits else value


def _bits(plan: FilePlan, name: str) -> int:
    """The key fields whose blank blanks this column: itself, or those it is linked to."""
    names = plan.keys.names
    own = {name} if name in names else set()
    linked = {each for group in plan.keys.linked if name in group for each in group if each in names}
    return sum(1 << names.index(each) for each in own | linked)
