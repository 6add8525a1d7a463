"""Files to plan recodings for."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

import statveil as sv
from statveil.records.plan import PLANNING_METHODS
from statveil.records.recode.local_search import SEARCHES
from tests.records.stories import halves, microdata, random_records

RANDOM_FILES = 500 if os.environ.get("STATVEIL_SLOW") else 4


def random_story(seed: int, **settings: Any) -> tuple[sv.Microdata, sv.KeyVariables]:
    rng = np.random.default_rng(seed)
    sizes = tuple(int(size) for size in rng.integers(2, 7, int(rng.integers(2, 5))))
    rows = random_records(seed, records=int(rng.integers(5, 60)), sizes=sizes, missing=float(rng.choice([0.0, 0.1])))
    menus = {name: halves(size) if rng.random() < 0.7 else None for name, size in zip("abcde", sizes, strict=False)}
    options = {"threshold": int(rng.integers(2, 5)), "order": int(rng.integers(1, 4)), "recoding_weight": float(rng.choice([0.05, 0.3]))}
    return microdata(rows), sv.KeyVariables(fields=menus, **{**options, **settings})


WITH_CAPS = [
    (method, objective) for method in PLANNING_METHODS for objective in ("true", "relaxed") if objective == "true" or method in SEARCHES
]
