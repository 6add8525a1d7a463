"""Method `dense`: full tables of several dimensions, up to millions of cells, on a GPU or on NumPy (docs/methods.md).

It is recognised from the relations alone (`layout`). The search works on tensors and in single precision; what counts is checked outside:
each table by the problem itself in whole numbers, the bound by the independent checker from whole multipliers.
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
import time
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from statveil.core.arrays import AnyArray, IntArray
from statveil.core.errors import AuditFailed, InputError, OutOfTime
from statveil.core.limits import Limits, OnProgress, Progress
from statveil.formats.certificate import COVER, Certificate, Multipliers
from statveil.protect.adjustment import Adjustment, TracePoint, ending_of
from statveil.protect.dense.layout import TableLayout, layout_of
from statveil.protect.dense.margins import with_margins
from statveil.protect.dense.multipliers import WholeMultipliers, scale_for
from statveil.protect.dense.search import TUNING as SEARCH
from statveil.protect.dense.search import DenseSearch, DenseTable, Stage
from statveil.protect.options import NO_LIMIT
from statveil.protect.problem import ProtectionProblem
from statveil.protect.search_state import DualMultipliers, Search, SearchNews
from statveil.solve.tensors import PLACES, Tensors, has_gpu, tensors_on

DEVICES = PLACES
"""What the setting `device` may be: `search.methods` looks it up by the setting's name."""


class DenseTuning(NamedTuple):
    """What is kept of the time for the checks afterwards."""

    check_per_cell: float = 1e-5  # seconds (benchmarks/RESULTS.md)
    most_of_the_time: float = 0.5  # that is kept at the most
    most_certified: int = 12_000_000  # cells up to which a bound is certified: that takes 13 GB of memory


TUNING = DenseTuning()


def suits(problem: ProtectionProblem) -> bool:
    """Whether `auto` takes this method for a large problem: a full table, and a GPU."""
    return has_gpu() and not isinstance(table_of(problem), str)


def run(search: Search, *, tries: int = SEARCH.tries, sweeps: int = SEARCH.sweeps, device: str = "auto") -> None:
    """Method `dense`: `tries` annealings of so many `sweeps`; `device`: where to compute (auto, cpu, gpu, torch-cpu)."""
    found = table_of(search.problem)
    if isinstance(found, str):
        raise InputError(f"Method 'dense' needs a full table of two dimensions or more. {found}", hint="Use method 'auto'.")
    layout, table = found
    on = tensors_on(device, int(search.rng.integers(2**62)))
    dense: DenseSearch | None = None

    def hear(stage: Stage) -> None:
        program = f", program {stage.program:,.10g}" if stage.program else ""
        search.enter(f"{stage.name} ({on.name}{program})")
        if dense is not None and dense.cost < search.objective:
            search.offer(_deviation(layout, dense.found))

    dense = DenseSearch(on, table, seconds=search.seconds_left, say=hear)
    dense.run(tries=tries, sweeps=sweeps)
    if dense.multipliers is not None:
        search.offer_bound(min(dense.bound, search.objective), _as_cuts(dense.multipliers, layout))


def adjust_dense(
    problem: ProtectionProblem, *, settings: dict[str, Any], limits: Limits, seed: int, on_progress: OnProgress | None
) -> Adjustment:
    """Adjust a full table in this process: it needs no reduction, and a GPU is not shared among children."""
    began, trace = time.monotonic(), list[TracePoint]()
    tell = on_progress or (lambda _: None)
    kept = min(TUNING.check_per_cell * problem.size, TUNING.most_of_the_time * limits.seconds)

    def hear(news: SearchNews) -> None:
        seconds = time.monotonic() - began
        if not trace or trace[-1][1:] != (search.objective, search.proved):
            trace.append(TracePoint(seconds, search.objective, search.proved))
        proof.extend([news.proof] if isinstance(news.proof, DualMultipliers) else [])
        tell(Progress(news.stage, seconds, search.objective, search.proved, max(0.0, limits.seconds - seconds)))

    proof: list[DualMultipliers] = []
    search = Search(problem, dataclasses.replace(limits, seconds=limits.seconds - kept), seed, hear)
    with contextlib.suppress(KeyboardInterrupt):  # the best table so far is the answer
        run(search, **settings)
    if search.best is None:
        raise OutOfTime("Stopped before any safe table was found.", hint="Nothing was released.")
    certificate = certified(problem, proof[-1], search.objective) if proof and problem.size <= TUNING.most_certified else None
    bound = 0.0 if certificate is None else _not_above(Fraction(certificate.bound, 2**certificate.scale))
    seconds = time.monotonic() - began
    trace.append(TracePoint(seconds, search.objective, bound))
    tell(Progress("bound checked", seconds, search.objective, bound, max(0.0, limits.seconds - seconds)))
    return Adjustment(
        deviation=search.best,
        senses=problem.senses_of(search.best),
        objective=search.objective,
        bound=bound,
        bound_by="none" if certificate is None else "cuts",
        certified_bound=bound,
        certificate=certificate,
        ending=ending_of(search.objective, certified=bound, claimed=bound),
        trace=tuple(trace),
        method="dense",
        seed=seed,
        seconds=seconds,
    )


