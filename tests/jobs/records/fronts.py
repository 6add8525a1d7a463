"""Files with a front."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.csv


def people() -> pa.Table:
    """Lone ages: all five blank, one with classes of ten, none in one class, which tells as little as blanks everywhere."""
    return pa.table({"age": [30, 31, 40, 50, 51], "pay": [1, 2, 3, 4, 5]})
