"""Compiled loops, made ready before the clock of the first run starts.

The first use after an installation compiles them, which takes longer than a short time limit allows. What numba keeps on disk serves
every later process; a mark beside it tells that it is there for these very sources.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal

import numba

from statveil.errors import OutOfTime
from statveil.protect.independent import independent_relations
from statveil.protect.methods import Task, Team, run_method
from statveil.protect.network import simplex
from statveil.protect.network.detect import detect
from statveil.protect.options import Limits
from statveil.protect.problem import ProtectionProblem
from statveil.protect.reduce import reduce_problem
from statveil.protect.system import SystemWeights, problem_of
from statveil.solve.isolate import Halt, run_isolated

Part = Literal["search", "network"]
LONGEST = 600.0
"""Seconds after which compiling is given up; what is missing is then compiled on the way."""


def make_ready(part: Part, tell: Callable[[str], None]) -> None:
    """Compile this part once after an installation. Without a place to keep the result that would help nobody, and is left."""
    mark = _mark(part)
    if mark is None or mark.exists():
        return
    tell("compiling, once after an installation")
    if run_isolated([(COMPILE[part], ())], seconds=LONGEST, on_message=lambda _: None) is Halt.INTERRUPTED:
        raise OutOfTime("Stopped before any safe table was found.", hint="Nothing was released.")
    with contextlib.suppress(OSError):
        for old in mark.parent.glob(f"ready-{part}-*"):
            old.unlink(missing_ok=True)
        mark.touch()


def _mark(part: Part) -> Path | None:
    """The file that tells that these sources are compiled; none where numba has no folder to keep its results in."""
    kept = simplex.solve_all.stats.cache_path
    if kept is None or not os.access(kept, os.W_OK):
        return None
    sources = sorted(Path(__file__).parent.rglob("*.py"))
    words = [sys.version, numba.__version__, *(f"{path.name} {path.stat().st_size} {path.stat().st_mtime_ns}" for path in sources)]
    return Path(kept) / f"ready-{part}-{hashlib.sha256(chr(10).join(words).encode()).hexdigest()[:16]}"


def compile_network(send: Callable[[object], None]) -> None:
    """Run what networks need on a small table with a hierarchy and sensitive totals, with equal and with unequal weights."""
    _run(_example("unit"), Team("network", {}))
    _run(_example("inverse"), Team("network", {}))


def compile_search(send: Callable[[object], None]) -> None:
    """Run what every table needs, role by role; to see that one is a network, or none, is part of it."""
    detect(_example("unit"))
    independent_relations(_example("unit"))
    for role in ("proof", "search", "blocks"):
        _run(_example("unit"), Team("auto", {"role": role}))
    _run(_three_way(), Team("walk", {"rounds": 1}))
    _run(_three_way(), Team("messages", {"tries": 1}))


def _example(weights: SystemWeights) -> ProtectionProblem:
    from statveil.examples.one_hierarchy import Filling, Shape, one_hierarchy_system

    shape = Shape(rows=24, columns=5, inner=4, depth=2, sensitive=24)
    return problem_of(one_hierarchy_system(shape, seed=0, filling=Filling(where="any")), weights=weights)


def _three_way() -> ProtectionProblem:
    from statveil.examples.random_tables import random_problem

    return dataclasses.replace(random_problem((4, 4, 4), seed=0), variant="at-least")


def _run(problem: ProtectionProblem, team: Team) -> None:
    run_method(reduce_problem(problem).problem, team, Task(None, Limits(seconds=LONGEST), 0), lambda _: None)


COMPILE: Mapping[Part, Callable[..., None]] = {"search": compile_search, "network": compile_network}
