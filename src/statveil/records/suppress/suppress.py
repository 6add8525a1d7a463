"""`suppress`: the cheapest blanks that make a file safe under one recoding (S4, eq. 1)."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from statveil.core.arrays import IntArray
from statveil.core.errors import InfeasibleProblem, InputError, OutOfTime
from statveil.core.limits import Ending, Limits, check_seed
from statveil.data.microdata import Microdata
from statveil.records.coding import CodedFile, code_file, level_of, relaxed_models
from statveil.records.frequencies import LevelMaps, Words, distinct_patterns
from statveil.records.keys import KeyVariables
from statveil.records.suppress import wildcard
from statveil.records.suppress.covers import cheapest_covers
from statveil.records.suppress.decoys import add_decoys
from statveil.records.suppress.joint_program import JointBlanks, JointProgram, cover_households, solve_jointly
from statveil.records.suppress.problem import Suppression, SuppressionProblem, known_only, merged, problem_of, row_amount
from statveil.records.suppress.recount import recount_exactly
from statveil.records.suppress.recount_rounds import add_rounds, take_back
from statveil.records.suppress.risk_models import cover_risky_households, household_limit, take_back_judged
from statveil.records.suppress.wildcard import wildcard_exactly
from statveil.records.suppress.wildcard_bound import wildcard_bound


class SuppressTuning(NamedTuple):
    thinned: int = 200_000
    """Keys times tables up to which the blanks of `original` are thinned out for rule `wildcard`: by judgement."""


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
    """Blank as little as possible under a given recoding (by default none)."""
    check_seed(seed)
    coded = data if isinstance(data, CodedFile) else code_file(data, _given(keys))
    return with_candidates(fewest_blanks(coded, level_of(coded, recoding or {}), limits=limits or Limits()), seed=seed)


def _given(keys: KeyVariables | None) -> KeyVariables:
    if keys is None:
        raise InputError("The key fields are missing.", hint="suppress(data, KeyVariables(...)).")
    return keys


def with_candidates(found: Suppression, *, seed: int) -> Suppression:
    """With the extra blanks where candidates are asked for."""
    return add_decoys(found, seed=seed) if found.problem.coded.keys.candidates else found


def fewest_blanks(
    coded: CodedFile, levels: tuple[int, ...], *, limits: Limits, maps: LevelMaps | None = None, quick: bool = False, ties: bool = True
) -> Suppression:
    """The blanks that the rule needs; `quick` is content with good ones where the best take an integer program without end.

    Without `ties`, those between records that hang together may be left open: where only the cost is wanted.
    """
    problem = problem_of(coded, levels, maps)
    patterns = problem.patterns()
    floor = original_bound(problem, _lasting(problem, patterns))
    if coded.keys.caps:
        return _under_caps(problem, patterns, floor, limits)
    if coded.households is not None:
        return _in_households(problem, patterns, floor, limits, quick=quick)
    return _by_rule(problem, patterns, floor, limits, quick=quick, ties=ties)


def _lasting(problem: SuppressionProblem, patterns: Words) -> Words:
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
    """The integer program counts records, not what they hold: its optimum is a bound, and one of two starts of rounds of blanks, from
    which needless ones are taken back. The cheaper is the answer, and the optimum where it costs no more than the bound. `quick`: rounds
    alone."""
    keys, key, records = problem.coded.keys, np.arange(problem.coded.size), problem.coded.count
    settled = tuple(model for model in keys.models if model not in keys.judged)
    plain = problem_of(replace(problem.coded, keys=replace(keys, models=settled)), problem.levels, problem.maps)
    exact = None if quick else recount_exactly(plain, _lasting(problem, patterns), seconds=limits.seconds / 2, ties=False)
    starts, bound = [problem.covers(patterns)], floor
    if exact is not None:
        together = np.zeros_like(key)
        np.bitwise_or.at(together, exact.key, exact.units)  # which records of a key hold what is not known: all are blanked alike
        starts, bound = [*starts, together], max(floor, exact.bound)
    found = []
    for start in starts:
        units, rounds = add_rounds(problem, key, start, records)
        units = units if quick else take_back_judged(problem, units, seconds=limits.seconds / 4)
        found.append(_suppression(problem, (key, problem.fields_of(units), records), bound=bound, rounds=tuple(rounds), open_ties=1))
    return min(found, key=lambda each: (round(each.cost, 9), each.second_cost))


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


def _under_caps(problem: SuppressionProblem, patterns: Words, floor: float, limits: Limits) -> Suppression:
    """Caps by an integer program that grows where a recount asks for it; in rounds where it grows too large."""
    rounded = problem.coded.keys.rule == "recount"
    found = solve_jointly(problem, patterns, seconds=limits.seconds / (2 if rounded else 1))
    return _by_program(problem, found, floor) if found is not None else _capped_in_rounds(problem, patterns, floor, limits.seconds / 2)


def _by_program(problem: SuppressionProblem, found: JointBlanks, floor: float) -> Suppression:
    rows = (found.rows[0], problem.fields_of(found.rows[1]), found.rows[2])
    return _suppression(problem, rows, bound=max(floor, found.bound), rounds=found.rounds, open_ties=int(not found.settled))


def _capped_in_rounds(problem: SuppressionProblem, patterns: Words, floor: float, seconds: float) -> Suppression:
    """What a recount finds is added to what the keys need, until it finds nothing or the caps are used up: that proves nothing then."""
    required, rounds, bound = patterns.copy(), list[int](), floor
    deadline = time.monotonic() + seconds
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
