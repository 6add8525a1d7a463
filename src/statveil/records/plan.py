"""`plan_recoding`: the cheapest mix of recoding and blanks (S4's complete model (3)), with a proof of how good it is."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import Any, NamedTuple

import numpy as np

from statveil.core.errors import InfeasibleProblem, OutOfTime
from statveil.core.limits import Ending, Limits, OnProgress, Progress, check_seed, known
from statveil.data.microdata import Microdata
from statveil.records.coding import CodedFile, code_file, level_of, narrowed
from statveil.records.frequencies import Words
from statveil.records.keys import KeyVariables
from statveil.records.loss import FileLoss, loss_of
from statveil.records.plan_frames import InternalPlan
from statveil.records.recode.branch_and_bound import RecodingBoxSearch
from statveil.records.recode.evaluate import Evaluator, Levels, RestrictedEvaluator
from statveil.records.recode.local_search import SEARCHES, RecodingSearchOptions, RecodingSpace, iterative_improvement
from statveil.records.recode.relaxation import dual_cuts, lagrangean, relaxed_problem
from statveil.records.suppress.problem import Suppression, problem_of
from statveil.records.suppress.suppress import fewest_blanks, with_candidates

PLANNING_METHODS = ("auto", "exact", *SEARCHES, "lagrangean", "dual-cuts", "restricted")


class PlanningTuning(NamedTuple):
    """By judgement."""

    bounding_boxes: int = 4_000
    """Boxes of recodings looked at for the bound of a method that has none, at most."""
    reserve: float = 0.05
    """Share of the time that is kept for the blanks of the recoding chosen."""
    search: float = 0.6
    """Share of the time in which a search looks for recodings, at most."""
    leaf: float = 0.5
    """Share of the time left that one recoding's blanks may take while others wait."""
    recounts: float = 6.0
    """Under `recount` what is kept for the blanks is so many times what counting the file takes, where that is more."""
    instant: float = 0.2
    """Seconds below which no integer program is begun."""


TUNING = PlanningTuning()


@dataclass(frozen=True, kw_only=True, repr=False)
class FilePlan:
    """What will be done to a file: a recoding for each field, and blanks. Confidential: it knows every key.

    `cost` is recoding plus blanks; `bound` is a proved lower bound on it under the plan's rule; `loss` is what is lost, in values, wiped
    fields first; `blanks_alone` is the cost of the plan without recoding, where it was priced. `facts` holds the figures of the method.
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
    blanks_alone: float | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        wiped = f"wiped: {', '.join(self.loss.wiped)}; " if self.loss.wiped else ""
        return f"FilePlan({wiped}{self.recoding}, {self.suppression.total:,} blanks, cost {self.cost:,.6g}, bound {self.bound:,.6g})"

    @property
    def internal(self) -> InternalPlan:
        """Field by field, for `internal.to_pandas()` and the like. Confidential."""
        return InternalPlan(self)

    @property
    def keys(self) -> KeyVariables:
        return self.coded.keys

    @property
    def cost(self) -> float:
        return self.recoding_cost + self.suppression.cost

    @cached_property
    def loss(self) -> FileLoss:
        return loss_of(self.coded, self.levels, self.suppression)

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
    searches of Hurkens and Tiourine (S4); `lagrangean` is its s.3.3, `dual-cuts` repeats the dual weights (s.3.2); `restricted` is its
    model (2), where recodings help one at a time: the best recoding under it, with the blanks that this recoding really needs.
    search: on which cost the searches work and where they begin (`auto` begins with no recoding).
    recoding: what these fields get, which may be "as it is"; the others are planned.
    limits: when to stop, counted from the call. seed: of the searches. on_progress: called with a `Progress` now and then.

    >>> import pyarrow as pa, statveil as sv
    >>> people = sv.read_microdata(pa.table({"job": ["vet", "cook", "cook", "cook"], "town": ["Urk"] * 4}))
    >>> plan_recoding(people, sv.KeyVariables(fields={"job": None, "town": None}, threshold=3, order=1)).suppression.blanks
    {'job': 1, 'town': 0}
    """
    known("method", method, PLANNING_METHODS)
    check_seed(seed)
    began = time.monotonic()
    limits, search = limits or Limits(), search or RecodingSearchOptions()
    coded = data if isinstance(data, CodedFile) else code_file(data, keys or KeyVariables(fields={}))
    if recoding and any(name not in recoding for name in coded.keys.names):
        left = replace(limits, seconds=max(TUNING.instant, limits.seconds - (time.monotonic() - began)))
        free = plan_recoding(narrowed(coded, recoding), method=method, search=search, limits=left, seed=seed, on_progress=on_progress)
        levels = level_of(coded, free.recoding)
        return replace(free, coded=coded, levels=levels, suppression=replace(free.suppression, problem=problem_of(coded, levels)))
    run = _Planning(coded, limits, seed, on_progress, began)
    if recoding:
        return run.finish(level_of(coded, recoding), "given", bound=None)
    first = level_of(coded, search.start) if search.start is not None else None
    if method in ("auto", "exact"):
        return run.by_boxes(first or run.finest, method)
    if method in SEARCHES:
        return run.by_search(method, search, first)
    return {"lagrangean": run.by_lagrangean, "dual-cuts": run.by_cuts, "restricted": run.by_restricted}[method]()