def certified(problem: ProtectionProblem, proof: DualMultipliers, objective: float) -> Certificate | None:
    """The certificate of the multipliers of all lines; None if the checker refuses it."""
    from statveil.audit.certificate_checker import bound_of

    scale = scale_for(float(problem.weight.min()))
    factors = np.rint(np.ldexp(proof.cut, scale)).astype(np.int64)
    draft = Certificate(
        cells=problem.size,
        relations=int(problem.rhs.size),
        scale=scale,
        worth=math.ceil(Fraction(objective) * 2**scale),
        bound=0,
        derived=(),
        proof=Multipliers((), (), tuple(proof.cut_relation.tolist()), tuple(proof.cut_cell.tolist()), tuple(factors.tolist())),
    )
    try:
        bound = bound_of(problem, draft)
    except AuditFailed:
        return None
    return dataclasses.replace(draft, bound=math.floor(bound * 2**scale))


def table_of(problem: ProtectionProblem) -> tuple[TableLayout, DenseTable] | str:
    """The table as tensors, or why the method cannot take it."""
    if problem.norm != "l1":
        return "It makes the sum of absolute changes least, not that of squares."
    layout = layout_of(problem.relations)
    if layout is None:
        return "The relations must be those of all codes of each dimension with all others, and of their totals."
    return _obstacle(problem, layout) or (layout, _as_tensors(problem, layout))


def _obstacle(problem: ProtectionProblem, layout: TableLayout) -> str:
    inner = _inner_places(layout)
    low, high = layout.laid_out(problem.free.low), layout.laid_out(problem.free.high)
    obstacles = {
        "The table given must add up.": problem.residual.any(),
        "No total may be sensitive.": problem.sensitive.sum() > problem.sensitive[layout.cell[inner]].sum(),
        "The bounds must allow every cell its value.": (low > 0).any() or (high < 0).any(),
        "The bounds of totals must follow from those of their parts.": not (_follows(low, inner, -1) and _follows(high, inner, 1)),
        "A sensitive cell has no way to go.": (problem.sensitive & ~problem.can_go_up & ~problem.can_go_down).any(),
    }
    return next((words for words, there in obstacles.items() if there), "")


def _as_tensors(problem: ProtectionProblem, layout: TableLayout) -> DenseTable:
    cells = layout.cell[_inner_places(layout)]
    held = problem.sensitive[cells]
    return DenseTable(
        weight=layout.laid_out(problem.weight),
        low=problem.free.low[cells],
        high=problem.free.high[cells],
        sensitive=held,
        up=np.where(held, problem.upper_level[cells], 0),
        down=np.where(held, problem.lower_level[cells], 0),
        can_rise=problem.can_go_up[cells],
        can_fall=problem.can_go_down[cells],
        exact=problem.variant == "exact",
    )


def _inner_places(layout: TableLayout) -> tuple[slice, ...]:
    return tuple(slice(0, size) for size in layout.shape)


def _follows(ends: IntArray, inner: tuple[slice, ...], side: int) -> bool:
    """Whether no total's bound is tighter than what the bounds of its inner cells leave it. Doubles hold such sums, or they have no end."""
    own = np.where(np.abs(ends) >= NO_LIMIT // 2, side * np.inf, ends.astype(np.float64))
    sums = np.asarray(with_margins(Tensors(0), own[inner]))
    return bool((side * own >= side * sums).all())


def _deviation(layout: TableLayout, found: IntArray) -> IntArray:
    return layout.by_cell(np.asarray(with_margins(Tensors(0), found)))


def _as_cuts(held: WholeMultipliers, layout: TableLayout) -> DualMultipliers:
    """The multipliers as those of relations and cells."""
    relations: list[AnyArray] = []
    cells: list[AnyArray] = []
    factors: list[AnyArray] = []
    for axis, (sides, covers) in enumerate(zip(held.sides, held.covers, strict=True)):
        lines, used = np.broadcast_to(np.expand_dims(layout.relation[axis], axis), sides.shape), sides > 0
        whole = np.squeeze(covers, axis)
        relations += [lines[used], layout.relation[axis][whole > 0]]
        cells += [layout.cell[used], np.full(int((whole > 0).sum()), COVER)]
        factors += [sides[used], whole[whole > 0]]
    cut = np.ldexp(np.concatenate(factors).astype(np.float64), -held.scale)
    return DualMultipliers(np.zeros(0), np.concatenate(relations), np.concatenate(cells), cut)


def _not_above(number: Fraction) -> float:
    near = float(number)
    return near if Fraction(near) <= number else math.nextafter(near, -math.inf)
