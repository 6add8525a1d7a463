"""What the engine must reach, and when: tables, limits and marks, each run as a user runs them.

`python benchmarks/must_hold.py FOLDER [--only hier13] [--seeds 3] [--seconds S] [--out DIR]`: FOLDER holds CSPLIB's files, other tables
are generated. Each is protected by the command line; the audit of the files written, and the proof of the bound, are worked out again
from the files by `check`. Prints lines of Markdown, medians over seeds. With a folder for results summaries are kept in it, and a stopped
run goes on from them.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np

from statveil.formats.system import read_system, write_system
from statveil.protect.system import system_of
from statveil_lab.generators.random_tables import random_problem

CSPLIB = (
    *("cbs", "cox3", "cox_kelly_4x9", "hier13", "hier13x13x13d", "hier13x13x7d", "hier13x7x7d", "hier16", "ninenew"),
    *("table1", "table7", "table8", "targus", "toy3dsarah"),
)
CAPPED = "capped"
"""A finite bound on every cell: the largest value there is, so that the grand total may not rise."""

HEADS = (
    *("table", "cells", "limit, s", "seeds", "gap, %", "cost", "certified bound", "first table, s", "wall, s"),
    *("gaps", "CPU, s", "load", "missed"),
)


class Marks(NamedTuple):
    """What is wanted: the certified gap in percent, the cost, the bound, seconds to the first table, and of the whole command."""

    gap: float | None = None
    table: float | None = None
    bound: float | None = None
    first: float | None = None
    wall: float | None = None


class Row(NamedTuple):
    """A name, a file of CSPLIB's or the words that generate the table, weights, seconds, and the marks."""

    name: str
    words: tuple[str, ...]
    weights: str
    seconds: float
    marks: Marks
    options: tuple[str, ...] = ()


def _tree(table: str, values: str, where: str, weights: str, limit: tuple[float, Marks], *capped: str) -> Row:
    name = " ".join((table, values, where, weights, *capped))
    return Row(name, ("1h2d", "--shape", table, "--values", values, "--where", where), weights, *limit)


def rows() -> list[Row]:
    """The whole table of marks, the quick ones first."""
    return [
        *(Row(f"at once {name}", (name,), "unit", 2, Marks(wall=3.5)) for name in CSPLIB),
        Row("25x25", ("random", "25"), "unit", 4, Marks(gap=2, wall=5), ("--variant", "exact")),
        Row("hier13x7x7d", ("hier13x7x7d",), "unit", 10, Marks(gap=0, table=8308)),
        Row("hier13x13x7d", ("hier13x13x7d",), "unit", 45, Marks(gap=0, table=19942)),
        Row("hier13x13x13d", ("hier13x13x13d",), "unit", 60, Marks(gap=0, table=88773)),
        Row("hier13 in a minute", ("hier13",), "unit", 60, Marks(gap=1)),
        Row("hier13", ("hier13",), "unit", 120, Marks(gap=0, table=44386)),
        Row("hier16", ("hier16",), "unit", 60, Marks(gap=16.5, table=72000, bound=62000)),
        Row("ninenew", ("ninenew",), "unit", 60, Marks(gap=24, table=146000)),
        *(_tree("table16", "uniform", "any", "unit", (60, Marks(gap=3.5)), *more) for more in ((), (CAPPED,))),
        *(_tree("table16", "uniform", "any", "inverse", (60, Marks(gap=1)), *more) for more in ((), (CAPPED,))),
        _tree("table26", "uniform", "any", "unit", (90, Marks(gap=5))),
        _tree("table36", "uniform", "any", "unit", (180, Marks(gap=8))),
        *(
            _tree("table36", values, "leaf", "unit", (60, Marks(gap=0.15, first=5)), *more)
            for values in ("uniform", "lognormal")
            for more in ((), (CAPPED,))
        ),
        Row("office", ("office",), "file", 60, Marks(gap=1.5)),
        *_earlier(),
    ]


def _earlier() -> list[Row]:
    """Marks of smaller tables with one hierarchy, and of shorter limits."""
    return [
        _tree("table14", "uniform", "leaf", "unit", (5, Marks(gap=0.7))),
        _tree("table14", "lognormal", "leaf", "unit", (10, Marks(gap=0.8))),
        _tree("table14", "uniform", "any", "unit", (30, Marks(gap=7))),
        _tree("table14", "uniform", "any", "inverse", (30, Marks(gap=4))),
        _tree("table16", "uniform", "leaf", "unit", (5, Marks(gap=0.1))),
        _tree("table16", "lognormal", "leaf", "unit", (30, Marks(gap=0.3))),
        _tree("table26", "uniform", "leaf", "unit", (10, Marks(gap=0.1))),
        _tree("table26", "lognormal", "leaf", "unit", (30, Marks(gap=0.15))),
        _tree("table26", "uniform", "any", "inverse", (90, Marks(gap=3.5))),
        _tree("table36", "uniform", "leaf", "inverse", (90, Marks(gap=0.15))),
        _tree("table36", "uniform", "any", "inverse", (180, Marks())),
    ]


