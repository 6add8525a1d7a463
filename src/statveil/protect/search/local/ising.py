"""Ising polish (docs/science.md, section 4): anneal the senses on the L2 cost of absorbing the imbalance they leave.

With every sensitive cell at its level, z = middle + half * s, the relations are out by d(s) = r - A_S z. The other cells (and
overshoot) absorb d at a least weighted square cost d' G+ d with G = A W^-1 A', a quadratic form in the signs s. It is cheap to
anneal and close to the truth; each state found is then priced by one linear program.

Near a good table the form is closer to it still: with W divided by how far each cell moves beyond what its sense forces, half of the
square cost and half of that distance are never below the sum of distances, and touch it at that table (Lawson 1961).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numba import njit
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse import csc_matrix, csr_matrix, diags, identity
from scipy.sparse.linalg import splu

from statveil.core.arrays import AnyArray, BoolArray, FloatArray, IntArray
from statveil.core.compiled_random import CHANCES, EXPONENTIAL, STEP, below, mixed
from statveil.core.errors import InputError
from statveil.core.limits import Limits
from statveil.protect.problem import ProtectionProblem
from statveil.protect.rounding import CellParts
from statveil.protect.search.local import anneal, messages
from statveil.protect.search_state import Search, SearchNews


class IsingTuning(NamedTuple):
    """Sizes up to which the form is affordable, and how much work each try gets; all by judgement, but for what is said."""

    most_sensitive: int = 4_000
    most_relations: int = 30_000
    dense_up_to: int = 3_000  # parts up to which there is a form over them
    dense_relations: int = 6_000
    """Relations up to which a dense factorisation is taken: of 4,574 of a table in four dimensions, with 1,426 right-hand sides, it took
    2.3 CPU s, a sparse one 13; of ninenew's 5,320 with 561 it took 2.5 and 2.8."""
    large: int = 1_000  # sensitive cells from which a table is large
    sweeps_cold_start: int = 800
    sweeps_balance: int = 3_200
    sweeps_balance_large: int = 12_800
    """Balancing on large tables: a few seconds with all that follows. Many such starts do as well as a few longer ones, and sooner."""
    sweeps_warm_start: int = 1_600
    polishes_if_large: int = 4
    """Warm starts from the same balanced senses, of which the one of least energy is priced: a program takes longer than several."""
    sweeps_from_best: int = 100
    cold: float = 1e-3  # where annealing ends
    block: int = 1_024  # moves at one temperature
    reach: float = 5.0  # times the starting heat: the most that a flip may cost for a mate to be tried with it
    temperatures: tuple[float, ...] = (0.2, 0.5, 1.0)
    """Starting heat of the tries from the best senses, as a share of the mean flip; they take turns."""
    softness: float = 1.0
    """Of the form around the best table, in median levels, added to each cell's distance: with it hier16 came to 71,816 in 9 s of one
    processor, with 0.3 to 72,392 and with 3 to 72,362 in 14 s (benchmarks/RESULTS.md, the form around the best table)."""
    warmer: float = 1.1  # heat of the tries, after one that led to senses tried before
    cooler: float = 0.9  # and after one that led to new ones
    least_warmth: float = 0.25
    most_warmth: float = 5.0
    known: float = 0.1  # of a try in vain: what one is that led to senses tried before, and cost no program
    starts_in_vain: int = 8  # cold starts in vain after which no more are made, if none before brought anything
    hopeless: int = 5  # by what patience is then divided
    slow_from: int = 2_500  # cells from which a program takes as long as several tries
    starts_if_slow: int = 4
    """Cold starts there, and then tries: two starts and 19 tries brought hier16 to 71,816 in 10 CPU s, 24 starts first to 72,090 in 14."""
    tries_elsewhere: int = 30  # in vain, from new starts
    starts_elsewhere: int = 2  # of which the better one is gone on from, where tries from the best table bring no more


TUNING = IsingTuning()


class IsingForm(NamedTuple):
    """E(s) = s' couple s + 2 field' s over the sensitive cells, scaled to a mean diagonal of one."""

    cells: IntArray
    couple: FloatArray
    field: FloatArray
    closed: BoolArray
    mates_at: AnyArray
    mates: AnyArray
    """The sensitive cells that share a relation with each, from `mates_at` on."""

    def energy(self, senses: IntArray) -> float:
        signs = senses[self.cells].astype(np.float64)
        return float(signs @ self.couple @ signs + 2 * self.field @ signs)


