"""Files with caps and households."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

import statveil as sv
from statveil.data.microdata import Microdata
from statveil.data.readers import read_microdata
from tests.records.stories import random_records
from tests.reference.files import Record

COSTS = {"a": 1.0, "b": 1.5}


def small_file(seed: int, *, records: int = 5, missing: float = 0.0) -> tuple[list[Record], list[float], list[str]]:
    """Keys of two fields, with what a record's blanks cost and the home it lives in."""
    rng = np.random.default_rng(seed + 1000)
    rows = random_records(seed, records=records, sizes=(2, 2), missing=missing)
    return rows, [float(each) for each in rng.choice([1, 2, 9], records)], [f"h{each}" for each in rng.integers(0, 3, records)]


def as_data(rows: list[Record], cost: list[float], homes: list[str]) -> Microdata:
    first, second = zip(*rows, strict=True)
    columns = {"a": pa.array(first, pa.string()), "b": pa.array(second, pa.string()), "cost": pa.array(cost), "home": pa.array(homes)}
    return read_microdata(pa.table({**columns, "income": pa.array(range(len(rows)))}))


def wanted(**settings: Any) -> sv.KeyVariables:
    return sv.KeyVariables(fields={"a": None, "b": None}, threshold=2, order=2, costs=COSTS, **settings)


ONE_AWAY = (["xp", "xq", "xp", "yp", "yq", "xp"], None, {"a": 1})
AT_HOME = (["xp", "yq", "xp", "yp", "xp", "xq"], ["2", "1", "3", "1", "3", "3"], {"b": 1})
"""Files that rounds of added blanks leave no room for under their caps, though they can be made safe."""