def statveil(*words: str) -> str:
    """One command of statveil; what it says. The benchmark ends here if it fails."""
    command = [sys.executable, "-c", "from statveil.cli import main; main()", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"statveil {' '.join(words)}: ended with code {done.returncode}.\n{done.stderr[-500:]}")
    return done.stdout


def table_of(row: Row, seed: int, csplib: Path, scratch: Path) -> Path:
    """The file of the table: one of CSPLIB's, or generated now."""
    if row.words[0] in CSPLIB:
        return csplib / f"{row.words[0]}.jj"
    made = scratch / f"{row.name.replace(' ', '-')}-{seed}.npz"
    if made.exists():
        return made
    if row.words[0] == "random":
        write_system(system_of(random_problem((int(row.words[1]),) * 2, seed=seed)), made)
        return made
    statveil("lab", "generate", *row.words, "--seed", str(seed), "--out", str(made))
    if row.name.endswith(CAPPED):
        system = read_system(made)
        write_system(dataclasses.replace(system, upper=np.full_like(system.upper, system.value.max())), made)
    return made


def run_of(row: Row, seed: int, seconds: float, table: Path, scratch: Path) -> dict[str, Any]:
    """One run of the command: its summary, its seconds by the clock and of all processors, and the load of the machine before it."""
    places = [scratch / f"{table.stem}-{os.getpid()}{ending}" for ending in (".json", ".sol", ".proof.gz")]
    summary, solution, proof = map(str, places)
    asked = ("--weights", row.weights, *row.options)
    out = ("--out", solution, "--summary", summary, "--certificate", proof)
    load, before, began = os.getloadavg()[0], _cpu_seconds(), time.monotonic()
    statveil("protect", str(table), *asked, "--seconds", f"{seconds:g}", "--seed", str(seed), *out)
    wall, used = time.monotonic() - began, _cpu_seconds() - before
    found: dict[str, Any] = json.loads(places[0].read_text(encoding="utf-8"))
    if places[2].exists():
        statveil("check", str(table), solution, "--certificate", proof, "--no-attacks", *asked)
    for place in places:
        place.unlink(missing_ok=True)
    return {**found, "wall": wall, "cpu": used, "load": load}


def _cpu_seconds() -> float:
    """Of all commands so far and their children, but for those that they left behind at their end."""
    used = os.times()
    return used.children_user + used.children_system


def figures(run: dict[str, Any]) -> dict[str, float]:
    """What marks are set for, in their units; a gap without a bound is endless."""
    bound = run["certified_bound"]
    first = next((second for second, objective, _ in run["trace"] if objective is not None), 0.0)
    gap = 100 * (run["objective"] / bound - 1) if bound else float("inf")
    return {"gap": gap, "table": run["objective"], "bound": bound, "first": first, "wall": run["wall"]}


def line_of(row: Row, seconds: float, runs: list[dict[str, Any]]) -> str:
    """Medians beside marks: figure, and in brackets what is wanted."""
    all_of = [figures(run) for run in runs]
    middle = {key: median(each[key] for each in all_of) for key in all_of[0]}
    cells = [f"{row.name}", f"{runs[0]['cells']:,}", f"{seconds:g}", f"{len(runs)}"]
    missed = []
    for key, wanted in row.marks._asdict().items():
        cells.append(f"{middle[key]:,.7g}" + ("" if wanted is None else f" ({wanted:,g})"))
        fits = wanted is None or (middle[key] >= wanted if key == "bound" else middle[key] <= wanted * (1 + 1e-9) + 1e-7)
        missed += [] if fits else [key]
    spread = ", ".join(f"{each['gap']:.3g}" for each in all_of)
    return (
        "| "
        + " | ".join(
            [
                *cells,
                spread,
                f"{median(run['cpu'] for run in runs):.0f}",
                f"{median(run['load'] for run in runs):.1f}",
                ", ".join(missed) or "-",
            ]
        )
        + " |"
    )


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("csplib", type=Path)
    words.add_argument("--seeds", type=int, default=3)
    words.add_argument("--first-seed", type=int, default=1)
    words.add_argument("--only", action="append", help="Rows whose name begins with this word or these.")
    words.add_argument("--seconds", type=float, help="Another limit for all.")
    words.add_argument("--out", type=Path)
    options = words.parse_args()
    print(f"| {' | '.join(HEADS)} |")
    print("|" + "---|" * len(HEADS))
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.out or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        for row in rows():
            if not options.only or any(f"{row.name} ".startswith(f"{only} ") for only in options.only):
                print(line_of(row, options.seconds or row.seconds, _runs(row, options, folder)), flush=True)


def _runs(row: Row, options: argparse.Namespace, folder: Path) -> list[dict[str, Any]]:
    seconds, found = options.seconds or row.seconds, []
    for seed in range(options.first_seed, options.first_seed + options.seeds):
        kept = folder / f"{row.name.replace(' ', '-')}-{seconds:g}-{seed}.json"
        if not kept.exists():
            kept.write_text(json.dumps(run_of(row, seed, seconds, table_of(row, seed, options.csplib, folder), folder)), encoding="utf-8")
        found.append(json.loads(kept.read_text(encoding="utf-8")))
    return found


if __name__ == "__main__":
    main()
