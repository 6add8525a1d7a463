"""`plan_recoding`: the cheapest mix of recoding and blanks (S4's complete model (3)), with a proof of how good it is."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np

from statveil.core.errors import InfeasibleProblem, OutOfTime
from statveil.core.limits import Ending, Limits, OnProgress, Progress, check_seed, known
from statveil.data.microdata import Microdata
from statveil.records.coding import CodedFile, code_file, level_of, narrowed, relaxed_models
from statveil.records.keys import KeyVariables
from statveil.records.recode.branch_and_bound import RecodingBoxSearch
from statveil.records.recode.evaluate import Evaluator, Levels
from statveil.records.recode.local_search import SEARCHES, RecodingSpace, iterative_improvement
from statveil.records.recode.relaxation import dual_cuts, lagrangean, relaxed_problem
from statveil.records.suppress.problem import Suppression, problem_of
from statveil.records.suppress.suppress import fewest_blanks, with_candidates

PLANNING_METHODS = ("auto", "exact", *SEARCHES, "lagrangean", "dual-cuts")
OBJECTIVES = ("true", "relaxed")


@dataclass(frozen=True, kw_only=True)
class RecodingSearchOptions:
    """What a search goes by: the `true` cost or the `relaxed` one of eq. 5, and where it begins (by default: at random)."""

    objective: str = "true"
    start: Mapping[str, str] | None = None

    def __post_init__(self) -> None:
        known("objective", self.objective, OBJECTIVES)


@dataclass(frozen=True, kw_only=True, repr=False)
class FilePlan:
    """What will be done to a file: a recoding for each field, and blanks. Confidential: it knows every key.

    `cost` is recoding plus blanks; `bound` is a proved lower bound on it under the plan's rule; `facts` holds the figures of the method.
    coded: the file's keys, as numbers. levels: the recoding of each field, by number; suppression: the blanks. recoding_cost: without them.
    method, seed, seconds, evaluations: how it was looked for, how long, and how many recodings were priced.

    >>> import pyarrow as pa, statveil as sv
    >>> people = sv.read_microdata(pa.table({"job": ["vet", "cook", "cook"]}))
    >>> plan_recoding(people, sv.KeyVariables(fields={"job": None}, threshold=2, order=1))
    FilePlan({'job': 'as it is'}, 1 blanks, cost 1, bound 1)
    """

    coded: CodedFile
    levels: Levels
    suppression: Suppression
    recoding_cost: float
    bound: float
    method: str
    seconds: float
    evaluations: int
    seed: int = 0
    facts: Mapping[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"FilePlan({self.recoding}, {self.suppression.total:,} blanks, cost {self.cost:,.6g}, bound {self.bound:,.6g})"

    @property
    def keys(self) -> KeyVariables:
        return self.coded.keys

    @property
    def cost(self) -> float:
        return self.recoding_cost + self.suppression.cost

    @property
    def gap(self) -> float:
        """How far above the bound, extra blanks against guessing apart."""
        needed = self.cost - self.suppression.extra_cost
        if needed <= self.bound * (1 + 1e-9) + 1e-9:
            return 0.0
        return (needed - self.bound) / self.bound if self.bound > 0 else math.inf

    @property
    def ending(self) -> Ending:
        return Ending.OPTIMAL if self.gap == 0 else Ending.FEASIBLE

    @property
    def recoding(self) -> dict[str, str]:
        """The recoding chosen for each field, by name."""
        names = self.coded.keys.names
        return {name: self.coded.levels[place][level].name for place, (name, level) in enumerate(zip(names, self.levels, strict=True))}

    def mapping(self) -> dict[str, dict[str, str]]:
        """Old value to new value, for every field that is recoded; what is missing stays so."""
        found = {}
        for place, (name, level) in enumerate(zip(self.coded.keys.names, self.levels, strict=True)):
            if level:
                chosen = self.coded.levels[place][level]
                known = self.coded.values[place][: -1 if self.coded.missing_as[place] is not None else None]
                found[name] = {old: chosen.values[chosen.code[code]] for code, old in enumerate(known)}
        return found


def plan_recoding(
    data: Microdata | CodedFile,
    keys: KeyVariables | None = None,
    *,
    method: str = "auto",
    search: RecodingSearchOptions | None = None,
    recoding: Mapping[str, str] | None = None,
    limits: Limits | None = None,
    seed: int = 0,
    on_progress: OnProgress | None = None,
) -> FilePlan:
    """Choose a recoding and blanks.

    data: records, or a file coded already. keys: the key fields and the rule.
    method: `auto` and `exact` prove their answer by boxes; `iterative-improvement`, `repeated-improvement`, `tabu`, `annealing` are the
    searches of Hurkens and Tiourine (S4); `lagrangean` is its s.3.3, `dual-cuts` repeats the dual weights (s.3.2).
    search: on which cost the searches work and where they begin (`auto` begins with no recoding).
    recoding: what these fields get, which may be "as it is"; the others are planned.
    limits: when to stop. seed: of the searches. on_progress: called with a `Progress` now and then.

    >>> import pyarrow as pa, statveil as sv
    >>> people = sv.read_microdata(pa.table({"job": ["vet", "cook", "cook", "cook"], "town": ["Urk"] * 4}))
    >>> plan_recoding(people, sv.KeyVariables(fields={"job": None, "town": None}, threshold=3, order=1)).suppression.blanks
    {'job': 1, 'town': 0}
    """
    known("method", method, PLANNING_METHODS)
    check_seed(seed)
    limits, search = limits or Limits(), search or RecodingSearchOptions()
    coded = data if isinstance(data, CodedFile) else code_file(data, keys or KeyVariables(fields={}))
    if recoding and any(name not in recoding for name in coded.keys.names):
        free = plan_recoding(narrowed(coded, recoding), method=method, search=search, limits=limits, seed=seed, on_progress=on_progress)
        levels = level_of(coded, free.recoding)
        return replace(free, coded=coded, levels=levels, suppression=replace(free.suppression, problem=problem_of(coded, levels)))
    run = _Planning(coded, limits, seed, on_progress)
    if recoding:
        return run.finish(level_of(coded, recoding), "given", bound=None)
    first = level_of(coded, search.start) if search.start is not None else None
    if method in ("auto", "exact"):
        return run.by_boxes(first or (0,) * len(coded.values), method)
    if method == "lagrangean":
        return run.by_lagrangean()
    if method == "dual-cuts":
        return run.by_cuts()
    return run.by_search(method, search.objective, first)


class _Planning:
    """One planning: the evaluator, the clock, and what the user is told."""

    def __init__(self, coded: CodedFile, limits: Limits, seed: int, on_progress: OnProgress | None) -> None:
        self.coded, self.limits, self.seed = coded, limits, seed
        self.evaluator = Evaluator(coded=coded)
        relaxed = relaxed_models(coded)
        self.floor = self.evaluator if relaxed is coded else Evaluator(coded=relaxed, shared_maps=self.evaluator.maps)
        self.began = time.monotonic()
        self._tell = on_progress or (lambda _progress: None)
        self.stage, self.best, self.bound = "start", math.inf, 0.0
        self.found: dict[tuple[Levels, bool, bool], Suppression | None] = {}
        self.open: set[Levels] = set()

    def stopped(self) -> bool:
        return time.monotonic() - self.began > self.limits.seconds

    @property
    def seconds_left(self) -> float:
        return max(1.0, self.limits.seconds - (time.monotonic() - self.began))

    def tell(self, stage: str | None = None, *, best: float = math.inf, bound: float = 0.0) -> None:
        self.stage, self.best, self.bound = stage or self.stage, min(self.best, best), max(self.bound, bound)
        seconds = time.monotonic() - self.began
        self._tell(Progress(self.stage, seconds, self.best, self.bound, self.limits.seconds - seconds))

    def space(self, price: Any = None) -> RecodingSpace:
        rng = np.random.Generator(np.random.PCG64(self.seed))
        better = (lambda _levels, value: self.tell(best=value)) if price is None else (lambda _levels, _value: None)
        return RecodingSpace(menu=self.evaluator.menu, price=price or self.price, rng=rng, stopped=self.stopped, on_better=better)

    def price(self, levels: Levels) -> float:
        """Recoding plus blanks under the plan's own rule; good blanks rather than the best where those take an integer program."""
        return self.evaluator.cost(levels) if self.plain else self._priced(levels, quick=True)[0]

    @property
    def plain(self) -> bool:
        """Whether records are independent of each other, so that the evaluator's cost is the true one."""
        keys = self.coded.keys
        return keys.rule == "original" and not keys.caps and not keys.household

    @property
    def _judged_again(self) -> bool:
        """Whether a blank may mend what a risk model calls unsafe in other records."""
        return self.coded.keys.rule == "recount" and self.floor is not self.evaluator

    def blanks(self, levels: Levels, *, quick: bool, ties: bool = False) -> Suppression | None:
        """Found once for each recoding; None where the caps do not hold under it: under another they may.

        Recodings of which it is not proved that none exist are kept as open.
        """
        asked = levels, quick, ties
        if asked not in self.found:
            limits = Limits(seconds=self.seconds_left, gap=self.limits.gap)
            try:
                self.found[asked] = fewest_blanks(self.coded, levels, limits=limits, maps=self.evaluator.maps, quick=quick, ties=ties)
            except InfeasibleProblem:
                self.found[asked] = None
            except OutOfTime:
                self.found[asked] = None
                self.open.add(levels)
        return self.found[asked]

    def settled(self, levels: Levels) -> Suppression | None:
        """The blanks with ties settled; those that gave the recoding its price where there is no time left for as good ones."""
        priced, keys = self.found.get((levels, False, False)), self.coded.keys
        if priced is not None and (not priced.open_ties or keys.caps or keys.household):
            return priced
        found = [each for each in (self.blanks(levels, quick=False, ties=True), priced) if each is not None]
        if not found:
            return None
        best = min(found, key=lambda each: (round(each.cost, 9), each.second_cost))
        return replace(best, bound=max(each.bound for each in found))

    def _priced(self, levels: Levels, *, quick: bool) -> tuple[float, float]:
        """Cost and a bound on it."""
        found, recoding = self.blanks(levels, quick=quick), self.evaluator.recoding(levels)
        if found is None:
            return math.inf, (self.floor.cost(levels) if levels in self.open else math.inf)
        return recoding + found.cost, recoding + found.bound

    def by_boxes(self, start: Levels, method: str, *, facts: Mapping[str, Any] | None = None) -> FilePlan:
        self.tell("improvement")
        space = self.space(self.price if self.coded.keys.rule == "wildcard" else self.evaluator.cost)
        iterative_improvement(space, start)
        search = RecodingBoxSearch(
            evaluator=self.evaluator,
            leaf=lambda levels: self._leaf(levels, search.value),
            blanks=self.floor.blanks if self.coded.keys.rule != "wildcard" else lambda _levels: 0.0,
            stopped=self.stopped,
            on_bound=lambda bound: self.tell(bound=bound),
            gap=self.limits.gap,
        )
        search.offer(space.best or start)  # none where nothing that was priced obeys the rule
        self.tell("boxes", best=search.value)
        proved = search.run()
        if search.best is None:
            if self.open or not proved:
                raise self._none_found()
            raise InfeasibleProblem("No recoding and no blanks obey the rule and the caps.", hint="Raise the caps, or add recodings.")
        return self.finish(search.best, method, bound=search.bound, facts={**(facts or {}), "boxes": search.boxes, "proved": proved})

    def _none_found(self) -> OutOfTime:
        return OutOfTime(
            "No suppression within the caps was found; it is not proved that there is none.",
            hint="Raise the caps, add recodings, or give more seconds.",
        )

    def _leaf(self, levels: Levels, best: float) -> tuple[float, float]:
        """The full price of a recoding and its bound. The evaluator's cost is a bound unless blanks help others (rule `wildcard`)."""
        if self.plain:
            return (self.evaluator.cost(levels),) * 2
        wild = self.coded.keys.rule == "wildcard"
        least = self.evaluator.recoding(levels) if wild else self.floor.cost(levels)
        return (math.inf, least) if least >= best else self._priced(levels, quick=self.stopped())

    def by_search(self, method: str, objective: str, start: Levels | None) -> FilePlan:
        self.tell(method)
        facts: dict[str, Any] = {"objective": objective}
        bound = None
        if objective == "relaxed":
            relaxed = relaxed_problem(self.evaluator, (0,) * len(self.coded.values), seconds=self.seconds_left)
            everywhere = relaxed.everywhere()
            bound = None if everywhere is None else float(everywhere.min())
            price = cache(relaxed.price)
            space = self.space(price)
            SEARCHES[method](space, start)
            facts |= {"relaxed bound (eq. 5)": bound, "evaluations of eq. 5": price.cache_info().misses}
        else:
            space = self.space()
            SEARCHES[method](space, start)
        return self._kept(space.best, method, bound=bound, facts=facts)

    def _kept(self, levels: Levels | None, method: str, *, bound: float | None, facts: Mapping[str, Any]) -> FilePlan:
        """Finish with this recoding; where caps do not hold under it, look by boxes for one under which they do."""
        if levels is not None and self.settled(levels) is not None:
            return self.finish(levels, method, bound=bound, facts=facts)
        return self.by_boxes(levels or (0,) * len(self.coded.values), method, facts=facts)

    def by_lagrangean(self) -> FilePlan:
        """Subgradient on (7); the best recoding on which the tables agree by vote is improved on the true cost."""
        self.tell("dual weights")
        relaxed = relaxed_problem(self.evaluator, (0,) * len(self.coded.values), seconds=self.seconds_left)
        everywhere = relaxed.everywhere()
        upper = float(everywhere.min()) if everywhere is not None else relaxed.price((0,) * len(self.coded.values))
        self.tell("subgradient")
        found = lagrangean(relaxed, self.evaluator.menu, upper=upper)
        space = self.space()
        iterative_improvement(space, found.levels)
        facts = {
            "lagrangean bound (eq. 7)": found.bound,
            "relaxed bound (eq. 5)": upper if everywhere is not None else None,
            "subgradient steps": found.steps,
        }
        return self._kept(space.best or found.levels, "lagrangean", bound=found.bound, facts=facts)

    def by_cuts(self) -> FilePlan:
        self.tell("dual cuts")
        found = dual_cuts(self.evaluator, seconds=self.seconds_left, stopped=self.stopped)
        if found is None:
            return self.by_lagrangean()
        return self._kept(found.levels, "dual-cuts", bound=max(found.bounds), facts={"bounds by round": list(found.bounds)})

    def finish(self, levels: Levels, method: str, *, bound: float | None, facts: Mapping[str, Any] | None = None) -> FilePlan:
        """The blanks under the chosen recoding by the plan's own rule, and everything in one object."""
        self.tell("blanks")
        found = self.settled(levels)
        if found is None and levels in self.open:
            raise self._none_found()
        if found is None:
            raise InfeasibleProblem("No blanks obey the rule and the caps under this recoding.", hint="Raise the caps, or recode more.")
        suppression = with_candidates(found, seed=self.seed)
        recoding = self.evaluator.recoding(levels)
        if method == "given":
            bound = recoding + suppression.bound
        elif method not in ("auto", "exact") and (self.coded.keys.rule == "wildcard" or self._judged_again):
            bound = None  # blanks help other records there: the bounds of rule `original` do not hold
        plan = FilePlan(
            coded=self.coded,
            levels=levels,
            suppression=suppression,
            recoding_cost=recoding,
            bound=bound or 0.0,
            method=method,
            seconds=time.monotonic() - self.began,
            evaluations=self.evaluator.evaluations,
            seed=self.seed,
            facts=facts or {},
        )
        self.tell("planned", best=plan.cost, bound=plan.bound)
        return plan
