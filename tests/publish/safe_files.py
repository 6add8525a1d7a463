"""A town of records, its keys, and the same with one column perturbed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import statveil as sv
from tests.records.perturb.stories import KEY
from tests.records.stories import random_records

NAMES = ("region", "job", "sex")


def town(path: Path, *, records: int = 400, seed: int = 1) -> Path:
    rows = random_records(seed, records=records, sizes=(6, 5, 2), missing=0.02)
    columns: dict[str, Any] = {name: pa.array([row[f] for row in rows], pa.string()) for f, name in enumerate(NAMES)}
    columns["income"] = pa.array(np.random.default_rng(seed).integers(100, 999, records))
    columns["id"] = pa.array(np.arange(records))
    pq.write_table(pa.table(columns), path)
    return path


def keys(**settings: Any) -> sv.KeyVariables:
    menu = sv.recode.Menu.own({"half": {f"v{code}": f"h{code // 3}" for code in range(6)}})
    return sv.KeyVariables(**{"fields": {"region": menu, "job": None, "sex": None}, "recoding_weight": 0.05, **settings})


def perturbed(data: sv.Microdata, **how: Any) -> sv.perturb.PerturbedRecords:
    return sv.perturb.perturb_records(data, [sv.perturb.Noise(["income"], level=0.2)], **{"key": KEY, **how})
