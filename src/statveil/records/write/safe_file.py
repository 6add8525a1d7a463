"""The safe file: the whole file streamed once more, with the plan's recoding and blanks and nothing else changed.

Which of several equal keys is blanked, and the order of the released records, are decided by keyed hashes of what the records hold:
the order of the original file plays no part, and the same file, plan and seed give the same bytes (M08).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from statveil.core.arrays import IntArray
from statveil.core.errors import BackendMissing, InputError
from statveil.core.provenance import sha256
from statveil.data.engines import Session
from statveil.data.microdata import FileLabels, Microdata
from statveil.data.queries.safe_file import (
    ReleasedColumn,
    ReleasedRecords,
    columns_beyond,
    lend_blanks,
    lend_recodings,
    released_records,
)
from statveil.data.readers import read_labels
from statveil.records.coding import CodedFile, record_key
from statveil.records.plan import FilePlan
from statveil.records.suppress.problem import merged
from statveil.records.write.content import LARGEST_WHOLE, TUNING, FileContent
from statveil.records.write.spss import refuse_spss_names, write_spss
from statveil.records.write.stata import refuse_stata_names, write_stata

FIXED_WIDTH = ("spss", "stata")
FOLDER = "folder"


def write_safe_file(data: Microdata, plan: FilePlan, path: Path, *, drop: Sequence[str] = (), key: str | None = None) -> None:
    """Write the safe file, or have the engine write a folder of Parquet files where the path has no ending.

    drop: columns to leave out. key: the secret of the shuffle, by default made from the seed.
    """
    _check_drop(data, plan, drop)
    names = [name for name in data.columns if name not in drop]
    secrets, format_ = _secrets(plan, key), format_of(path)
    with data.engine.session() as session:
        _lend_plan(session, data, plan)
        plain = _released(session, data, plan, names, texts=frozenset(), secret=secrets[0])
        if format_ == FOLDER:
            plain.write_folder(secrets, path)
            return
        released = _released(session, data, plan, names, texts=_texts(data, format_, plain), secret=secrets[0])
        content = _content(plan, released, read_labels(data.origin), measured=format_ in FIXED_WIDTH)
        write_batches(path, released.shuffled(secrets, rows=TUNING.rows), content)


def released_values(data: Microdata, plan: FilePlan, names: Sequence[str], *, key: str | None = None) -> pa.Table:
    """These columns as `write_safe_file` writes them, as text c0, c1, ..., and how many records (`n`) show the same."""
    with data.engine.session() as session:
        _lend_plan(session, data, plan)
        return _released(session, data, plan, names, texts=frozenset(names), secret=_secrets(plan, key)[0]).counted()


def _content(plan: FilePlan, released: ReleasedRecords, labels: FileLabels, *, measured: bool) -> FileContent:
    """What the writer must know beforehand; formats of fixed width also how many records come and how long their texts are."""
    schema = pa.schema([pa.field(each.name, _plain(each.type)) for each in released.schema()])
    kept = FileLabels(columns=labels.columns, values={name: each for name, each in labels.values.items() if name not in plan.mapping()})
    if not measured:
        return FileContent(schema=schema, labels=kept)
    records, widths = released.measured([each.name for each in schema if pa.types.is_string(each.type)])
    return FileContent(schema=schema, records=records, widths=widths, labels=kept)


def _texts(data: Microdata, written_as: str, released: ReleasedRecords) -> frozenset[str]:
    """Columns that are written as text: all of CSV, and in SPSS and Stata files what these would write in a way of their own.

    So are whole numbers that a double would change, as long identifiers.
    """
    if written_as not in FIXED_WIDTH:
        return frozenset(released.columns if written_as == "csv" else ())
    known = (pa.types.is_integer, pa.types.is_floating, pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
    kinds = {each.name: each.type for each in released.schema()}
    unknown = [name for name, kind in kinds.items() if not any(is_(kind) for is_ in known)]
    whole = [name for name, kind in kinds.items() if kind in (pa.int64(), pa.uint64())]
    return frozenset([*unknown, *columns_beyond(released.session, data, whole, LARGEST_WHOLE)])


def _plain(kind: pa.DataType) -> pa.DataType:
    """Text as plain text: the engine may hand over views that not every writer knows."""
    return pa.string() if pa.types.is_string_view(kind) or pa.types.is_large_string(kind) else kind


def _check_drop(data: Microdata, plan: FilePlan, drop: Sequence[str]) -> None:
    data.require(drop)
    kept = [name for name in drop if name in plan.keys.names]
    if kept:
        raise InputError(f"{kept[0]!r} is a key field and cannot be dropped.", hint="Take it out of the key fields.")
    needed = [name for name in drop if name in plan.keys.modelled]
    if needed:
        raise InputError(f"{needed[0]!r} cannot be dropped: a risk model is about it.", hint="Keep it, or leave the model out.")
    if plan.keys.rule == "recount" and plan.keys.counting == "weights" and plan.keys.weight in drop:
        raise InputError(
            "The weights cannot be dropped: without them nobody can recount the released file.", hint="Keep them, or use rule 'original'."
        )


def _secrets(plan: FilePlan, key: str | None) -> tuple[int, int]:
    words = [f"{purpose} {plan.seed} {key or ''}".encode() for purpose in ("order", "ties")]
    first, second = (int(sha256(word)[:15], 16) for word in words)
    return first, second


def _lend_plan(session: Session, data: Microdata, plan: FilePlan) -> None:
    lend_recodings(session, {plan.keys.names.index(name): mapping for name, mapping in plan.mapping().items()})
    lend_blanks(session, _blanks(plan))


def _blanks(plan: FilePlan) -> pa.Table:
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
    return pa.table(columns)


def _by_name(coded: CodedFile, home: IntArray) -> IntArray:
    """Households as a query knows them: records without one cannot be told apart by their household, so they count as one here."""
    assert coded.households is not None
    alone = int(pc.sum(pc.equal(coded.households.names, "")).as_py())
    return np.asarray(np.where(home < alone, 0, home), dtype=np.int64)


def key_columns(coded: CodedFile, key: IntArray) -> dict[str, pa.Array]:
    """The text of these keys' fields, as a query reads it; missing is NULL."""
    columns = {}
    for place, values in enumerate(coded.values):
        words = pa.array(values if coded.missing_as[place] is None else [*values[:-1], None], pa.string())
        code = coded.codes[place, key]
        columns[f"k{place}"] = words.take(pa.array(code, mask=code < 0))
    columns |= {f"n{place}": pa.array(row[key]) for place, row in enumerate(coded.numbers)}
    return columns | {f"v{place}": text.take(pa.array(key)) for place, text in enumerate(coded.texts)}


