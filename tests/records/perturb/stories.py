"""Small files of which every perturbed value can be worked out by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

import statveil as sv
from statveil.core.secret import SecretKey

KEY, OTHER = SecretKey(b"k" * 32), SecretKey(b"o" * 32)


def records(columns: Mapping[str, Sequence[Any]]) -> sv.Microdata:
    return sv.read_microdata(pa.table(dict(columns)))


def shown(data: sv.Microdata, *steps: Any, key: SecretKey = KEY) -> dict[str, list[Any]]:
    """The perturbed columns in the order of `id`."""
    perturbed = sv.perturb.perturb_records(data, steps, key=key)
    order = np.argsort(perturbed.after["id"].to_numpy())
    return {name: perturbed.after[name].take(pa.array(order)).to_pylist() for name in perturbed.columns}


def workers(size: int = 400, seed: int = 0) -> dict[str, Sequence[Any]]:
    dice = np.random.default_rng(seed)
    wage = np.round(dice.lognormal(7, 1, size), 2)
    return {
        "id": list(range(size)),
        "wage": wage.tolist(),
        "tax": np.round(wage * dice.uniform(0.1, 0.4, size)).astype(int).tolist(),
        "degree": dice.choice(["none", "some", "most", "all"], size, p=[0.5, 0.3, 0.15, 0.05]).tolist(),
    }
