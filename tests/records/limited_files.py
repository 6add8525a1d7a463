"""Files on which time is short."""

from __future__ import annotations

from typing import Any

import statveil as sv
from tests.records.stories import halves, random_records

ROWS = random_records(7, records=80, sizes=(6, 5, 4, 2))
SIZES = dict(zip("abcd", (6, 5, 4, 2), strict=True))


def keys(**settings: Any) -> sv.KeyVariables:
    return sv.KeyVariables(fields={name: halves(size) for name, size in SIZES.items()}, **{"threshold": 3, "order": 3, **settings})
