"""`suppress`: the cheapest blanks that make a file safe under one recoding (S4, eq. 1)."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from statveil.core.arrays import FloatArray, IntArray
from statveil.core.errors import InfeasibleProblem, InputError, OutOfTime
from statveil.core.limits import Ending, Limits, check_seed
from statveil.data.microdata import Microdata
from statveil.records.coding import CodedFile, code_file, level_of, relaxed_models
from statveil.records.frequencies import LevelMaps, Words, distinct_patterns
from statveil.records.keys import KeyVariables
from statveil.records.suppress import wildcard
from statveil.records.suppress.covers import cheapest_covers
from statveil.records.suppress.decoys import add_decoys
from statveil.records.suppress.integer_programs import SAME_COST
from statveil.records.suppress.joint_program import JointBlanks, JointProgram, cover_households, solve_jointly
from statveil.records.suppress.problem import Suppression, SuppressionProblem, known_only, merged, problem_of, row_amount
from statveil.records.suppress.recount import RecountBlanks, recount_exactly
from statveil.records.suppress.recount_rounds import add_rounds, take_back
from statveil.records.suppress.risk_models import (
    cover_risky_households,
    household_limit,
    improved_in_pieces,
    models_exactly,
    take_back_judged,
)
from statveil.records.suppress.wildcard import wildcard_exactly
from statveil.records.suppress.wildcard_bound import wildcard_bound


class SuppressTuning(NamedTuple):
    thinned: int = 200_000
    """Keys times tables up to which the blanks of `original` are thinned out for rule `wildcard`,"""
    programs: float = 0.5
    """share of the time that the programs of risk models may take,"""
    taking_back: float = 0.3
    """and of what is left, taking needless blanks back; then blanks are improved in pieces,"""
    program: float = 0.4
    """of the time that the integer program of caps may take before prices are tried,"""
    attempts: int = 4
    """of those that are tried then, how many may hold the caps,"""
    pricing: float = 0.5
    """share of the time left in which they are looked for,"""
    dearer: tuple[float, float] = (1.1, 20.0)
    """times which blanks become dearer from one to the next, at least and at most,"""
    dearest: float = 1e6
    """and what one costs at the most: by judgement."""


TUNING = SuppressTuning()

Blanks = tuple[IntArray, IntArray, IntArray]
"""Key, mask of fields and number of records of each row."""


def suppress(
    data: Microdata | CodedFile,
    keys: KeyVariables | None = None,
    *,
    recoding: Mapping[str, str] | None = None,
    limits: Limits | None = None,
    seed: int = 0,
) -> Suppression:
    """Blank as little as possible under a given recoding.

    data, keys: as for `plan_recoding`. recoding: by field; by default none. limits: counted from the call. seed: of the blanks against
    guessing.

    >>> import pyarrow as pa, statveil as sv
    >>> people = sv.read_microdata(pa.table({"job": ["vet", "cook", "cook"]}))
    >>> sv.recode.suppress(people, sv.KeyVariables(fields={"job": None}, threshold=2, order=1))
    Suppression(1 blanks, cost 1, bound 1)
    """
    check_seed(seed)
    began = time.monotonic()
    coded = data if isinstance(data, CodedFile) else code_file(data, _given(keys))
    return with_candidates(fewest_blanks(coded, level_of(coded, recoding or {}), limits=(limits or Limits()).left(began)), seed=seed)


def _given(keys: KeyVariables | None) -> KeyVariables:
    if keys is None:
        raise InputError("The key fields are missing.", hint="suppress(data, KeyVariables(...)).")
    return keys


def with_candidates(found: Suppression, *, seed: int) -> Suppression:
    """With the extra blanks where candidates are asked for."""
    return add_decoys(found, seed=seed) if found.problem.coded.keys.candidates else found


def fewest_blanks(
    coded: CodedFile, levels: tuple[int, ...], *, limits: Limits, maps: LevelMaps | None = None, quick: bool = False, ties: bool = True,
    patterns: Words | None = None,
) -> Suppression:  # fmt: skip
    """The blanks that the rule needs; `quick` is content with good ones where the best take an integer program without end.

    Without `ties`, those between records that hang together may be left open: where only the cost is wanted. `patterns`: what is unsafe,
    where that is known.
    """
    problem = problem_of(coded, levels, maps)
    patterns = problem.patterns() if patterns is None else patterns
    floor = original_bound(problem, lasting_patterns(problem, patterns))
    if coded.keys.caps:
        return _under_caps(problem, patterns, floor, limits, quick=quick)
    if coded.households is not None:
        return _in_households(problem, patterns, floor, limits, quick=quick)
    return _by_rule(problem, patterns, floor, limits, quick=quick, ties=ties)


def lasting_patterns(problem: SuppressionProblem, patterns: Words) -> Words:
    """The patterns that stay unsafe whatever is blanked elsewhere: under `recount`, models count with what they imply."""
    relaxed = relaxed_models(problem.coded)
    if problem.coded.keys.rule == "original" or relaxed is problem.coded:
        return patterns
    return problem_of(relaxed, problem.levels, problem.maps).patterns()


def original_bound(problem: SuppressionProblem, patterns: Words) -> float:
    """The optimum of eq. 1 without caps and households: no suppression under `original` or `recount` costs less."""
    distinct, inverse = distinct_patterns(patterns)
    units, _ = cheapest_covers(distinct, problem.table_masks, problem.unit_cost)
    return float((problem.units_cost(units)[inverse] * problem.coded.mass).sum())


def _by_rule(problem: SuppressionProblem, patterns: Words, floor: float, limits: Limits, *, quick: bool, ties: bool) -> Suppression:
    rule = problem.coded.keys.rule
    if rule == "original":
        key, units = np.arange(problem.coded.size), problem.covers(patterns)
        return _suppression(problem, (key, problem.fields_of(units), problem.coded.count), bound=floor)
    if rule == "recount":
        return _recounted_blanks(problem, patterns, floor, limits, quick=quick, ties=ties)
    return _as_wildcards(problem, patterns, limits, quick=quick, ties=ties)


def _recounted_blanks(
    problem: SuppressionProblem, patterns: Words, floor: float, limits: Limits, *, quick: bool, ties: bool
) -> Suppression:
    """By annealing and the growing integer program; blanks in rounds where the file is too large for them."""
    if problem.coded.judge is not None:
        return _recounted_under_models(problem, patterns, floor, limits, quick=quick)
    found = recount_exactly(problem, patterns, seconds=limits.seconds, ties=ties, quick=quick)
    if found is not None:
        rows = (found.key, problem.fields_of(found.units), found.records)
        notes = {"cells in doubt": found.cells} if found.cells else {}
        return _suppression(problem, rows, bound=max(floor, found.bound), open_ties=found.open_ties, notes=notes)
    key, records, deadline = np.arange(problem.coded.size), problem.coded.count, time.monotonic() + limits.seconds
    units, rounds = add_rounds(problem, key, problem.covers(patterns), records)
    if not quick:
        units = take_back(problem, key, units, records, stopped=lambda: time.monotonic() > deadline)
    open_ties = int(len(rounds) > 1)  # the blanks of `original` settle theirs, and if they are safe already they are the answer
    return _suppression(problem, (key, problem.fields_of(units), records), bound=floor, rounds=tuple(rounds), open_ties=open_ties)


def _recounted_under_models(problem: SuppressionProblem, patterns: Words, floor: float, limits: Limits, *, quick: bool) -> Suppression:
    """By the integer program with cuts; where it does not come to its end, its bound, and one of several starts of rounds of blanks, from
    which needless ones are taken back. The cheapest is the answer, and the optimum where it costs no more than the bound. `quick`: rounds
    alone."""
    key, records, deadline = np.arange(problem.coded.size), problem.coded.count, time.monotonic() + limits.seconds
    starts, bound, found = list[Blanks](), floor, list[Suppression]()
    seconds = TUNING.programs * limits.seconds
    for exact, safe in () if quick else _by_programs(problem, lasting_patterns(problem, patterns), seconds=seconds):
        bound = max(bound, exact.bound)
        if safe:
            rows, notes = (exact.key, problem.fields_of(exact.units), exact.records), {"cells in doubt": exact.cells}
            return _suppression(problem, rows, bound=bound, open_ties=1, notes=notes)
        starts.append((exact.key, exact.units, exact.records) if problem.coded.judged_apart else _alike(problem, exact))
    starts.append((key, problem.covers(patterns), records))
    safe_ones = list[Blanks]()
    for number, (key, start, records) in enumerate(starts):
        if safe_ones and time.monotonic() > deadline:
            break
        units, rounds = add_rounds(problem, key, start, records)
        left = TUNING.taking_back * (deadline - time.monotonic()) / (len(starts) - number)
        units = units if quick else take_back_judged(problem, key, units, records, seconds=left)
        safe_ones.append((key, units, records))
        found.append(_suppression(problem, (key, problem.fields_of(units), records), bound=bound, rounds=tuple(rounds), open_ties=1))
    if problem.coded.judged_apart and not quick:
        lasting, seconds = lasting_patterns(problem, patterns), deadline - time.monotonic()
        better = improved_in_pieces(problem, lasting, [*safe_ones, *starts[:-1]], enough=bound, seconds=seconds)
        found += [
            _suppression(problem, (key, problem.fields_of(units), records), bound=bound, open_ties=1) for key, units, records in better
        ]
    return min(found, key=lambda each: (round(each.cost, 9), each.second_cost))


def _alike(problem: SuppressionProblem, exact: RecountBlanks) -> Blanks:
    """The same blanks in all records of a key, which may be judged alike only then."""
    key, together = np.arange(problem.coded.size), np.zeros(problem.coded.size, dtype=np.int64)
    np.bitwise_or.at(together, exact.key, exact.units)
    return key, together, problem.coded.count


def _by_programs(problem: SuppressionProblem, lasting: Words, *, seconds: float) -> Iterator[tuple[RecountBlanks, bool]]:
    """What the program with cuts finds, where the records of a key are told apart by what models look at (safe or not); elsewhere what
    the one for thresholds does."""
    if problem.coded.judged_apart:
        yield models_exactly(problem, lasting, seconds=seconds)
        return
    keys = problem.coded.keys
    settled = tuple(model for model in keys.models if model not in keys.judged)
    plain = problem_of(replace(problem.coded, keys=replace(keys, models=settled)), problem.levels, problem.maps)
    found = recount_exactly(plain, lasting, seconds=seconds, ties=False)
    if found is not None:
        yield found, False


def _as_wildcards(problem: SuppressionProblem, patterns: Words, limits: Limits, *, quick: bool, ties: bool) -> Suppression:
    """The cheapest of: k - 1 records blank altogether; the blanks of `original`, thinned out; what the integer program finds.

    The optimum of `original` says nothing here, because a blank helps other records too: the program has a bound of its own.
    """
    wildcard.refuse_small(problem)
    deadline = time.monotonic() + limits.seconds
    key, records = np.arange(problem.coded.size), problem.coded.count
    known = bool((problem.coded.codes >= 0).all())  # without missing values all rules say the same about the file as it is
    if not (patterns.any() if known else _wildly_unsafe(problem, key, np.zeros_like(key), records)):
        return _suppression(problem, (key, np.zeros_like(key), records), bound=0.0)
    bound = float((problem.field_cost.min() * problem.record_mass).min())
    found = [_suppression(problem, wildcard.blank_altogether(problem), bound=bound)]
    if quick:
        return replace(found[0], open_ties=1, notes=_told(1, {}))
    if problem.coded.size * len(problem.coded.tables) <= TUNING.thinned:
        units = wildcard.add_until_safe(problem, key, problem.covers(patterns), records)
        units = wildcard.take_back(problem, key, units, records)
        found.append(_suppression(problem, (key, problem.fields_of(units), records), bound=bound))
    exact = wildcard_exactly(problem, worth=min(each.cost for each in found), seconds=deadline - time.monotonic())
    bound, open_ties = max(bound, exact.bound), 1
    if exact.complete and not _wildly_unsafe(problem, exact.key, exact.mask, exact.records):
        found.append(_suppression(problem, (exact.key, exact.mask, exact.records), bound=bound))
        open_ties = int(not exact.settled)
    best = replace(min(found, key=lambda each: (round(each.cost, 9), each.second_cost)), bound=bound)
    if ties and open_ties and best.ending is Ending.OPTIMAL:
        both = best.cost + best.second_cost
        open_ties = int(wildcard_bound(problem, worth=both, seconds=deadline - time.monotonic(), ties=True) < both)
    return replace(best, open_ties=open_ties, notes=_told(open_ties, best.notes))


def _wildly_unsafe(problem: SuppressionProblem, key: IntArray, mask: IntArray, records: IntArray) -> bool:
    thresholds = np.array([threshold for _, threshold in problem.coded.tables])[:, None]
    return bool((wildcard.wildcard_totals(problem, problem.blanked(key, mask), records) < thresholds).any())


def _suppression(
    problem: SuppressionProblem, blanks: Blanks, *, bound: float, rounds: tuple[int, ...] = (), open_ties: int = 0,
    notes: Mapping[str, int] | None = None,
) -> Suppression:  # fmt: skip
    """In households the rows are records in the order of their households, and stay apart."""
    homes, (key, mask, records) = problem.coded.households, blanks
    mask = known_only(problem, key, mask)
    if homes is None:
        key, mask, records = merged(key, mask, records)
    return Suppression(
        problem=problem, key=key, mask=mask, records=records, bound=bound, rounds=rounds, home=None if homes is None else homes.home,
        open_ties=open_ties, notes=_told(open_ties, notes or {}),
    )  # fmt: skip


def _told(open_ties: int, notes: Mapping[str, int]) -> dict[str, int]:
    return {**notes, **({"ties left open": open_ties} if open_ties else {})}


def _under_caps(problem: SuppressionProblem, patterns: Words, floor: float, limits: Limits, *, quick: bool) -> Suppression:
    """Caps by an integer program that grows where a recount asks for it; by prices where it grows too large, and in rounds at last.

    `quick` does without the program where a recount would make it grow.
    """
    deadline, coded = time.monotonic() + limits.seconds, problem.coded
    grows = coded.keys.rule == "recount"
    priced = grows and coded.households is None
    seconds = limits.seconds * (TUNING.program if grows else 1)
    found = None if quick and priced else solve_jointly(problem, patterns, seconds=seconds)
    if found is not None:
        return _by_program(problem, found, floor)
    kept = _capped_by_prices(problem, patterns, floor, deadline, quick=quick) if priced else None
    return kept or _capped_in_rounds(problem, patterns, floor, deadline)


def _capped_by_prices(problem: SuppressionProblem, patterns: Words, floor: float, deadline: float, *, quick: bool) -> Suppression | None:
    """Blanks of capped fields are made dearer until good blanks keep the caps, and then the best are looked for at these prices.

    Where no blanks within the caps could cost as much as all cost at these prices, there are none.
    """
    found, began = list[Suppression](), time.monotonic()
    prices, fails, holds = problem.field_cost, problem.field_cost, None
    while len(found) < TUNING.attempts and time.monotonic() < began + TUNING.pricing * (deadline - began):
        one = _at_prices(problem, patterns, prices, floor, deadline, quick=True)
        if one is None:
            return None
        times = _times_dearer(problem, one)
        if times is None:
            found, holds = [*found, one], prices
        else:
            fails = prices
        before, prices = prices, np.sqrt(fails * holds) if holds is not None else _dearer(prices, times)
        if np.array_equal(prices, before):
            break
    found += [] if quick else _best_at_prices(problem, patterns, prices if holds is None else holds, floor, deadline)
    best = min(found, key=lambda each: each.cost, default=None)
    return best and replace(best, bound=min(best.cost, max(each.bound for each in found)))


def _best_at_prices(problem: SuppressionProblem, patterns: Words, prices: FloatArray, floor: float, deadline: float) -> list[Suppression]:
    """The best in half of the time left, and at dearer prices in the other half where it does not hold the caps: those that do."""
    middle = (time.monotonic() + deadline) / 2
    for end in (middle, deadline):
        one = _at_prices(problem, patterns, prices, floor, end, quick=False)
        times = None if one is None else _times_dearer(problem, one)
        if one is None or times is None:
            return [] if one is None else [one]
        prices = _dearer(prices, times)
    return []


def _dearer(prices: FloatArray, times: FloatArray | None) -> FloatArray:
    return prices if times is None else np.minimum(prices * times, TUNING.dearest)


def _times_dearer(problem: SuppressionProblem, found: Suppression) -> FloatArray | None:
    """How much dearer each field's blanks become where caps do not hold; None where they do."""
    caps, blanks = problem.coded.keys.caps, found.blanks
    over = [blanks[name] / max(1, caps[name]) if blanks[name] > caps.get(name, blanks[name]) else 0.0 for name in problem.coded.keys.names]
    least, most = TUNING.dearer
    return np.array([min(most, max(least, each)) if each else 1.0 for each in over]) if any(over) else None


