"""Small files to tell facts about."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from statveil.data.microdata import Microdata
from statveil.data.readers import read_microdata
from statveil.records.plan import FilePlan
from statveil.records.recode.recodings import Menu
from statveil.records.suppress.problem import Suppression
from tests.reference.files import Record

S4_RECORDS = [("10", "100"), ("11", "101"), ("19", "100"), ("19", "100"), ("10", "109"), ("10", "109")]
"""Table 1 of S4."""


def s4_menu(tens: str) -> Menu:
    """Table 2 of S4: pairs, then the whole decade."""
    codes = [f"{tens}{digit}" for digit in "0189"]
    pairs = {code: f"{tens}0-{tens}1" if code[-1] in "01" else f"{tens}8-{tens}9" for code in codes}
    return Menu.own({"pairs": pairs, "decade": dict.fromkeys(codes, f"{tens}0-{tens}9")})


def microdata(records: Sequence[Sequence[str | None]], names: Sequence[str] = ("a", "b", "c", "d", "e")) -> Microdata:
    columns = list(zip(*records, strict=True))
    return read_microdata(pa.table({name: pa.array(column, pa.string()) for name, column in zip(names, columns, strict=False)}))


def random_records(seed: int, *, records: int, sizes: Sequence[int], missing: float = 0.0) -> list[Record]:
    rng = np.random.default_rng(seed)
    columns = [np.minimum((size * rng.random(records) ** 2).astype(int), size - 1) for size in sizes]
    gaps = rng.random((len(sizes), records)) < missing
    return [tuple(None if gaps[f, r] else f"v{columns[f][r]}" for f in range(len(sizes))) for r in range(records)]


def halves(size: int) -> Menu:
    """Two levels: values in pairs, then all alike."""
    codes = [f"v{code}" for code in range(size)]
    return Menu.own({"pairs": {code: f"p{int(code[1:]) // 2}" for code in codes}, "all": dict.fromkeys(codes, "*")})


def released(found: Suppression | FilePlan) -> tuple[list[Record], list[Record]]:
    """The recoded file without and with its blanks, record by record in the same order."""
    suppression = found.suppression if isinstance(found, FilePlan) else found
    codes = suppression.problem.written_codes(suppression.key)
    whole: list[Record] = []
    blanked: list[Record] = []
    for row in range(suppression.key.size):
        record = tuple(str(code) if code >= 0 else None for code in codes[:, row])
        mask = int(suppression.mask[row])
        whole += [record] * int(suppression.records[row])
        blanked += [tuple(None if mask >> f & 1 else value for f, value in enumerate(record))] * int(suppression.records[row])
    return whole, blanked
