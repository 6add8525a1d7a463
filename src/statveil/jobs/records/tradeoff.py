"""`tradeoff_file`: what can be had for a file, from blanks alone to recoding alone, each point proved."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from statveil.core.errors import InfeasibleProblem, InputError, OutOfTime
from statveil.core.limits import Ending, Limits, OnProgress, Progress
from statveil.data.microdata import Microdata
from statveil.jobs.tradeoff.front import knee, spread_out
from statveil.records.coding import CodedFile, code_file
from statveil.records.keys import KeyVariables
from statveil.records.loss import FileLoss
from statveil.records.plan import FilePlan, plan_recoding
from statveil.records.recode.evaluate import Evaluator
from statveil.records.recode.frontier import FrontRecoding, RecodingFront

POINTS = 15


class FrontTuning(NamedTuple):
    """By judgement."""

    for_search: float = 0.7
    """Share of the time for the search, at most; the rest is for the blanks of the points."""


TUNING = FrontTuning()


@dataclass(frozen=True, kw_only=True, repr=False)
class FileTradeoffPoint:
    """A recoding with its blanks.

    recoding: by field. recoding_loss: values that it loses. blanks: how many. blank_cost, blank_bound: what they cost, and the least that
    any blanks would. loss: of each field. proved: these are the fewest, and no recoding that loses less by recoding has so few.

    >>> import pyarrow as pa, statveil as sv
    >>> people = sv.read_microdata(pa.table({"job": ["vet", "cook", "cook"]}))
    >>> (point,) = tradeoff_file(people, sv.KeyVariables(fields={"job": None}, threshold=2, order=1)).points
    >>> point.blanks, point.recoding_loss, point.proved
    (1, 0.0, True)
    """

    recoding: Mapping[str, str]
    recoding_loss: float
    blanks: int
    blank_cost: float
    blank_bound: float
    proved: bool
    loss: FileLoss

    def __repr__(self) -> str:
        proof = "proved" if self.proved else f"blanks within {self.gap:.2%}"
        return f"FileTradeoffPoint({dict(self.recoding)}, {self.recoding_loss:,.6g} lost by recoding, {self.blanks:,} blanks, {proof})"

    @property
    def total(self) -> float:
        return self.recoding_loss + self.blank_cost

    @property
    def gap(self) -> float:
        """How far the blanks are above their proved lower bound."""
        return 0.0 if self.blank_cost <= self.blank_bound * (1 + 1e-9) + 1e-9 else self.blank_cost / max(self.blank_bound, 1e-9) - 1


@dataclass(frozen=True, kw_only=True, repr=False)
class FileTradeoff:
    """A front from the least recoding to the fewest blanks, both in values lost. Confidential.

    points: what is shown of it. knee: number of the point farthest below the straight line between the ends.
    least: number of the point that loses least in all: what `plan_recoding` chooses.
    found: points of the whole front, of which those shown lie as far apart as can be. tried: recodings that were priced.
    complete: whether the front is proved to be whole. seconds: it took. coded: the keys of the records. `plan` makes any point a plan.

    >>> import pyarrow as pa, statveil as sv
    >>> people = sv.read_microdata(pa.table({"age": ["30", "31", "40", "50", "51"]}))
    >>> front = tradeoff_file(people, sv.KeyVariables(fields={"age": sv.recode.Menu.intervals(10, 100)}, threshold=2, order=1))
    >>> front.found, front.complete, front.plan(1).recoding
    (3, True, {'age': 'as it is'})
    """

    points: tuple[FileTradeoffPoint, ...]
    knee: int
    least: int
    found: int
    tried: int
    complete: bool
    seconds: float
    coded: CodedFile

    def __repr__(self) -> str:
        ends = " to ".join(f"{each.blanks:,}" for each in (self.points[0], self.points[-1]))
        return f"FileTradeoff({len(self.points)} points, {self.proved} proved, {ends} blanks, least lost in point {self.least + 1})"

    @property
    def proved(self) -> int:
        """Points that are proved."""
        return sum(point.proved for point in self.points)

    def plan(self, point: int | None = None, *, limits: Limits | None = None, seed: int = 0) -> FilePlan:
        """The plan of a point, counted from 1; without a number, of the one that loses least."""
        number = self.least + 1 if point is None else point
        if not 1 <= number <= len(self.points):
            raise InputError(f"There is no point {number}.", hint=f"Points go from 1 to {len(self.points)}.")
        return plan_recoding(self.coded, recoding=self.points[number - 1].recoding, limits=limits, seed=seed)


def tradeoff_file(
    data: Microdata | CodedFile,
    keys: KeyVariables | None = None,
    *,
    points: int = POINTS,
    limits: Limits | None = None,
    on_progress: OnProgress | None = None,
) -> FileTradeoff:
    """Every recoding that no other beats: less lost by recoding, or fewer blanks.

    data, keys: as for `plan_recoding`. points: how many to show, at most. limits: when to stop, counted from the call; what is proved until
    then is said point by point. on_progress: called with a `Progress` now and then.

    >>> import pyarrow as pa, statveil as sv
    >>> people = sv.read_microdata(pa.table({"age": ["30", "31", "40", "50", "51"]}))
    >>> keys = sv.KeyVariables(fields={"age": sv.recode.Menu.intervals(10, 100)}, threshold=2, order=1)
    >>> for point in sv.recode.tradeoff_file(people, keys).points:
    ...     print(point.recoding["age"], point.blanks, point.proved)
    as it is 5 True
    width 10 1 True
    width 100 0 True
    """
    began, limits = time.monotonic(), limits or Limits()
    if not isinstance(points, int) or isinstance(points, bool) or points < 2:
        raise InputError("points must be a whole number, two or more.")
    coded = data if isinstance(data, CodedFile) else code_file(data, keys or KeyVariables(fields={}))
    if coded.keys.rule == "wildcard":
        raise InputError("Under rule 'wildcard' two records without a value make any file safe.", hint="Use 'original' or 'recount'.")
    if coded.keys.recoding_weight != 1:  # both axes in the same unit, whatever one of them is to count
        coded = replace(coded, keys=replace(coded.keys, recoding_weight=1.0))
    run = _Front(coded, limits, began, on_progress)
    front = run.search()
    shown = spread_out([each.recoding for each in front], [each.blanks for each in front], points).tolist()
    found = [point for point in (run.point(front[place], len(shown) - number) for number, place in enumerate(shown)) if point is not None]
    if not found:
        raise InputError("No recoding was found under which the caps hold.", hint="Raise the caps, add recodings, or give more seconds.")
    totals = [point.total for point in found]
    return FileTradeoff(
        points=tuple(found),
        knee=knee([point.recoding_loss for point in found], [point.blank_cost for point in found]),
        least=totals.index(min(totals)),
        found=len(front),
        tried=run.tried,
        complete=run.complete,
        seconds=time.monotonic() - began,
        coded=coded,
    )


class _Front:
    def __init__(self, coded: CodedFile, limits: Limits, began: float, on_progress: OnProgress | None) -> None:
        self.coded, self.limits, self.began = coded, limits, began
        self._tell = on_progress or (lambda _progress: None)
        self.complete, self.tried = False, 0

    @property
    def seconds_left(self) -> float:
        return self.limits.seconds - (time.monotonic() - self.began)

    def tell(self, stage: str) -> None:
        self._tell(Progress(stage, time.monotonic() - self.began, float("inf"), 0.0, self.seconds_left))

    def search(self) -> list[FrontRecoding]:
        """The front under rule `original`, where all blanks are exact; with caps, households or recounts it need not be the whole one."""
        spare = (1 - TUNING.for_search) * self.limits.seconds
        self.front = front = RecodingFront(
            evaluator=Evaluator(coded=self.coded),
            stopped=lambda: self.seconds_left <= spare,
            on_point=lambda _number: self.tell("recodings"),
        )
        front.offer((0,) * len(self.coded.values))
        keys = self.coded.keys
        self.complete = front.run() and keys.rule == "original" and not keys.caps and not keys.household
        self.tried = front.evaluator.evaluations
        found = front.front()
        best = min(found, key=lambda each: each.recoding + each.blanks)
        shown = [each for each in found if each.proved or each is best]
        return shown if len(shown) > 2 else found

    def point(self, chosen: FrontRecoding, waiting: int) -> FileTradeoffPoint | None:
        """A point with its blanks; None where the caps do not hold there. `waiting` points share the time left."""
        self.tell("blanks of the points")
        names = {name: menu[level].name for name, menu, level in zip(self.coded.keys.names, self.coded.levels, chosen.levels, strict=True)}
        try:
            plan = plan_recoding(self.coded, recoding=names, limits=Limits(seconds=max(0.1, self.seconds_left / waiting)))
        except (InfeasibleProblem, OutOfTime):
            return None
        cost = plan.suppression.cost - plan.suppression.extra_cost
        return FileTradeoffPoint(
            recoding=names,
            recoding_loss=plan.recoding_cost,
            blanks=plan.suppression.total,
            blank_cost=cost,
            blank_bound=plan.suppression.bound,
            proved=plan.ending is Ending.OPTIMAL and self.front.proves(plan.recoding_cost, cost),
            loss=plan.loss,
        )


def front_figures(front: FileTradeoff) -> dict[str, Any]:
    """For front.json and the command line: wiped fields first in every point."""
    points = [
        {"point": number, "wiped": list(each.loss.wiped), "proved": each.proved, "total": each.total, "recoding_loss": each.recoding_loss,
         "blanks": each.blanks, "blank_cost": each.blank_cost, "blank_bound": each.blank_bound, "lost_share": each.loss.share,
         "recoding": dict(each.recoding)}
        for number, each in enumerate(front.points, start=1)
    ]  # fmt: skip
    return {"records": front.coded.records, "rule": front.coded.keys.rule, "measure": front.points[0].loss.measure,
            "values": front.points[0].loss.values, "proved": front.proved, "complete": front.complete, "found": front.found,
            "tried": front.tried, "knee": front.knee + 1, "least": front.least + 1, "points": points}  # fmt: skip
