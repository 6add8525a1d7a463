"""Method `dense` on a machine with a GPU: full tables of 0.3 to 11.1 million cells, with nothing but NumPy and PyTorch.

    PYTHONPATH=src python benchmarks/dense_gpu.py --where gpu --shape 100,100,100 --seconds 40

Inner cells are lognormal (median 200, spread 1.5) or uniform on 1..1000, a tenth of them sensitive with 10% of the value, rounded up, as level;
unit weights; nothing falls below zero. After the search the table's sums are worked out anew, and the bound from whole multipliers:
both here in NumPy, in whole numbers, with nothing of the search.
"""

from __future__ import annotations

import argparse
import math
import time

import numpy as np

from statveil.protect.dense.search import DenseSearch, DenseTable, Stage
from statveil.solve.tensors import tensors_on


def drawn(shape: tuple[int, ...], seed: int, values: str, weights: str) -> tuple[np.ndarray, DenseTable]:
    rng = np.random.Generator(np.random.PCG64(seed))
    inner = np.rint(rng.lognormal(math.log(200), 1.5, shape)) if values == "lognormal" else rng.integers(1, 1001, shape)
    inner = np.maximum(inner, 1).astype(np.int64)
    sensitive = np.zeros(inner.size, dtype=np.bool_)
    sensitive[rng.choice(inner.size, inner.size // 10, replace=False)] = True
    sensitive = sensitive.reshape(shape)
    level = np.where(sensitive, -(-inner // 10), 0)
    weight = np.ones([size + 1 for size in shape]) if weights == "unit" else 1.0 / with_totals(inner)
    return inner, DenseTable(
        weight=weight,
        low=-inner,
        high=np.full(shape, 2**62),
        sensitive=sensitive,
        up=level,
        down=level,
        can_rise=sensitive,
        can_fall=sensitive,
    )


def with_totals(inner: np.ndarray) -> np.ndarray:
    for axis in range(inner.ndim):
        inner = np.concatenate([inner, inner.sum(axis=axis, keepdims=True)], axis=axis)
    return inner


def audited(inner: np.ndarray, table: DenseTable, moves: np.ndarray) -> float:
    """The cost of a whole table, if it is safe and additive; the sums line by line."""
    before, after = with_totals(inner), with_totals(inner + moves)
    for axis, size in enumerate(inner.shape):
        parts, total = np.split(after, [size], axis=axis)
        assert (parts.sum(axis=axis, keepdims=True) == total).all()
    assert moves.dtype == np.int64
    assert (after >= 0).all()
    assert ((np.abs(moves) >= table.up) | ~table.sensitive).all()
    return math.fsum((np.abs(after - before) * table.weight).ravel())


def proved(table: DenseTable, search: DenseSearch) -> float:
    """The bound that the whole multipliers prove, with weights rounded down: nothing is left to a solver."""
    held = search.multipliers
    if held is None:
        return 0.0
    least = np.pad(table.up, [(0, 1)] * table.up.ndim)
    left = np.floor(np.ldexp(table.weight, held.scale)).astype(np.int64)
    bound = 0
    for axis, (sides, covers) in enumerate(zip(held.sides, held.covers, strict=True)):
        assert (sides >= 0).all()
        assert (covers >= 0).all()
        left -= sides.sum(axis=axis, keepdims=True) + covers - 2 * sides
        used = np.argwhere(covers.squeeze(axis) > 0)
        bound += sum(int(covers.squeeze(axis)[tuple(line)]) * _cover(np.moveaxis(least, axis, -1)[tuple(line)]) for line in used)
    assert (left >= 0).all()
    most = int(left.max()) * int(least.max())
    parts = [left * least] if most < 2**62 else [left[least > 0].astype(object) * least[least > 0]]
    blocks = [block for part in parts for block in np.array_split(part.ravel(), 1 + (most * part.size >> 62))]
    return (bound + sum(int(block.sum()) for block in blocks)) / 2**held.scale


def _cover(levels: np.ndarray) -> int:
    """What the changes of a line with these levels add up to at the least."""
    sums = np.zeros(1, dtype=np.int64)
    held = levels[levels > 0]
    for level in held[:-1]:
        sums = np.concatenate([sums - level, sums + level])
    return int(levels.sum() + (np.abs(np.abs(sums) - held[-1]).min() if held.size else 0))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--shape", default="30,30,30")
    parser.add_argument("--seconds", type=float, default=40.0)
    parser.add_argument("--where", default="auto")
    parser.add_argument("--values", default="lognormal")
    parser.add_argument("--tries", type=int, default=6)
    parser.add_argument("--sweeps", type=int, default=200)
    parser.add_argument("--weights", default="unit")
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    shape = tuple(int(size) for size in chosen.shape.split(","))
    inner, table = drawn(shape, chosen.seed, chosen.values, chosen.weights)
    floor = float((table.up * table.weight[tuple(slice(0, size) for size in shape)]).sum())
    cells = math.prod(size + 1 for size in shape)
    print(f"{chosen.shape}: {cells:,} cells, {int(table.sensitive.sum()):,} sensitive, levels {floor:,.10g}, {chosen.values}, weights {chosen.weights}", flush=True)

    def say(stage: Stage) -> None:
        found = (stage.cost / floor, stage.program / floor, stage.bound / floor)
        print(f"  {stage.seconds:7.2f} s  {stage.name:16} table {found[0]:.4f} program {found[1]:.4f} bound {found[2]:.4f}", flush=True)

    on = tensors_on(chosen.where, chosen.seed)
    began = time.monotonic()
    search = DenseSearch(on, table, seconds=chosen.seconds, say=say)
    search.run(tries=chosen.tries, sweeps=chosen.sweeps)
    seconds = time.monotonic() - began
    cost = audited(inner, table, search.found)
    checked = time.monotonic()
    bound = proved(table, search)
    print(f"  {on.name}: {seconds:.1f} s; audited table {cost:,.10g}; bound proved {bound:,.10g} ({time.monotonic() - checked:.1f} s)", flush=True)
    print(f"  above its program {cost / search.program - 1:.3%}, certified gap {cost / bound - 1:.2%}", flush=True)


if __name__ == "__main__":
    main()
