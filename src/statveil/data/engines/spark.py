"""Spark, in a session that the user has: records stay where they are, and what comes to this process are answers to queries.

PySpark is an extra (`pip install 'statveil[spark]'`, Java 17 beside it), and nothing of it is loaded before a Spark frame comes.
A query runs on the frame through names of its own (`WITH records AS ...`), so that no view of the user's is in its way.
Columns whose text Spark and DuckDB write alike are read as they are; numbers of floating point are written by Python, as DuckDB
writes them; others are refused.
"""

from __future__ import annotations

import os
import re
import sys
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from importlib import import_module
from importlib.util import find_spec
from itertools import repeat
from pathlib import Path
from typing import Any

import pyarrow as pa

from statveil.core.errors import BackendMissing, EngineFailed, InputError
from statveil.data.engines.duck import other_case
from statveil.data.engines.protocol import RecordView, column, internal_name

_SPACES = "".join(map(chr, [0x20, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x202F, 0x205F, 0x3000]))
"""What DuckDB takes for spaces around a text: all space separators of Unicode."""
_SAME_TEXT = ("string", "char", "varchar", "tinyint", "smallint", "int", "bigint", "boolean", "date", "decimal", "timestamp_ntz")
_WHOLE = ("tinyint", "smallint", "int", "bigint")
_FLOATING = ("float", "double")


_FLOATING_TEXT, _ROUNDED = "statveil_floating_text", "statveil_rounded"
_SIGN_AND_DIGITS = "^(-?)0*([0-9]+)([0-9]{{{}}})$"


def _low_first(digits: str, start: int) -> str:
    """Eight bytes of a digest in hexadecimal digits, the last one first, as a number."""
    swapped = ", ".join(f"substr({digits}, {place}, 2)" for place in range(start + 14, start - 1, -2))
    return f"CAST(conv(concat({swapped}), 16, 10) AS DECIMAL(20, 0))"


def _decimal_text(units: str, decimals: str, mark: str) -> str:
    """Zeros are put before the digits and taken away again, as far as there is one left before the mark."""
    filled = f"regexp_replace(CAST({units} AS STRING), '^(-?)', '$1{'0' * (int(decimals) + 1)}')"
    return f"regexp_replace({filled}, '{_SIGN_AND_DIGITS.format(int(decimals))}', concat('$1$2', {mark}, '$3'))"


def _translated(word: str) -> Callable[[str], str]:
    return lambda text: "translate({}, '{}', '{}')".format(text, *other_case(word))


_WORDS: dict[str, Callable[..., str]] = {
    "trimmed": lambda text: f"trim(BOTH '{_SPACES}' FROM {text})",
    "whole_match": lambda text, pattern: f"regexp_like({text}, concat('^(?:', {pattern}, ')', chr(92), 'z'))",
    "digest": lambda text: f"md5(CAST({text} AS BINARY))",
    "digest_low": lambda digest: _low_first(digest, 1),
    "digest_high": lambda digest: _low_first(digest, 17),
    "hex_number": lambda digits: f"CAST(conv({digits}, 16, 10) AS BIGINT)",
    "byte_length": lambda text: f"octet_length({text})",
    "double_text": lambda number: f"{_FLOATING_TEXT}({number}, false)",
    "hex_text": lambda digits: f"decode(unhex({digits}), 'UTF-8')",
    "whole": lambda number: f"CAST({number} AS DECIMAL(38, 0))",
    "lowered": _translated("lower"),
    "uppered": _translated("upper"),
    "rounded": lambda above, below: f"{_ROUNDED}({above}, {below})",
    "decimal_text": _decimal_text,
}
"""What the words are in Spark's own: written into the query, because a function of SQL for each takes Spark long to plan."""


def in_sparks_words(query: str) -> str:
    """The query with each word of ours replaced; words within words are found as the search goes on where the last one stood."""
    word = re.compile(rf"\b({'|'.join(_WORDS)})\(")
    found = word.search(query)
    while found:
        arguments, end = _arguments(query, found.end())
        query = query[: found.start()] + _WORDS[found[1]](*arguments) + query[end:]
        found = word.search(query, found.start())
    return query


def _arguments(query: str, start: int) -> tuple[list[str], int]:
    """The arguments of the call whose bracket opens before `start`, and where the call ends."""
    depth, arguments, begin = 1, list[str](), start
    for sign in re.finditer(r"'[^']*'|[(),]", query[start:]):
        depth += (sign[0] == "(") - (sign[0] == ")")
        place = start + sign.start()
        if depth == 0 or (depth == 1 and sign[0] == ","):
            arguments.append(query[begin:place].strip())
            begin = place + 1
        if depth == 0:
            return arguments, place + 1
    raise ValueError("a bracket is not closed")


def is_spark_frame(frame: Any) -> bool:
    return type(frame).__module__.startswith("pyspark.sql") and type(frame).__name__ == "DataFrame"