def _released(
    session: Session, data: Microdata, plan: FilePlan, names: Sequence[str], *, texts: frozenset[str], secret: int
) -> ReleasedRecords:
    key = record_key(data, plan.keys, plan.coded.told)
    columns = [_released_column(plan, name, as_text=name in texts) for name in names]
    return released_records(session, key, columns, secret=secret)


def _released_column(plan: FilePlan, name: str, *, as_text: bool) -> ReleasedColumn:
    keys, bits = plan.keys, _bits(plan, name)
    if name not in keys.names:
        return ReleasedColumn(name, as_text, bits)
    place = keys.names.index(name)
    return ReleasedColumn(name, as_text, bits, recoded=bool(plan.levels[place]), missing_as=plan.coded.missing_as[place])


def _bits(plan: FilePlan, name: str) -> int:
    """The key fields whose blank blanks this column: itself, or those it is linked to."""
    names = plan.keys.names
    own = {name} if name in names else set()
    linked = {each for group in plan.keys.linked if name in group for each in group if each in names}
    return sum(1 << names.index(each) for each in own | linked)


def write_csv(path: Path, tables: Iterable[pa.Table], content: FileContent) -> None:
    with path.open("wb") as file:
        file.write(_lines([pa.array([name], pa.string()) for name in content.schema.names]))
        for table in tables:
            file.write(_lines([column.combine_chunks().cast(pa.string()) for column in table.columns]))


def _lines(columns: list[pa.Array]) -> bytes:
    fields = [_quoted(column, alone=len(columns) == 1) for column in columns]
    return "".join(f"{line}\n" for line in pc.binary_join_element_wise(*fields, ",").to_pylist()).encode()


def _quoted(column: pa.Array, *, alone: bool) -> pa.Array:
    text = column.fill_null("")
    needs = pc.match_substring_regex(text, '[",\r\n]|^\\s|\\s$')
    if alone:  # a line of one empty field would be no line at all
        needs = pc.or_(needs, pc.equal(text, ""))
    if not pc.any(needs).as_py():
        return text
    doubled = pc.replace_substring(text, '"', '""')
    return pc.if_else(needs, pc.binary_join_element_wise('"', doubled, '"', ""), text)


def write_parquet(path: Path, tables: Iterable[pa.Table], content: FileContent) -> None:
    with pq.ParquetWriter(path, content.schema, compression="zstd") as writer:
        for table in tables:
            writer.write_table(table.cast(content.schema), row_group_size=max(1, table.num_rows))


def format_of(path: Path) -> str:
    known = {"": FOLDER, ".csv": "csv", ".parquet": "parquet", ".pq": "parquet", ".sav": "spss", ".dta": "stata"}
    if path.suffix.lower() not in known:
        raise InputError(f"{path.name}: unknown ending.", hint=f"Known: {', '.join(filter(None, known))}.")
    found = known[path.suffix.lower()]
    if found in ("spss", "stata") and not find_spec("pyreadstat"):
        raise BackendMissing("To audit an SPSS or Stata file, the package pyreadstat must read it.", hint="pip install 'statveil[stats]'")
    return found


def refuse_unfit_names(path: Path, names: Sequence[str]) -> None:
    """Columns that the format cannot name are told before anything is done."""
    refusals = {"spss": refuse_spss_names, "stata": refuse_stata_names}
    found = format_of(path)
    if found in refusals:
        refusals[found](path, names)


def write_batches(path: Path, batches: Iterable[pa.RecordBatch], content: FileContent) -> None:
    """Write the pieces in the format that the path's ending names."""
    _WRITERS[format_of(path)](path, _even(batches, content.schema), content)


def _even(batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> Iterator[pa.Table]:
    """Pieces of equal size whatever size they come in."""
    waiting: list[pa.RecordBatch] = []
    rows = 0
    for batch in batches:
        waiting.append(batch)
        rows += batch.num_rows
        if rows >= TUNING.rows:
            table = pa.Table.from_batches(waiting, waiting[0].schema)
            whole = rows - rows % TUNING.rows
            for start in range(0, whole, TUNING.rows):
                yield table.slice(start, TUNING.rows).rename_columns(schema.names)
            rest = table.slice(whole)
            waiting, rows = rest.to_batches(), rest.num_rows
    if rows:
        yield pa.Table.from_batches(waiting, waiting[0].schema).rename_columns(schema.names)


_WRITERS: Mapping[str, Callable[[Path, Iterable[pa.Table], FileContent], None]] = {
    "csv": write_csv,
    "parquet": write_parquet,
    "spss": write_spss,
    "stata": write_stata,
}
