"""Villages with an illness that a file must not give away."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

import statveil as sv


def ward(**columns: list[Any]) -> sv.Microdata:
    return sv.read_microdata(pa.table(columns))


def village(seed: int, records: int = 300) -> sv.Microdata:
    rng = np.random.default_rng(seed)
    columns: dict[str, Any] = {name: [f"{name}{value}" for value in (rng.random(records) ** 2 * size).astype(int)] for name, size in
                               (("a", 4), ("b", 3), ("c", 5))}  # fmt: skip
    columns["ill"] = rng.choice(["flu", "cold", "gout", ""], records, p=[0.5, 0.3, 0.15, 0.05]).tolist()
    columns["wage"] = [str(value) for value in rng.integers(1, 9, records) * 100]
    columns["w"] = [f"{value:.2f}" for value in 1 + 20 * rng.random(records)]
    columns["home"] = [str(value) for value in rng.integers(0, records // 3, records)]
    return ward(**columns)