class _Planning:
    """One planning: the evaluator, the clock, and what the user is told."""

    def __init__(self, coded: CodedFile, limits: Limits, seed: int, on_progress: OnProgress | None, began: float) -> None:
        self.coded, self.limits, self.seed, self.began = coded, limits, seed, began
        self.evaluator = Evaluator(coded=coded)
        self.finest: Levels = (0,) * len(coded.values)
        self._tell = on_progress or (lambda _progress: None)
        self.stage, self.best, self.bound = "start", math.inf, 0.0
        self.found: dict[tuple[Levels, bool, bool], Suppression | None] = {}
        self.open: set[Levels] = set()
        self.counting = 0.0
        """Seconds that counting all combinations took."""

    def stopped(self) -> bool:
        """Whether the time of the search is up; a little is kept for the blanks."""
        return self.seconds_left <= TUNING.reserve * self.limits.seconds

    @property
    def seconds_left(self) -> float:
        return self.limits.seconds - (time.monotonic() - self.began)

    def tell(self, stage: str | None = None, *, best: float = math.inf, bound: float = 0.0) -> None:
        self.stage, self.best, self.bound = stage or self.stage, min(self.best, best), max(self.bound, bound)
        self._tell(Progress(self.stage, time.monotonic() - self.began, self.best, self.bound, self.seconds_left))

    def space(self, price: Any = None, options: RecodingSearchOptions | None = None) -> RecodingSpace:
        rng = np.random.Generator(np.random.PCG64(self.seed))
        better = (lambda _levels, value: self.tell(best=value)) if price is None else (lambda _levels, _value: None)
        return RecodingSpace(menu=self.evaluator.menu, price=price or self.price, rng=rng, stopped=self._searched, on_better=better,
                             options=options or RecodingSearchOptions())  # fmt: skip

    def _searched(self) -> bool:
        """Whether the time to look for recodings is up: bound and blanks take the rest."""
        return self.seconds_left <= max((1 - TUNING.search) * self.limits.seconds, self._for_blanks)

    @property
    def _for_blanks(self) -> float:
        """What rounds of recounts will take at the least; on a busy machine they take longer, as the first count did."""
        return TUNING.recounts * self.counting if self.coded.keys.rule == "recount" else 0.0

    def _count(self, levels: Levels) -> None:
        began = time.monotonic()
        self.evaluator.blanks(levels)
        self.counting = time.monotonic() - began

    def price(self, levels: Levels) -> float:
        """Recoding plus blanks; under `recount` the blanks of `original`, which are nearly as many, and good ones for caps and the like."""
        keys = self.coded.keys
        apart = keys.rule != "wildcard" and not keys.caps and not keys.household
        return self.evaluator.cost(levels) if apart else self._priced(levels, quick=True)[0]

    @property
    def plain(self) -> bool:
        """Whether records are independent of each other, so that the evaluator's cost is the true one."""
        keys = self.coded.keys
        return keys.rule == "original" and not keys.caps and not keys.household

    @property
    def _judged_again(self) -> bool:
        """Whether a blank may mend what a risk model calls unsafe in other records."""
        return self.evaluator.least is not self.evaluator

    @property
    def _ties_stay(self) -> bool:
        """Whether ties are left open: under `recount`, what models judge again is found in rounds."""
        return self.coded.keys.rule == "recount" and self.coded.judge is not None

    def blanks(self, levels: Levels, *, quick: bool, ties: bool = False, share: float = 1.0) -> Suppression | None:
        """Found once for each recoding; None where the caps do not hold under it: under another they may.

        Recodings of which it is not proved that none exist are kept as open. `share` is that of the time left.
        """
        left = max(TUNING.instant, share * self.seconds_left)
        asked = levels, quick or left <= TUNING.instant, ties and not self._ties_stay
        if asked not in self.found:
            limits = Limits(seconds=left, gap=self.limits.gap)
            try:
                self.found[asked] = fewest_blanks(self.coded, levels, limits=limits, maps=self.evaluator.maps, quick=asked[1],
                                                  ties=ties, patterns=self._known_patterns(levels))  # fmt: skip
            except InfeasibleProblem:
                self.found[asked] = None
            except OutOfTime:
                self.found[asked] = None
                self.open.add(levels)
        return self.found[asked]

    def _known_patterns(self, levels: Levels) -> Words | None:
        """What the evaluator has counted already."""
        return self.evaluator.patterns(levels).copy() if levels in self.evaluator.seen else None

    def settled(self, levels: Levels) -> Suppression | None:
        """The best blanks known of a recoding, with ties settled where that can be done in time."""
        keys = self.coded.keys
        before = self._known(levels)
        done = any(each.ties_settled or (each.ending is Ending.OPTIMAL and (keys.caps or keys.household)) for each in before)
        if not done and (not before or not self.stopped()):
            self.blanks(levels, quick=False, ties=True)
        found = self._known(levels)
        if not found:
            return None
        best = min(found, key=lambda each: (round(each.cost, 9), not each.ties_settled, each.second_cost))
        return replace(best, bound=max(each.bound for each in found))

    def _priced(self, levels: Levels, *, quick: bool) -> tuple[float, float]:
        """Cost and a bound on it."""
        alone = self.coded.keys.rule == "wildcard" or all(size == 1 for size in self.evaluator.menu)
        found, recoding = self.blanks(levels, quick=quick, share=1.0 if alone else TUNING.leaf), self.evaluator.recoding(levels)
        if found is None:
            return math.inf, (self._least(levels) if levels in self.open else math.inf)
        return recoding + found.cost, recoding + found.bound

    def by_boxes(self, start: Levels, method: str, *, facts: Mapping[str, Any] | None = None) -> FilePlan:
        self.tell("improvement")
        self._count(start)
        space = self.space(self.price if self.coded.keys.rule == "wildcard" else self.evaluator.cost)
        iterative_improvement(space, start)
        search = self._boxes(lambda levels: self._leaf(levels, search.value), on_bound=lambda bound: self.tell(bound=bound))
        first = space.best or start  # none where nothing that was priced obeys the rule
        least = 0.0 if self.plain else self._cheap_bound(self._least(first), blanks_follow=True)  # before blanks that may take all the time
        search.offer(first)
        self.tell("boxes", best=search.value)
        proved = search.run()
        if search.best is None:
            if self.open or not proved:
                raise self._none_found()
            raise InfeasibleProblem("No recoding and no blanks obey the rule and the caps.", hint="Raise the caps, or add recodings.")
        best = self._no_worse_than_blanks(search.best) or search.best
        bound = max(search.bound, min(least, search.value)) or self._least_step(search.value)
        return self.finish(best, method, bound=bound, facts={**(facts or {}), "boxes": search.boxes, "proved": proved})

    def _boxes(self, leaf: Callable[[Levels], tuple[float, float]], *, on_bound: Callable[[float], None]) -> RecodingBoxSearch:
        return RecodingBoxSearch(
            evaluator=self.evaluator,
            leaf=leaf,
            blanks=self._least_wild if self.coded.keys.rule == "wildcard" else self.evaluator.floor.blanks,
            stopped=self.stopped,
            on_bound=on_bound,
            gap=self.limits.gap,
        )

    def _least_wild(self, levels: Levels) -> float:
        """Under `wildcard` blanks help others, and the cheapest one is all that unsafe combinations prove to be needed."""
        unsafe = self._all_known and self.evaluator.blanks(levels) > 0  # unknown values match others already
        return self._least_blank if unsafe else 0.0

    @cached_property
    def _all_known(self) -> bool:
        return bool((self.coded.codes >= 0).all())

    @cached_property
    def _least_blank(self) -> float:
        problem = self.evaluator.problem
        return float(problem.field_cost.min() * problem.record_mass.min())

    def _cheap_bound(self, value: float, *, blanks_follow: bool = False) -> float:
        """A bound on every plan, from boxes of recodings and what is known of single ones: what any method can say of its answer."""
        search = self._boxes(lambda levels: (math.inf, self._least_known(levels)), on_bound=lambda _bound: None)
        search.value, search.most_boxes = value, TUNING.bounding_boxes
        least = self._for_blanks if blanks_follow and self._for_blanks else -0.5 * TUNING.reserve * self.limits.seconds
        search.stopped = lambda: self.seconds_left < least  # most boxes were looked at before
        search.run()
        return search.bound or self._least_step(value)

    def _least_known(self, levels: Levels) -> float:
        return max([self._least(levels), *(self.evaluator.recoding(levels) + each.bound for each in self._known(levels))])

    def _least_step(self, value: float) -> float:
        """No plan is free where the file as it stands is not safe: the cheapest blank or the cheapest recoding is the least."""
        wild = self.blanks(self.finest, quick=True) if self.coded.keys.rule == "wildcard" else None
        if not self.evaluator.blanks(self.finest) or (wild is not None and not wild.total):
            return 0.0
        steps = [cost for costs in self.evaluator.costs for cost in costs[1:]]
        return float(min([value, self._least_blank, *steps]))

    def _none_found(self) -> OutOfTime:
        return OutOfTime(
            "No suppression within the caps was found; it is not proved that there is none.",
            hint="Raise the caps, add recodings, or give more seconds.",
        )

    def _least(self, levels: Levels) -> float:
        """What a recoding costs at the least. Under `original` that is the evaluator's cost; where blanks help others, less."""
        wild = self.coded.keys.rule == "wildcard"
        return self.evaluator.recoding(levels) + self._least_wild(levels) if wild else self.evaluator.least.cost(levels)

    def _leaf(self, levels: Levels, best: float) -> tuple[float, float]:
        """The full price of a recoding and its bound."""
        least = self._least(levels)
        if self.plain:
            return least, least
        return (math.inf, least) if least >= best else self._priced(levels, quick=self.stopped())

    def by_search(self, method: str, options: RecodingSearchOptions, start: Levels | None) -> FilePlan:
        self.tell(method)
        facts: dict[str, Any] = {"objective": options.objective}
        bound = 0.0
        if options.objective == "relaxed":
            relaxed = relaxed_problem(self.evaluator, self.finest, seconds=self.seconds_left)
            everywhere = relaxed.everywhere()
            price = cache(relaxed.price)
            space = self.space(price, options)
            SEARCHES[method](space, start)
            facts |= {"relaxed bound (eq. 5)": None if everywhere is None else float(everywhere.min())}
            facts |= {"evaluations of eq. 5": price.cache_info().misses}
            bound = facts["relaxed bound (eq. 5)"] or 0.0
        else:
            space = self.space(options=options)
            SEARCHES[method](space, start)
        facts["searched"] = space.looks
        return self._kept(space.best, method, bound=bound, facts=facts)

    def by_restricted(self) -> FilePlan:
        """The best recoding of S4's model (2), proved by boxes; its blanks are those that the complete model needs, which are fewer."""
        self.tell("restricted")
        evaluator = RestrictedEvaluator(coded=self.coded)
        falling = self.evaluator.floor is self.evaluator  # coarser values leave less unsafe; of other models boxes know nothing
        search = RecodingBoxSearch(evaluator=evaluator, leaf=lambda levels: (evaluator.cost(levels),) * 2,
                                   blanks=evaluator.blanks if falling else lambda _levels: 0.0,
                                   stopped=self.stopped, on_bound=lambda _bound: None, gap=self.limits.gap)  # fmt: skip
        space = self.space(evaluator.cost)
        iterative_improvement(space, self.finest)
        search.offer(space.best or self.finest)
        proved = search.run()
        facts = {"cost of model (2)": search.value, "bound of model (2)": search.bound, "proved in model (2)": proved}
        return self._kept(search.best, "restricted", bound=0.0, facts=facts)

    def _kept(self, levels: Levels | None, method: str, *, bound: float, facts: Mapping[str, Any]) -> FilePlan:
        """Finish with this recoding, or none if that is cheaper; where caps do not hold under it, look by boxes for one where they do.

        Whatever the method proves, boxes may prove more; its bounds, eqs 4 to 7, say nothing where blanks help other records.
        """
        bound = 0.0 if self.coded.keys.rule == "wildcard" or self._judged_again else bound
        if levels is not None and not self.plain:
            bound = max(bound, self._cheap_bound(self._least(levels), blanks_follow=True))  # while there is time
        levels = self._no_worse_than_blanks(levels)
        found = None if levels is None else self.settled(levels)
        if levels is None or found is None:
            return self.by_boxes(levels or self.finest, method, facts=facts)
        value = self.evaluator.recoding(levels) + found.cost
        return self.finish(levels, method, bound=max(min(bound, value), self._cheap_bound(value)), facts=facts)

    def _no_worse_than_blanks(self, levels: Levels | None) -> Levels | None:
        """This recoding, or none at all where the blanks alone are cheaper."""
        if levels is None or levels == self.finest or self._least(self.finest) >= self._value(levels):
            return levels
        return min((levels, self.finest), key=self._value)

    def _value(self, levels: Levels) -> float:
        """The least cost known of a recoding."""
        if self.plain:
            return self.evaluator.cost(levels)
        found = [each.cost for each in self._known(levels)]
        return self.evaluator.recoding(levels) + min(found) if found else self._priced(levels, quick=True)[0]

    def _known(self, levels: Levels) -> list[Suppression]:
        """The blanks found so far under a recoding."""
        return [each for (own, _, _), each in self.found.items() if own == levels and each is not None]

    def by_lagrangean(self) -> FilePlan:
        """Subgradient on (7); the best recoding on which the tables agree by vote is improved on the true cost."""
        self.tell("dual weights")
        relaxed = relaxed_problem(self.evaluator, self.finest, seconds=self.seconds_left)
        everywhere = relaxed.everywhere()
        upper = float(everywhere.min()) if everywhere is not None else relaxed.price(self.finest)
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
        plan = FilePlan(
            coded=self.coded,
            levels=levels,
            suppression=suppression,
            recoding_cost=recoding,
            bound=recoding + suppression.bound if bound is None else bound,
            method=method,
            seconds=time.monotonic() - self.began,
            evaluations=self.evaluator.evaluations,
            seed=self.seed,
            blanks_alone=self._blanks_alone(),
            facts=facts or {},
        )
        self.tell("planned", best=plan.cost, bound=plan.bound)
        return plan

    def _blanks_alone(self) -> float | None:
        """The cost without any recoding, where it is known."""
        return self._value(self.finest) if self.plain or self._known(self.finest) else None
