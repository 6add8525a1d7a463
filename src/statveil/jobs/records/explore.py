"""The loop that S4 s.2.4 asks for: change costs or force a recoding, see risk and loss at once, go back, keep what pleases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from statveil.core.errors import InputError
from statveil.core.limits import Limits
from statveil.core.toml import to_toml
from statveil.data.microdata import Microdata
from statveil.publish.report.files.script import job_content
from statveil.records.coding import CodedFile, code_file, level_of
from statveil.records.keys import KeyVariables
from statveil.records.plan import FilePlan, plan_recoding
from statveil.records.recode.evaluate import Evaluator, Levels
from statveil.records.recode.recodings import AS_IT_IS


@dataclass(frozen=True, kw_only=True)
class RiskAndLoss:
    """Risk and loss of one recoding: unsafe records before any blank, the cost of recoding and of the blanks it leaves.

    Blanks are priced under rule `original`, which takes no time; under `recount` they cost at least as much, and `plan()` tells.
    """

    recoding: Mapping[str, str]
    unsafe_records: int
    recoding_cost: float
    blank_cost: float

    @property
    def cost(self) -> float:
        return self.recoding_cost + self.blank_cost


class _ExplorerState(NamedTuple):
    coded: CodedFile
    levels: Levels
    forced: frozenset[str]


class RecodingExplorer:
    """A recoding under the user's hand. Every change is priced incrementally; `undo` goes back one step.

    data: the records. coded: their keys. `explore_recoding` makes one of both.

    >>> import pyarrow as pa, statveil as sv
    >>> people = sv.read_microdata(pa.table({"job": ["vet", "cook", "cook"]}))
    >>> explore_recoding(people, sv.KeyVariables(fields={"job": None}, threshold=2, order=1))
    RecodingExplorer(nothing recoded; 1 of 3 records unsafe; recoding 0 + blanks 1; 0 steps)
    """

    def __init__(self, data: Microdata, coded: CodedFile) -> None:
        self._data = data
        self._states = [_ExplorerState(coded, (0,) * len(coded.values), frozenset())]
        self._evaluator = Evaluator(coded=coded)

    def __repr__(self) -> str:
        """Where things stand, in a line; steps are what `undo` can go back."""
        glance, steps = self.look(), len(self._states) - 1
        recoded = ", ".join(f"{name}: {level}" for name, level in glance.recoding.items() if level != AS_IT_IS) or "nothing recoded"
        cost = f"recoding {glance.recoding_cost:,.6g} + blanks {glance.blank_cost:,.6g}"
        unsafe = f"{glance.unsafe_records:,} of {self._coded.records:,} records unsafe"
        return f"RecodingExplorer({recoded}; {unsafe}; {cost}; {steps} {'step' if steps == 1 else 'steps'})"

    @property
    def _coded(self) -> CodedFile:
        return self._states[-1].coded

    @property
    def _levels(self) -> Levels:
        return self._states[-1].levels

    @property
    def recoding(self) -> dict[str, str]:
        names = self._coded.keys.names
        return {name: self._coded.levels[place][self._levels[place]].name for place, name in enumerate(names)}

    @property
    def menus(self) -> dict[str, list[str]]:
        """The recodings that each field may take, by name, from as it is to the coarsest."""
        return {name: [level.name for level in self._coded.levels[place]] for place, name in enumerate(self._coded.keys.names)}

    def look(self) -> RiskAndLoss:
        """Where things stand."""
        levels = self._levels
        unsafe = self._evaluator.patterns(levels).any(axis=1)
        return RiskAndLoss(
            recoding=self.recoding,
            unsafe_records=int(self._coded.count[unsafe].sum()),
            recoding_cost=self._evaluator.recoding(levels),
            blank_cost=self._evaluator.blanks(levels),
        )

    def recode(self, **chosen: str) -> RiskAndLoss:
        """Force the recodings named, `explorer.recode(age="width 10")`, and see what follows."""
        return self.recode_all(chosen)

    def recode_all(self, chosen: Mapping[str, str]) -> RiskAndLoss:
        """The same for fields whose names are no Python words."""
        return self._enter(self._coded, level_of(self._coded, {**self.recoding, **chosen}), self.forced | set(chosen))

    @property
    def forced(self) -> frozenset[str]:
        """Fields whose recoding was named: `improve` leaves them alone."""
        return self._states[-1].forced

    def free(self, *names: str) -> RiskAndLoss:
        """Let `improve` choose these fields again; all of them if none is named."""
        level_of(self._coded, dict.fromkeys(names, AS_IT_IS))
        return self._enter(self._coded, self._levels, self.forced - set(names or self.forced))

    def change_costs(self, **settings: Any) -> RiskAndLoss:
        """Other costs, thresholds or weights of `KeyVariables`; fields and menus stay."""
        strange = [name for name in settings if name not in _COSTS]
        if strange:
            raise InputError(f"{strange[0]!r} cannot be changed here.", hint=f"Known: {', '.join(_COSTS)}.")
        keys = replace(self._coded.keys, **settings)
        coded = replace(self._coded, keys=keys)
        return self._enter(coded, self._levels, self.forced)

    def improve(self, *, limits: Limits | None = None) -> RiskAndLoss:
        """Go to the best recoding that the planner finds; what was forced stays."""
        forced = {name: level for name, level in self.recoding.items() if name in self.forced}
        plan = plan_recoding(self._coded, recoding=forced, limits=limits)
        return self._enter(self._coded, plan.levels, self.forced)

    def neighbours(self) -> list[RiskAndLoss]:
        """All recodings one step away, cheapest first."""
        found, levels = [], self._levels
        for place in range(len(levels)):
            for level in (levels[place] - 1, levels[place] + 1):
                if 0 <= level < self._evaluator.menu[place]:
                    self._states.append(_ExplorerState(self._coded, (*levels[:place], level, *levels[place + 1 :]), self.forced))
                    found.append(self.look())
                    self._states.pop()
        return sorted(found, key=lambda glance: glance.cost)

    def undo(self) -> RiskAndLoss:
        if len(self._states) == 1:
            raise InputError("There is nothing to undo.")
        before = self._states.pop().coded
        if self._coded is not before:
            self._evaluator = Evaluator(coded=self._coded)
        return self.look()

    def plan(self, *, limits: Limits | None = None, seed: int = 0) -> FilePlan:
        """The recoding as it stands, with its blanks, ready to apply."""
        return plan_recoding(self._coded, recoding=self.recoding, limits=limits, seed=seed)

    def to_job(self, path: str | Path | None = None, *, output: str = "safe.csv", drop: Sequence[str] = (), seed: int = 0) -> str:
        """A job file that gives the plan as it stands; written to `path` if there is one, the path of the data then starts from there."""
        target = None if path is None else Path(path)
        content = job_content(
            self._data,
            self._coded,
            recoding=self.recoding,
            seed=seed,
            folder=None if target is None else target.parent,
            output={"file": output, "drop": list(drop)},
        )
        text = to_toml(content)
        if target is not None:
            target.write_text(text, encoding="utf-8", newline="\n")
        return text

    def _enter(self, coded: CodedFile, levels: Levels, forced: frozenset[str]) -> RiskAndLoss:
        if coded is not self._coded:
            self._evaluator = Evaluator(coded=coded)
        self._states.append(_ExplorerState(coded, levels, forced))
        return self.look()


_COSTS = ("costs", "ties", "recoding_costs", "recoding_weight", "threshold", "at_most")


def explore_recoding(data: Microdata, keys: KeyVariables) -> RecodingExplorer:
    """Begin with no recoding; nothing is written and nothing is decided until `plan()`.

    data: the records. keys: the key fields, their menus, and the rule.

    >>> import pyarrow as pa, statveil as sv
    >>> people = sv.read_microdata(pa.table({"job": ["vet", "cook", "cook"]}))
    >>> explore_recoding(people, sv.KeyVariables(fields={"job": None}, threshold=2, order=1)).look().unsafe_records
    1
    """
    return RecodingExplorer(data, code_file(data, keys))