def run(search: Search, *, restarts: int = 24, patience: int = 150) -> None:
    """Method `ising`: cold starts and tries from the best, each priced by one program."""
    if not fits(search.problem):
        raise InputError(f"Method 'ising' needs at most {TUNING.most_sensitive} sensitive cells.", hint="Use 'anneal' or 'auto'.")
    search.enter("polishing senses")
    if search.start is not None:
        search.try_senses(search.start)
    polish(search, restarts=restarts, patience=patience)


def fits(problem: ProtectionProblem) -> bool:
    """Whether the dense form is affordable."""
    return bool(0 < problem.sensitive.sum() <= TUNING.most_sensitive and problem.relations.shape[0] <= TUNING.most_relations)


def ising_form(problem: ProtectionProblem, parts: CellParts | None = None) -> IsingForm:
    """Build the form: one factorisation and as many solves as there are sensitive cells; over the parts where those are few."""
    cells = np.flatnonzero(problem.sensitive)
    up, down = problem.upper_level[cells].astype(np.float64), problem.lower_level[cells].astype(np.float64)
    forced = _Forced(cells, half=(up + down) / 2, middle=(up - down) / 2)
    if parts is not None and _fits_parts(problem, parts):
        couple, field = _form_by_parts(problem, parts, forced)
    else:
        couple, field = _form_by_relations(problem, forced)
    scale = float(np.abs(np.diag(couple)).mean()) or 1.0
    choice = (problem.can_go_up & problem.can_go_down)[cells]
    shared = abs(problem.relations[:, cells])
    mates = csr_matrix(shared.T @ shared)
    mates.setdiag(0)
    mates.eliminate_zeros()
    return IsingForm(cells, (couple + couple.T) / (2 * scale), field / scale, ~choice, mates.indptr, mates.indices)


def _fits_parts(problem: ProtectionProblem, parts: CellParts) -> bool:
    """Whether there are many relations, few parts, and no cell that may not absorb: the form over parts lets every cell."""
    all_absorb = problem.variant == "at-least" and bool((problem.free.low < problem.free.high).all())
    return all_absorb and parts.part.size <= TUNING.dense_up_to < problem.relations.shape[0]


class _Forced(NamedTuple):
    """What the senses force on the sensitive cells: middle + half * s."""

    cells: IntArray
    half: FloatArray
    middle: FloatArray


def _form_by_relations(problem: ProtectionProblem, forced: _Forced) -> tuple[FloatArray, FloatArray]:
    """Coupling and field from G: what the relations are out by, absorbed by the cells that can move."""
    absorbing = (problem.free.low < problem.free.high) & ~(problem.sensitive & (problem.variant == "exact"))
    moving = np.flatnonzero(absorbing)
    relations = problem.relations.astype(np.float64)
    through = relations[:, moving]
    absorb = (through @ diags(1.0 / problem.weight[moving]) @ through.T).tocsc()
    absorb = absorb + 1e-9 * float(np.abs(absorb.diagonal()).mean()) * identity(absorb.shape[0], format="csc")
    solve = _dense_solver(absorb) if absorb.shape[0] <= TUNING.dense_relations else splu(absorb).solve
    bring = (relations[:, forced.cells] @ diags(forced.half)).tocsc()
    solved = solve(np.column_stack([bring.toarray(), relations[:, forced.cells] @ forced.middle - problem.residual]))
    return np.asarray(bring.T @ solved[:, :-1]), np.asarray(bring.T @ solved[:, -1])


