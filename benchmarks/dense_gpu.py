"""Method `dense` on a machine with a GPU: full tables of 0.3 to 11.1 million cells, the certificate checked by the product's own checker.

    PYTHONPATH=src:benchmarks python benchmarks/dense_gpu.py --device gpu --shape 100,100,100 --seconds 40

Inner cells are lognormal (median 200, spread 1.5) or uniform on 1..1000, a tenth of them sensitive with 10% of the value, rounded
up, as level; nothing falls below zero, and there are no upper bounds. The clock runs from the problem in memory to the answer with
its certificate checked. Afterwards the released table is added up anew along every axis, in whole numbers, with nothing of the
search. It needs NumPy, SciPy and PyTorch alone: where numba is absent, something that compiles nothing stands in for it (nothing
compiled is called).
"""

from __future__ import annotations

import argparse
import math
import sys
import time
import types
from collections.abc import Callable
from typing import Any

import numpy as np

try:
    import numba  # noqa: F401
except ImportError:

    def njit(*functions: Callable[..., Any], **_: object) -> Any:
        return functions[0] if functions else njit

    sys.modules["numba"] = types.ModuleType("numba")
    sys.modules["numba"].njit = njit  # type: ignore[attr-defined]

from statveil.core.arrays import BoolArray, IntArray
from statveil.core.limits import Limits, Progress
from statveil.protect.dense.engine import adjust_dense
from statveil.protect.options import NO_LIMIT
from statveil.protect.problem import ProtectionProblem
from statveil_lab.generators.random_tables import margin_relations


def with_totals(inner: IntArray) -> IntArray:
    for axis in range(inner.ndim):
        inner = np.concatenate([inner, inner.sum(axis=axis, keepdims=True)], axis=axis)
    return inner


def drawn(shape: tuple[int, ...], seed: int, values: str) -> tuple[IntArray, BoolArray]:
    """The inner cells, and which are sensitive."""
    rng = np.random.Generator(np.random.PCG64(seed))
    inner = np.rint(rng.lognormal(math.log(200), 1.5, shape)) if values == "lognormal" else rng.integers(1, 1001, shape)
    sensitive = np.zeros(inner.size, dtype=np.bool_)
    sensitive[rng.choice(inner.size, inner.size // 10, replace=False)] = True
    return np.maximum(inner, 1).astype(np.int64), sensitive.reshape(shape)


def posed(inner: IntArray, sensitive: BoolArray, weights: str) -> ProtectionProblem:
    value = with_totals(inner).ravel()
    held = np.pad(sensitive, [(0, 1)] * inner.ndim).ravel()
    level = np.where(held, -(-value // 10), 0)
    relations = margin_relations(inner.shape)
    return ProtectionProblem(
        relations=relations,
        rhs=np.zeros(relations.shape[0], dtype=np.int64),
        value=value,
        weight=np.ones(value.size) if weights == "unit" else 1.0 / value,
        lower=np.zeros(value.size, dtype=np.int64),
        upper=np.full(value.size, NO_LIMIT),
        sensitive=held,
        lower_level=level,
        upper_level=level,
    )


def audited(inner: IntArray, problem: ProtectionProblem, deviation: IntArray) -> float:
    """The cost of a table, if it is whole, safe and additive: the sums axis by axis."""
    after = (problem.value + deviation).reshape([size + 1 for size in inner.shape])
    for axis, size in enumerate(inner.shape):
        parts, total = np.split(after, [size], axis=axis)
        assert (parts.sum(axis=axis, keepdims=True) == total).all()
    assert deviation.dtype == np.int64
    assert (after >= 0).all()
    assert (np.abs(deviation)[problem.sensitive] >= problem.upper_level[problem.sensitive]).all()
    return math.fsum(np.abs(deviation) * problem.weight)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--shape", default="30,30,30")
    parser.add_argument("--seconds", type=float, default=40.0)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--values", default="lognormal")
    parser.add_argument("--weights", default="unit")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tries", type=int, default=8)
    parser.add_argument("--sweeps", type=int, default=800)
    chosen = parser.parse_args()
    shape = tuple(int(size) for size in chosen.shape.split(","))
    inner, sensitive = drawn(shape, chosen.seed, chosen.values)
    began = time.monotonic()
    problem = posed(inner, sensitive, chosen.weights)
    floor = float(problem.upper_level @ problem.weight)
    words = f"{chosen.shape}: {problem.size:,} cells, {int(problem.sensitive.sum()):,} sensitive, {chosen.values}, weights {chosen.weights}"
    print(f"{words}; levels cost {floor:,.10g}; posed in {time.monotonic() - began:.1f} s", flush=True)

    def tell(news: Progress) -> None:
        print(f"  {news.seconds:7.2f} s  {news.stage:38} table {news.objective / floor:.4f} bound {news.bound / floor:.4f}", flush=True)

    settings = {"device": chosen.device, "tries": chosen.tries, "sweeps": chosen.sweeps}
    found = adjust_dense(problem, settings=settings, limits=Limits(seconds=chosen.seconds), seed=chosen.seed, on_progress=tell)
    cost = audited(inner, problem, found.deviation)
    print(
        f"  audited {cost:,.10g}; certified bound {found.certified_bound:,.10g}; gap {found.certified_gap:.2%}; {found.seconds:.1f} s",
        flush=True,
    )


if __name__ == "__main__":
    main()
