"""How long each perturbation takes on 100,000 invented records, and what MDAV loses by working in blocks.

python benchmarks/perturbation.py
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pyarrow as pa

import statveil as sv
from statveil.core.secret import SecretKey
from statveil.records.perturb import microaggregation
from statveil.records.perturb.microaggregation import MdavTuning, by_blocks

RECORDS, BLOCKED = 100_000, 30_000
DICE = np.random.default_rng(1)
P = sv.perturb
STEPS: tuple[Any, ...] = (
    P.Microaggregation(["wage"], k=3),
    P.Microaggregation(["wage", "hours", "tax"], k=3),
    P.Noise(["wage", "tax"], level=0.2),
    P.RankSwapping(["wage"], percent=5),
    P.Pram(["degree"], keep=0.8),
    P.QuantileCoding(["wage"], top=0.99),
)


def workers(size: int) -> pa.Table:
    wage = np.round(DICE.lognormal(8, 1, size), 2)
    tax, hours = np.round(wage * DICE.uniform(0.1, 0.4, size)), DICE.integers(0, 60, size)
    return pa.table({"id": np.arange(size), "wage": wage, "tax": tax, "hours": hours, "degree": DICE.choice(list("abcdef"), size)})


def lost(points: Any, group: Any) -> float:
    """Share of the sum of squares that is within groups."""
    size = np.bincount(group)
    means = np.stack([np.bincount(group, weights=column) / size for column in points.T], axis=1)
    return float(((points - means[group]) ** 2).sum() / ((points - points.mean(axis=0)) ** 2).sum())


def main() -> None:
    data, key = sv.read_microdata(workers(RECORDS)), SecretKey(b"k" * 32)
    for step in STEPS:
        for compiled in (False, True):
            start = time.perf_counter()
            perturbed = P.perturb_records(data, [step], key=key)
            made = time.perf_counter() - start
            figures = perturbed.figures[0]
            if compiled:
                told = {name: round(value, 4) for name, value in figures.as_json().items() if isinstance(value, float)}
                looked = time.perf_counter() - start - made
                print(f"{', '.join(step.columns):<18} {step.words:<28} {made:5.1f} s, figures {looked:4.1f} s  {told}")
    records = workers(BLOCKED)
    points = np.stack([records[name].to_numpy().astype(float) for name in ("wage", "tax", "hours")], axis=1)
    points = (points - points.mean(axis=0)) / points.std(axis=0)
    for block in (2_000, 5_000, 10_000, 20_000, BLOCKED):
        microaggregation.TUNING = MdavTuning(block=block)
        start = time.perf_counter()
        share = lost(points, by_blocks(points, 3))
        print(f"MDAV, {BLOCKED:,} records in blocks of {block:,}: {time.perf_counter() - start:.1f} s, {share:.4%} of the variance lost")


if __name__ == "__main__":
    main()