def spark_parquet(path: str) -> Any:
    """A frame over Parquet files, read by the active session or a new one; folders, patterns and addresses are Spark's own to find."""
    if find_spec("pyspark") is None:
        needed = "The engine spark needs the package pyspark, which is not installed."
        raise BackendMissing(needed, hint="Run: pip install 'statveil[spark]'")
    with _in_our_words(path):
        sessions = import_module("pyspark.sql").SparkSession
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # of workers of a session that begins here; one that runs has its own
        return (sessions.getActiveSession() or sessions.builder.getOrCreate()).read.parquet(path)


def engine_over_spark(frame: Any, *, origin: str) -> SparkEngine:
    kinds = tuple(kind for _, kind in frame.dtypes)
    names = tuple(frame.columns)
    return SparkEngine(columns=names, origin=origin, frame=frame.toDF(*map(internal_name, range(len(names)))), kinds=kinds)


@dataclass(frozen=True, kw_only=True, repr=False)
class SparkEngine:
    """Over a frame of Spark, whose columns are renamed to c0, c1, ...; `kinds` are its types in Spark's words."""

    columns: tuple[str, ...]
    origin: str
    frame: Any
    kinds: tuple[str, ...]
    view: RecordView | None = None

    @contextmanager
    def session(self) -> Iterator[SparkRecords]:
        session = SparkRecords(spark=self.frame.sparkSession, origin=self.origin)
        try:
            session.start(self.frame, self.view)
            yield session
        finally:
            session.close()

    def text(self, name: str) -> str:
        kind = re.match(r"[a-z_]*", self.kinds[self.columns.index(name)])
        if kind is not None and kind[0] in _FLOATING:
            return f"{_FLOATING_TEXT}({column(self, name)}, {str(kind[0] == 'float').lower()})"
        if kind is None or kind[0] not in _SAME_TEXT:
            what = f"column {name!r} has a type that engines write differently"
            raise InputError(f"{self.origin}: {what}.", hint="Cast it to string in Spark.")
        return f"CAST({column(self, name)} AS STRING)"

    def holds_decimals(self, name: str) -> str:
        return str(self.kinds[self.columns.index(name)].startswith((*_FLOATING, "decimal"))).lower()

    def holds_whole_numbers(self, name: str) -> str:
        return str(self.kinds[self.columns.index(name)] in _WHOLE).lower()

    def place(self, record: int) -> str:
        return "a row that has no number in Spark"

    def viewed(self, columns: tuple[str, ...], view: RecordView) -> SparkEngine:
        shown = replace(self, columns=columns, view=view)
        with shown.session() as session:
            return replace(shown, kinds=session.kinds())


@dataclass(kw_only=True, repr=False)
class SparkRecords:
    """A session over one frame. Its tables are views of Spark under names that nobody else has; they go when it closes."""

    spark: Any
    origin: str
    in_process: bool = False
    _views: dict[str, str] = field(default_factory=dict)
    _held: list[Any] = field(default_factory=list)
    _mark: str = field(default_factory=lambda: f"statveil_{uuid.uuid4().hex}")

    def start(self, frame: Any, view: RecordView | None) -> None:
        with _in_our_words(self.origin):
            self._name("records" if view is None else "source", frame)
            if view is not None:
                cleaned = ", ".join(f"{each} AS {internal_name(index)}" for index, each in enumerate(view.cleaned))
                derived = "".join(f", {each} AS {internal_name(index)}" for index, each in enumerate(view.derived, len(view.cleaned)))
                self.view("records", f"SELECT *{derived} FROM (SELECT {cleaned} FROM source) WHERE {view.kept}")

    def kinds(self) -> tuple[str, ...]:
        """The types of the records' columns, in Spark's words."""
        with _in_our_words(self.origin):
            return tuple(kind for _, kind in self._frame("SELECT * FROM records").dtypes)

    def query(self, sql: str) -> pa.Table:
        with _in_our_words(self.origin):
            return self._frame(sql).toArrow()

    def batches(self, sql: str, *, rows: int) -> Iterator[pa.RecordBatch]:
        """Part after part, each batch packed into one value on the way: this process holds one part at a time."""
        with _in_our_words(self.origin):
            packed = self._frame(sql).mapInArrow(_packing(rows), "batch binary")
            for row in packed.toLocalIterator():
                yield from pa.ipc.open_stream(bytes(row[0]))

    def dealt(self, sql: str, by: str, parts: int) -> Iterator[pa.Table]:
        with _in_our_words(self.origin):
            frame = self._frame(sql).repartition(parts, by).sortWithinPartitions(by)
            part, empty = 0, frame.limit(0).toArrow()
            for number, packed in frame.mapInArrow(_packing_whole(), "part int, packed binary").toLocalIterator():
                yield from repeat(empty, number - part)
                yield pa.ipc.open_stream(bytes(packed)).read_all()
                part = number + 1
            yield from repeat(empty, parts - part)

    def keep(self, name: str, sql: str) -> None:
        with _in_our_words(self.origin):
            frame = self._frame(sql).persist()
            self._held.append(frame)
            self._name(name, frame)

    def view(self, name: str, sql: str) -> None:
        with _in_our_words(self.origin):
            self._name(name, self._frame(sql))

    def largest(self, name: str, by: Sequence[str], value: str, count: int) -> pa.Table:
        groups = ", ".join(by)
        place = f"row_number() OVER (PARTITION BY {groups} ORDER BY {value} DESC) AS place"
        ranked = f"SELECT {groups}, {value} AS largest, {place} FROM {name}"
        return self.query(f"SELECT {groups}, largest FROM ({ranked}) WHERE place <= {count}")

    def write_folder(self, sql: str, order: Sequence[str], names: Sequence[str], folder: Path) -> None:
        """By the executors: records do not come to this process. Where they lie says no more than their digests do."""
        with _in_our_words(self.origin):
            parts = int(self.spark.conf.get("spark.sql.shuffle.partitions"))
            dealt = self._frame(sql).repartition(parts, *order).sortWithinPartitions(*order)
            dealt.drop(*order).toDF(*names).write.parquet(f"file://{folder.resolve()}")
        written = sorted(folder.glob("part-*.parquet"))
        if not written:
            raise EngineFailed(
                f"{self.origin}: Spark wrote no file that this process sees.", hint="Choose a folder that all machines share."
            )
        for place, part in enumerate(written):
            part.rename(folder / f"part-{place:05}.parquet")
        for other in set(folder.iterdir()) - set(folder.glob("part-?????.parquet")):
            other.unlink()

    def lend(self, name: str, table: pa.Table) -> None:
        with _in_our_words(self.origin):
            self._name(name, self.spark.createDataFrame(table))

    def first(self, condition: str) -> int:
        return 0

    def close(self) -> None:
        with _in_our_words(self.origin):
            for frame in self._held:
                frame.unpersist()
            for view in self._views.values():
                self.spark.catalog.dropTempView(view)

    def _name(self, name: str, frame: Any) -> None:
        self._views[name] = f"{self._mark}_{name}"
        frame.createOrReplaceTempView(self._views[name])

    def _frame(self, sql: str) -> Any:
        """The query in Spark's words, with the tables that it names put before it."""
        sql = in_sparks_words(sql)
        if _FLOATING_TEXT in sql:
            self.spark.udf.register(_FLOATING_TEXT, _floating_text(), "string")
        if _ROUNDED in sql:
            self.spark.udf.register(_ROUNDED, _rounded(), "decimal(38, 0)")
        named = [name for name in self._views if re.search(rf"\b{name}\b", sql)]
        tables = ", ".join(f"{name} AS (SELECT * FROM {self._views[name]})" for name in named)
        return self.spark.sql(f"WITH {tables} {sql}" if tables else sql)