def _at_prices(
    problem: SuppressionProblem, patterns: Words, prices: FloatArray, floor: float, deadline: float, *, quick: bool
) -> Suppression | None:
    """Blanks without caps at these prices of a field's blank; None where there is no time or the file is too large."""
    coded, seconds = problem.coded, deadline - time.monotonic()
    costs = dict(zip(coded.keys.names, prices.tolist(), strict=True))
    own = problem_of(replace(coded, keys=replace(coded.keys, costs=costs, caps={})), problem.levels, problem.maps)
    exact = recount_exactly(own, patterns, seconds=seconds, ties=False, quick=quick) if seconds > 0 else None
    if exact is None:
        return None
    bound = max(floor, _without_prices(problem, own, exact.bound))
    return _suppression(problem, (exact.key, problem.fields_of(exact.units), exact.records), bound=bound, open_ties=1)


def _without_prices(problem: SuppressionProblem, priced: SuppressionProblem, bound: float) -> float:
    """A bound on blanks within the caps at their own prices; refused where not even all of them are worth it."""
    coded, more = problem.coded, priced.field_cost - problem.field_cost
    if coded.keys.record_cost or coded.keys.linked:
        return 0.0  # a cap counts records, and each of them must cost the same
    caps = np.array([float(coded.keys.caps.get(name, 0)) for name in coded.keys.names])
    least = bound - float(more @ caps)
    if least > float(problem.field_cost.sum()) * coded.records * (1 + SAME_COST):
        raise InfeasibleProblem("No choice of blanks obeys the rule and the caps.", hint="Raise the caps, or allow more recodings.")
    return least


