"""Compiled loops, made ready at installation (`make_all_ready`, which the Makefile calls), or else by the first run that needs them.

Compiling takes longer than a short time limit allows. A run that has a plain table compiles within its limit, and answers with that table
if the limit ends first; what numba kept on disk by then serves the next run. A mark beside it tells that all is there for these very
sources.
"""

from __future__ import annotations

import contextlib
import hashlib
import math
import os
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from pathlib import Path
from typing import Literal, NamedTuple

import numba
import numpy as np
from scipy.sparse import csr_matrix

from statveil.core.arrays import FloatArray, IntArray
from statveil.core.errors import OutOfTime
from statveil.core.limits import Limits
from statveil.protect.options import NO_LIMIT
from statveil.protect.presolve.reduce import tighten_bounds
from statveil.protect.problem import ProtectionProblem
from statveil.solve.processes import Halt, run_isolated

KernelSet = Literal["search", "network", "keep"]
PACKAGE = Path(__file__).parents[1]
LONGEST = 600.0
"""Seconds after which compiling is given up; what is missing is then compiled on the way."""


def make_ready(part: KernelSet, tell: Callable[[str], None], *, seconds: float = LONGEST) -> Halt:
    """Compile this part once after an installation; finished where it is ready.

    Without a place to keep the result compiling would help nobody, and is left to whoever needs a loop.
    """
    mark = _mark(part)
    if mark is None or mark.exists():
        return Halt.FINISHED
    tell("compiling, once after an installation")
    _forget_other_sources(mark)
    halt = run_isolated([(COMPILE[part], ())], seconds=seconds, on_message=lambda _: None)
    if halt is Halt.FINISHED:
        with contextlib.suppress(OSError):
            for old in mark.parent.glob(f"ready-{part}-*"):
                old.unlink(missing_ok=True)
            mark.touch()
    return halt


def make_ready_first(parts: Sequence[KernelSet], tell: Callable[[str], None]) -> None:
    """Compile what a run without a plain table cannot do without, before its clock starts; stopped there, it has no answer."""
    for part in parts:
        if make_ready(part, tell) is Halt.INTERRUPTED:
            raise OutOfTime("Stopped before any safe table was found.", hint="Nothing was released.")


def _forget_other_sources(mark: Path) -> None:
    """numba reads what it kept for other sources before it sees that they are others, and fails where a type has another name now."""
    digest = mark.name.rpartition("-")[2]
    if any(mark.parent.glob(f"ready-*-{digest}")):
        return  # another part of these sources is compiled already
    with contextlib.suppress(OSError):
        for old in PACKAGE.rglob("__pycache__/*.nb[ic]"):
            old.unlink(missing_ok=True)


def _mark(part: KernelSet) -> Path | None:
    """The file that tells that these sources are compiled; none where numba has no folder to keep its results in."""
    kept = tighten_bounds.stats.cache_path
    if kept is None or not os.access(kept, os.W_OK):
        return None
    sources = sorted(Path(__file__).parent.rglob("*.py"))
    words = [sys.version, numba.__version__, *(f"{path.name} {path.stat().st_size} {path.stat().st_mtime_ns}" for path in sources)]
    return Path(kept) / f"ready-{part}-{hashlib.sha256(chr(10).join(words).encode()).hexdigest()[:16]}"


def compile_network(send: Callable[[object], None]) -> None:
    """Run what networks need on a small table with a hierarchy and sensitive totals, with equal and with unequal weights."""
    _run(_example("unit"), "network")
    _run(_example("inverse"), "network")


def compile_search(send: Callable[[object], None]) -> None:
    """Run what every table needs, role by role; to see that one is a network, or none, is part of it."""
    from statveil.protect.bounds.copy_model import CopyModel
    from statveil.protect.bounds.cuts import bound_by_cuts
    from statveil.protect.bounds.lifted import LiftedRoot, bound_by_copies
    from statveil.protect.bounds.sign_tree import prove_by_signs
    from statveil.protect.network.detect import detect
    from statveil.protect.presolve.redundancy import independent_relations
    from statveil.protect.search_state import Search

    _begin(_apart())
    detect(_example("unit"))
    independent_relations(_example("unit"))
    for role in ("proof", "search", "blocks"):
        _run(_example("unit"), "auto", role=role)
    _run(_three_way(), "walk", rounds=1)
    _run(_three_way(), "messages", tries=1)
    search = Search(_three_way(), Limits(seconds=LONGEST), 0, lambda _: None)
    bound_by_cuts(search)
    model = CopyModel.of(search.problem, search.cuts)
    bound_by_copies(search)
    if model is not None:
        node = model.root()
        root = LiftedRoot(model, node, model.worth(node, node.relations, node.cuts, node.triangles))
        prove_by_signs(Search(_three_way(), Limits(seconds=1), 0, lambda _: None), root)