def _form_by_parts(problem: ProtectionProblem, parts: CellParts, forced: _Forced) -> tuple[FloatArray, FloatArray]:
    """The same from the parts, which are far fewer than relations: a table z = S y + c as near as can be to what is forced.

    Its least weighted square distance from t is (t - c)' (W - W S H^-1 S' W) (t - c) with H = S' W S.
    """
    weighted = diags(problem.weight) @ parts.sums.astype(np.float64)
    solve = _dense_solver((parts.sums.T @ weighted).tocsc())
    target = -parts.constant.astype(np.float64)
    target[forced.cells] += forced.middle
    bring = diags(forced.half) @ weighted[forced.cells]
    solved = solve(np.column_stack([bring.T.toarray(), weighted.T @ target]))
    couple = np.diag(forced.half**2 * problem.weight[forced.cells]) - bring @ solved[:, :-1]
    return couple, forced.half * (problem.weight * target)[forced.cells] - bring @ solved[:, -1]


def _dense_solver(matrix: csc_matrix) -> Callable[[FloatArray], FloatArray]:
    """With many right-hand sides a small dense factorisation beats a sparse one by far."""
    factor = cho_factor(matrix.toarray(order="F"), overwrite_a=True)
    return lambda right: np.asarray(cho_solve(factor, right))