def _by_program(problem: SuppressionProblem, found: JointBlanks, floor: float) -> Suppression:
    rows = (found.rows[0], problem.fields_of(found.rows[1]), found.rows[2])
    return _suppression(problem, rows, bound=max(floor, found.bound), rounds=found.rounds, open_ties=int(not found.settled))


def _capped_in_rounds(problem: SuppressionProblem, patterns: Words, floor: float, deadline: float) -> Suppression:
    """What a recount finds is added to what the keys need, until it finds nothing or the caps are used up: that proves nothing then."""
    required, rounds, bound = patterns.copy(), list[int](), floor
    while True:
        try:
            step = JointProgram(problem, required).solve(seconds=max(0.1, deadline - time.monotonic()), small=False)
        except InfeasibleProblem:
            if not rounds:
                raise
            raise OutOfTime(
                "No suppression within the caps was found; it is not proved that there is none.",
                hint="Raise the caps, allow more recodings, or give more seconds.",
            ) from None
        assert step is not None
        (key, units, records), found = step
        mask = problem.fields_of(units)
        bound = bound if rounds else max(bound, found.bound)
        rounds.append(int((np.bitwise_count(mask) * records).sum()))
        more = problem.patterns(problem.blanked(key, mask), row_amount(problem, key, records))
        if not more.any():
            return _suppression(problem, (key, mask, records), bound=bound, rounds=tuple(rounds), open_ties=1)
        np.bitwise_or.at(required, key, more)


def _in_households(problem: SuppressionProblem, patterns: Words, floor: float, limits: Limits, *, quick: bool) -> Suppression:
    """One row a record. Under `recount` by the growing program, or what a recount finds is added to what the rows need in rounds."""
    homes = problem.coded.households
    assert homes is not None
    if problem.coded.keys.rule == "recount" and not quick:
        exact = solve_jointly(problem, patterns, seconds=limits.seconds / 2)
        if exact is not None:
            return _by_program(problem, exact, floor)
    required, rounds, bound = patterns[homes.key], list[int](), floor
    ones = np.ones(homes.key.size, dtype=np.int64)
    most = household_limit(problem)
    while True:
        units, cost = cover_households(problem, required) if most is None else cover_risky_households(problem, required, most)
        bound = bound if rounds else max(bound, cost)
        mask = problem.fields_of(units)
        rounds.append(int(np.bitwise_count(mask).sum()))
        if problem.coded.keys.rule == "original":
            break
        more = problem.patterns(problem.blanked(homes.key, mask), row_amount(problem, homes.key, ones))
        if not more.any():
            break
        required = required | more
    return _suppression(problem, (homes.key, mask, ones), bound=bound, rounds=tuple(rounds), open_ties=int(len(rounds) > 1))