def _begin(problem: ProtectionProblem) -> None:
    """What a run does beside its search, in the user's own process: write and read a system, presolve it, solve what stands alone."""
    from statveil.protect.presolve.components import components_of
    from statveil.protect.presolve.reduce import reduce_problem
    from statveil.protect.system import read_jj, write_jj

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "example.jj"
        write_jj(problem, path)
        components_of(reduce_problem(read_jj(path)).problem)


def compile_keep(send: Callable[[object], None]) -> None:
    """Run the tabu search that keeps statistics, on a table with a mean and on one without."""
    from statveil.protect.keep.tabu.objective import Objective
    from statveil.protect.keep.tabu.search import TabuSearch
    from statveil.protect.keep.wishes import Keep, targets_of

    problem = _example("unit")
    for keep in (Keep(mean="sensitive", slope="sensitive"), Keep(variance="all")):
        plain = np.zeros(problem.size, dtype=np.int64)
        TabuSearch(Objective(problem, targets_of(keep, problem), keep, cost=1.0), plain).run(100)


def _example(weights: Literal["unit", "inverse"]) -> ProtectionProblem:
    """Four groups of five rows by five columns, each with its total: every fifth cell is sensitive, totals too."""
    groups = np.repeat(np.arange(4), 5)
    tree = np.vstack([np.eye(20), groups == np.arange(4)[:, None], np.ones(20)])
    parts = np.vstack([np.hstack([tree[20:24], -np.eye(4), np.zeros((4, 1))]), [*np.zeros(20), *np.ones(4), -1]])
    return _sensitive(_additive([_ExampleDimension(tree, parts), _flat(5)]), every=5, weights=weights)


def _apart() -> ProtectionProblem:
    """Two sums that share no cell, and two cells that are the same."""
    value = np.array([10, 20, 30, 60, 5, 7, 12, 40, 40], dtype=np.int64)
    relations = np.zeros((3, value.size), dtype=np.int64)
    relations[0, :4], relations[1, 4:7], relations[2, 7:] = (1, 1, 1, -1), (1, 1, -1), (1, -1)
    return _sensitive((value, csr_matrix(relations)), every=4, weights="unit")


def _three_way() -> ProtectionProblem:
    return _sensitive(_additive([_flat(4)] * 3), every=4, weights="unit")


class _ExampleDimension(NamedTuple):
    """codes x leaves: which leaves a code adds up; relations x codes: parts less total."""

    codes: FloatArray
    relations: FloatArray


def _flat(size: int) -> _ExampleDimension:
    return _ExampleDimension(np.vstack([np.eye(size), np.ones(size)]), np.array([[*np.ones(size), -1.0]]))


def _additive(dimensions: Sequence[_ExampleDimension]) -> tuple[IntArray, csr_matrix]:
    """Values of all cells of a table made of these dimensions, and its relations: one Kronecker product a dimension."""
    leaves = np.random.default_rng(0).integers(5, 1000, math.prod(codes.shape[1] for codes, _ in dimensions))
    value = _product([codes for codes, _ in dimensions]) @ leaves
    others = [np.eye(codes.shape[0]) for codes, _ in dimensions]
    relations = [_product([*others[:k], rows, *others[k + 1 :]]) for k, (_, rows) in enumerate(dimensions)]
    return value.astype(np.int64), csr_matrix(np.vstack(relations).astype(np.int64))


def _product(matrices: Sequence[FloatArray]) -> FloatArray:
    return np.asarray(reduce(np.kron, matrices), dtype=np.float64)  # type: ignore[arg-type]


def _sensitive(table: tuple[IntArray, csr_matrix], *, every: int, weights: Literal["unit", "inverse"]) -> ProtectionProblem:
    value, relations = table
    level = np.where(np.arange(value.size) % every == 0, value // 10 + 1, 0)
    return ProtectionProblem(
        relations=relations,
        rhs=np.zeros(relations.shape[0], dtype=np.int64),
        value=value,
        weight=np.ones(value.size) if weights == "unit" else 1 / value,
        lower=np.zeros_like(value),
        upper=np.full_like(value, NO_LIMIT),
        sensitive=level > 0,
        lower_level=level,
        upper_level=level,
    )


def _run(problem: ProtectionProblem, method: str, **settings: str | int) -> None:
    from statveil.protect.presolve.reduce import reduce_problem
    from statveil.protect.search.methods import Task, Team, run_method

    run_method(reduce_problem(problem).problem, Team(method, settings), Task(None, Limits(seconds=LONGEST), 0), lambda _: None)


COMPILE: Mapping[KernelSet, Callable[..., None]] = {"search": compile_search, "network": compile_network, "keep": compile_keep}


def make_all_ready() -> None:
    """Compile all parts, as an installation does, and say so."""
    for part in COMPILE:
        make_ready(part, print)
