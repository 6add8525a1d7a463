"""What hiding costs and what attacks then learn: the demo and ten invented business tables, with levels drawn and as the rules say.

    python benchmarks/safety.py [--seconds 20] [--seed 0] [--tables 10] [--only 0 3 4] [--json FILE]

Table 0 is the demo. Tables differ in size, tails, zeros, holdings, weights and decimals; `--seed` makes ten others.
Each is protected twice within the same limit.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow.csv import write_csv

from statveil.jobs.demo.demo import write_inputs
from statveil.jobs.folders.tables import protect_to_folder
from statveil.jobs.table_job import read_job


@dataclass(frozen=True)
class Shape:
    """An invented business register and how its table is made."""

    records: int
    regions: int
    trades: int
    sizes: int
    tail: float
    zeros: float
    holdings: bool
    weights: bool
    decimals: int


def shapes(rng: np.random.Generator, count: int) -> list[Shape]:
    return [
        Shape(
            records=int(rng.integers(1_500, 12_000)),
            regions=int(rng.integers(3, 7)),
            trades=int(rng.integers(4, 12)),
            sizes=int(rng.integers(1, 5)),
            tail=float(rng.uniform(1.2, 2.8)),
            zeros=float(rng.uniform(0, 0.1)),
            holdings=bool(number % 2),
            weights=number % 5 == 4,
            decimals=int(rng.integers(0, 3)),
        )
        for number in range(count)
    ]


def write_business(place: Path, shape: Shape, rng: np.random.Generator, *, seconds: float) -> None:
    """Records and a job: codes of two digits, whose first is their group; some codes are rare."""
    count = shape.records
    region = _codes(rng, count, shape.regions, "R")
    trade = _codes(rng, count, shape.trades, "T")
    columns: dict[str, Any] = {"region": region, "trade": trade}
    if shape.sizes > 1:
        columns["size"] = [f"s{each}" for each in rng.choice(shape.sizes, count, p=_falling(shape.sizes))]
    columns["turnover"] = np.round(rng.lognormal(8, shape.tail, count) * (rng.random(count) >= shape.zeros), shape.decimals)
    columns["holding"] = [f"h{each}" for each in rng.integers(0, count if not shape.holdings else int(count * 0.8), count)]
    columns["weight"] = rng.integers(1, 4, count)
    write_csv(pa.table(columns), place / "firms.csv")
    (place / "job.toml").write_text(_job(shape, seconds), encoding="utf-8")


def _codes(rng: np.random.Generator, count: int, groups: int, letter: str) -> list[str]:
    first, second = rng.choice(groups, count, p=_falling(groups)), rng.choice(5, count, p=_falling(5))
    return [f"{letter}{chr(97 + a)}{b}" for a, b in zip(first, second, strict=True)]


def _falling(count: int) -> np.ndarray[Any, Any]:
    weights = 1.0 / np.arange(1, count + 1)
    return weights / weights.sum()


def _job(shape: Shape, seconds: float) -> str:
    dimensions = ["region = { digits = [2, 1] }", "trade = { digits = [2, 1] }", *(["size = {}"] if shape.sizes > 1 else [])]
    options = [*(['holding = "holding"'] if shape.holdings else []), *(['weight = "weight"'] if shape.weights else [])]
    return "\n".join(
        [
            '[data]\nfile = "firms.csv"\n[table]\nname = "turnover"\nmeasure = "turnover"',
            f"decimals = {shape.decimals}",
            *options,
            "[table.dimensions]",
            *dimensions,
            '[[rule]]\ntype = "p-percent"\np = 10\n[[rule]]\ntype = "minimum-frequency"\nn = 3',
            f"[limits]\nseconds = {seconds}\ngap = 0.02\n",
        ]
    )


def measured(job: Path, out: Path, *, floors: str) -> dict[str, Any]:
    """Protect, then attack what was written."""
    text, told = job.read_text(encoding="utf-8"), f'[protection]\nfloors = "{floors}"\nattacks = "report"\n'
    text = text.replace("[protection]\n", told) if "[protection]" in text else text.replace("[limits]", f"{told}[limits]")
    path = job.with_name(f"{floors}.toml")
    path.write_text(text, encoding="utf-8")
    outcome = protect_to_folder(read_job(path), out)
    found = outcome.release.adjustment
    return {
        "cells": int(outcome.release.protected.value.size),
        "sensitive": int(outcome.release.sensitivity.sensitive.sum()),
        "objective": found.objective,
        "gap": found.gap,
        "attacks": {each.threat.id: (str(each.status), each.number) for each in outcome.attacks.verdicts},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--tables", type=int, default=10)
    parser.add_argument("--only", type=int, nargs="+", help="these of them")
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    rows = []
    for number in asked.only or range(asked.tables + 1):
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder)
            rng = np.random.default_rng([asked.seed, number])
            if number == 0:
                write_inputs(place, records=40_000)
                text = (place / "job.toml").read_text(encoding="utf-8").replace("seconds = 120", f"seconds = {asked.seconds}")
                (place / "job.toml").write_text(text.replace("gap = 0.045", "gap = 0.02").replace("internal = true", ""), encoding="utf-8")
            else:
                write_business(place, shapes(np.random.default_rng(asked.seed), asked.tables)[number - 1], rng, seconds=asked.seconds)
            row = {floors: measured(place / "job.toml", place / floors / "release", floors=floors) for floors in ("exact", "drawn")}
        rows.append(row)
        _show("demo" if number == 0 else f"table {number}", row)
    if asked.json:
        asked.json.write_text(json.dumps(rows, indent=1), encoding="utf-8")


def _show(name: str, row: dict[str, Any]) -> None:
    exact, drawn = row["exact"], row["drawn"]
    price = drawn["objective"] / exact["objective"] - 1 if exact["objective"] else 0.0
    cells = f"{drawn['cells']:,} cells, {drawn['sensitive']:,} sensitive"
    print(f"{name}: {cells}; gap {exact['gap']:.2%} -> {drawn['gap']:.2%}; price {price:.1%}")
    for threat, (passed, number) in drawn["attacks"].items():
        print(f"    {threat} {passed}: {number}   [exact: {exact['attacks'][threat][1]}]", flush=True)


if __name__ == "__main__":
    main()