def _rounded() -> Callable[[Any, Any], Any]:
    """Spark's own division of whole numbers ends at 64 bits."""

    def rounded(above: Any, below: Any) -> Any:
        from decimal import Decimal

        if above is None or not below:
            return None
        size, rest = divmod(2 * abs(int(above)) + abs(int(below)), 2 * abs(int(below)))
        size -= not rest and size % 2
        return Decimal(-size if (above < 0) != (below < 0) else size)

    return rounded


def _floating_text() -> Callable[[Any, bool], str | None]:
    """A number of floating point in the fewest digits that mean it, also one of 32 bits (`short`).

    A function made here goes to Spark's workers as a whole: they need no statveil.
    """

    def text(number: float | None, short: bool) -> str | None:
        if number is None:
            return None
        if not short:
            return repr(number)
        import ctypes

        shorter = (float(f"{number:.{digits}g}") for digits in range(1, 9))
        return repr(next((each for each in shorter if ctypes.c_float(each).value == number), float(f"{number:.9g}")))

    return text


def _packing(rows: int) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def packed(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as arrow

        for batch in batches:
            for start in range(0, batch.num_rows, rows):
                sink = arrow.BufferOutputStream()
                with arrow.ipc.new_stream(sink, batch.schema) as writer:
                    writer.write_batch(batch.slice(start, rows))
                yield arrow.record_batch({"batch": arrow.array([sink.getvalue().to_pybytes()], arrow.binary())})

    return packed


def _packing_whole() -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Each part that holds a row as one value, beside its number."""

    def packed(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as arrow
        from pyspark import TaskContext

        held = [batch for batch in batches if batch.num_rows]
        if held:
            sink = arrow.BufferOutputStream()
            with arrow.ipc.new_stream(sink, held[0].schema) as writer:
                for batch in held:
                    writer.write_batch(batch)
            task = TaskContext.get()
            number = arrow.array([task.partitionId() if task else 0], arrow.int32())
            yield arrow.record_batch({"part": number, "packed": arrow.array([sink.getvalue().to_pybytes()], arrow.binary())})

    return packed


@contextmanager
def _in_our_words(origin: str) -> Iterator[None]:
    """Spark's own messages quote records and queries: only the kind of trouble may pass. Spark's logs are its own."""
    try:
        yield
    except (InputError, EngineFailed):
        raise
    except Exception as error:
        if not type(error).__module__.startswith(("pyspark", "py4j")):
            raise
        raise EngineFailed(
            f"{origin}: Spark failed ({type(error).__name__}).", hint="Look at Spark's own log; it may quote records, so keep it inside."
        ) from None