def polish(search: Search, *, restarts: int = 24, patience: int = 150) -> None:
    """Cold starts, then tries from the best senses until `patience` of them in a row bring nothing. Work limits, not clocks.

    Where the starts bring nothing, as on tables so tight that hardly any senses leave a table, the tries soon end as well.
    """
    problem, before = search.problem, search.objective
    form = ising_form(problem, search.program.parts)
    slow = is_slow(problem)
    idle = 0
    for number in range(min(restarts, TUNING.starts_if_slow) if slow else restarts):
        if search.done or (idle >= TUNING.starts_in_vain and search.objective == before):
            break
        idle = 0 if search.try_senses(_fresh(search, form, number)) else idle + 1
    if search.objective < before:
        _try_near_best(search, form, patience)
    elif slow:
        _try_elsewhere(search, form, TUNING.tries_elsewhere)
    else:
        _try_near_best(search, form, patience // TUNING.hopeless)


def is_slow(problem: ProtectionProblem) -> bool:
    """Whether a program takes as long as several tries, on a table where tries go by a form around the best one."""
    return fits(problem) and _is_around(problem) and problem.size >= TUNING.slow_from


def _is_around(problem: ProtectionProblem) -> bool:
    """Whether the form is built anew around each better table."""
    return problem.norm == "l1" and int(problem.sensitive.sum()) < TUNING.large


def _try_elsewhere(search: Search, form: IsingForm, patience: int) -> None:
    """Tries from new starts and what they lead to, not from the best table: where that one leads no further, another may."""

    def hear(found: SearchNews) -> None:
        search.offer(found.deviation)

    other = Search(search.problem, Limits(seconds=max(search.seconds_left, 0.01)), int(search.rng.integers(2**31)), hear)
    other.program = search.program
    for number in range(TUNING.starts_elsewhere):
        if not search.done:
            other.try_senses(_fresh(other, form, number))
    _try_near_best(other, form, patience)


def _try_near_best(search: Search, plain: IsingForm, patience: int) -> None:
    """Tries from the best senses, on the form around the best table: warmer while they lead to senses known, cooler after new ones."""
    problem, form, base = search.problem, plain, None
    around = _is_around(problem)
    tried: set[bytes] = set()
    idle, turn, warmth = 0.0, 0, 1.0
    while search.best is not None and idle < patience and not search.done:
        if around and base is not search.best:
            base = search.best
            form = form_around(problem, base, search.program.parts)
        heat = warmth * TUNING.temperatures[turn % len(TUNING.temperatures)]
        signs = problem.senses_of(search.best)[form.cells].astype(np.float64)
        senses = _annealed(search, form, signs, TUNING.sweeps_from_best, heat)
        word = np.packbits(senses[form.cells] > 0).tobytes()
        new = word not in tried
        tried.add(word)
        better = new and search.try_senses(senses)
        warmth = max(warmth * TUNING.cooler, TUNING.least_warmth) if new else min(warmth * TUNING.warmer, TUNING.most_warmth)
        idle, turn = 0.0 if better else idle + (1.0 if new else TUNING.known), turn + 1


def form_around(problem: ProtectionProblem, deviation: IntArray, parts: CellParts | None = None) -> IsingForm:
    """The form whose square cost is the sum of distances at this table, and close to it nearby."""
    forced = np.where(problem.sensitive, np.where(deviation > 0, problem.up.low, problem.down.high), 0)
    level = (problem.lower_level + problem.upper_level)[problem.sensitive] / 2
    beyond = np.abs(deviation - forced) + TUNING.softness * max(float(np.median(level)), 1.0)
    return ising_form(dataclasses.replace(problem, weight=problem.weight / beyond), parts)


def _fresh(search: Search, form: IsingForm, number: int) -> IntArray:
    """New senses: from chance and hot, or from senses balanced relation by relation and only warm, which suits large tables.

    They are balanced by messages where those pay and settle, else by annealing.
    """
    large = form.cells.size >= TUNING.large
    if number % 2 == 0 and not large:
        signs = np.where(search.rng.random(form.cells.size) < 0.5, 1.0, -1.0)
        return _annealed(search, form, signs, TUNING.sweeps_cold_start, 2.0)
    settled = messages.settled_senses(search) if messages.pays(search.problem) else None
    sweeps = TUNING.sweeps_balance_large if large else TUNING.sweeps_balance
    senses = anneal.anneal_senses(search, sweeps=sweeps, narrow=large) if settled is None else settled
    balanced = senses[form.cells].astype(np.float64)
    if not large:
        return _annealed(search, form, balanced, TUNING.sweeps_warm_start, 0.2)
    polishes = TUNING.polishes_if_large if search.seconds_left > 0 else 1
    return min((_annealed(search, form, balanced, TUNING.sweeps_warm_start, 0.1) for _ in range(polishes)), key=form.energy)


def _annealed(search: Search, form: IsingForm, signs: FloatArray, sweeps: int, heat: float) -> IntArray:
    problem = search.problem
    forced = np.where(problem.can_go_up, 1, -1)[form.cells]
    signs = np.where(form.closed, forced, signs).astype(np.float64)
    senses = np.zeros(problem.size, dtype=np.int64)
    word = np.uint64(search.rng.integers(2**63))
    _anneal_signs(form, signs, sweeps, heat, word, EXPONENTIAL)
    senses[form.cells] = signs.astype(np.int64)
    return senses


@njit(cache=True, fastmath=True, inline="always")
def _turn(i, couple, local, signs):  # type: ignore[no-untyped-def]
    """Flip a sign and bring the local fields up to date; a plain loop, three times quicker than whole arrays."""
    twice, row = 2.0 * signs[i], couple[i]
    for k in range(local.size):
        local[k] -= twice * row[k]
    signs[i] = -signs[i]


@njit(cache=True, fastmath=True)
def _anneal_signs(form, signs, sweeps, heat, word, draws):  # type: ignore[no-untyped-def]
    """Metropolis over single flips and over pairs that share a relation, local fields kept up to date; ends cold, signs in place.

    When it is cold a single flip unbalances its relations too much; flipped together with a mate, what one takes the other gives.
    """
    couple, mates_at = form.couple, form.mates_at
    local, own = couple @ signs + form.field, np.diag(couple).copy()
    blocks = max(1, sweeps * signs.size // TUNING.block)
    cooling, temperature = (TUNING.cold / heat) ** (1.0 / blocks), heat
    for _ in range(blocks):
        temperature *= cooling
        for _ in range(TUNING.block):
            word += STEP
            bits = mixed(word)
            i = below(bits >> np.uint64(32), signs.size)
            if form.closed[i]:
                continue
            change = 4.0 * (own[i] - signs[i] * local[i])
            if change <= temperature * draws[np.int64(bits & np.uint64(CHANCES - 1))]:
                _turn(i, couple, local, signs)
            elif change <= TUNING.reach * heat and mates_at[i + 1] > mates_at[i]:
                word += STEP
                bits = mixed(word)
                j = form.mates[mates_at[i] + below(bits >> np.uint64(32), mates_at[i + 1] - mates_at[i])]
                if form.closed[j]:
                    continue
                change += 4.0 * (own[j] - signs[j] * local[j]) + 8.0 * signs[i] * signs[j] * couple[i, j]
                if change <= temperature * draws[np.int64(bits & np.uint64(CHANCES - 1))]:
                    _turn(i, couple, local, signs)
                    _turn(j, couple, local, signs)
