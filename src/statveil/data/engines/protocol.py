"""What a query needs of an engine: the names of the columns, and a session with eight verbs.

Queries are written once, in SQL that all engines read alike. Where they have no common word, a query uses one of `WORDS`, which each engine
defines for itself. Queries call the records `records` and its columns by `column(engine, name)`: a user's words never enter a query.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import pyarrow as pa

WORDS = {
    "trimmed": "a text without the spaces of Unicode around it",
    "whole_match": "whether a text from its first to its last sign meets a regular expression",
    "digest": "the MD5 of a text, in a type of the engine's own",
    "digest_low": "its first eight bytes as a whole number of zero or more, the first byte the lowest",
    "digest_high": "the same of its last eight bytes",
    "hex_number": "at most 15 hexadecimal digits as a whole number",
    "byte_length": "the length of a text in UTF-8",
    "double_text": "a number of floating point as text, in the fewest digits that mean it",
    "hex_text": "the text whose UTF-8 these hexadecimal digits are",
    "lowered": "a text in lower case, letter by letter",
    "uppered": "the same in upper case",
    "whole": "a whole number in a type that holds all up to 2**126",
    "rounded": "one whole number divided by another, to the nearest whole number, a half to the even one; missing where it divides by zero",
    "decimal_text": "units of a tenth, a hundredth, ... (so many decimals, one at least) as text with this decimal mark",
}
"""Functions that an engine must define, with what they are."""


class Session(Protocol):
    """One connection: what is kept or lent in it goes when it closes."""

    @property
    def in_process(self) -> bool:
        """Whether records are read by this process: then it pays to number texts before grouping by them, and to let records go by."""

    @property
    def origin(self) -> str:
        """What messages call the records."""

    def query(self, sql: str) -> pa.Table:
        """The answer as an Arrow table."""

    def batches(self, sql: str, *, rows: int) -> Iterator[pa.RecordBatch]:
        """The answer in pieces, for answers that are too large to hold."""

    def keep(self, name: str, sql: str) -> None:
        """Store the answer under a name that later queries may use."""

    def view(self, name: str, sql: str) -> None:
        """The same without storing it: worked out anew wherever it is used."""

    def largest(self, name: str, by: Sequence[str], value: str, count: int) -> pa.Table:
        """The `count` largest values (`largest`) of each group of a kept table, with its columns `by`; fewer where there are fewer."""

    def dealt(self, sql: str, by: str, parts: int) -> Iterator[pa.Table]:
        """The answer in so many parts, each in the order of `by`; rows that agree there come together, and equal values of two answers
        in parts of the same place. `by` is a whole number of zero or more where texts are numbered."""

    def write_folder(self, sql: str, order: Sequence[str], names: Sequence[str], folder: Path) -> None:
        """Have the engine write the answer as Parquet files of a new folder, in the order of these columns, which are left out; the
        others get these names."""

    def lend(self, name: str, table: pa.Table) -> None:
        """Give a table of ours to later queries."""

    def first(self, condition: str) -> int:
        """The number of the first record that meets the condition (some record must), counted from 1; 0 where records have no order."""


class RecordView(NamedTuple):
    """What queries see instead of the records as they came: missing words blanked, columns added, records left out.

    cleaned: each column that came, in the engine's words. derived: the columns added to them. kept: the condition on both.
    """

    cleaned: tuple[str, ...]
    derived: tuple[str, ...] = ()
    kept: str = "true"


class Engine(Protocol):
    @property
    def columns(self) -> tuple[str, ...]: ...

    def session(self) -> AbstractContextManager[Session]:
        """A session whose table `records` holds the records."""

    def text(self, name: str) -> str:
        """The column as text, written alike by every engine: codes, numbers and digests are made from it."""

    def holds_decimals(self, name: str) -> str:
        """A condition: whether the column's type is one of numbers with decimals, so that 9 and 9.0 are the same."""

    def holds_whole_numbers(self, name: str) -> str:
        """A condition: whether the column's type is one of whole numbers, so that no text need be looked at."""

    def place(self, record: int) -> str:
        """Where a user finds the record of that number: its line or its row."""

    def viewed(self, columns: tuple[str, ...], view: RecordView) -> Engine:
        """The same records seen through a view; `columns` names what it shows."""


def column(engine: Engine, name: str) -> str:
    """How a query calls the column of that name."""
    return internal_name(engine.columns.index(name))


def internal_name(index: int) -> str:
    return f"c{index}"


def scalar_row(table: pa.Table) -> Mapping[str, Any]:
    """The only row of an answer."""
    return {name: table[name][0].as_py() for name in table.column_names}
