"""What an intruder may know: the key fields, what counts as rare, and what protecting them costs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Literal, NamedTuple

from statveil.core.errors import InputError
from statveil.core.limits import known
from statveil.core.show import OnlyWhatIsSet
from statveil.data.hierarchy import Hierarchy
from statveil.records.models import MODELS, SLACK, HouseholdRisk, IndividualRisk, RiskModel
from statveil.records.recode.recodings import AS_IT_IS, Menu

Rule = Literal["original", "recount", "wildcard"]
Missing = Literal["unknown", "category"]
Costs = Literal["equal", "entropy", "priority"] | Mapping[str, float]
RecodingCosts = Literal["entropy", "values"] | Mapping[str, Mapping[str, float]]

RULES = ("original", "recount", "wildcard")


class KeyTuning(NamedTuple):
    most_fields: int = 62
    """Fields are bits of a whole number of 64."""
    most_combinations: int = 5_000
    """Tables that are counted: by judgement."""


TUNING = KeyTuning()
LARGEST_THRESHOLD = 10**12


@dataclass(frozen=True, kw_only=True)
class EditRule:
    """What everybody knows.

    when: values of some fields, as in the original file. then: the value that other fields have wherever those are.

    >>> EditRule(when={"age": ["13", "14"]}, then={"marital": "single"}).then["marital"]
    'single'
    """

    when: Mapping[str, Sequence[str]]
    then: Mapping[str, str]


@dataclass(frozen=True, kw_only=True, repr=False)
class KeyVariables(OnlyWhatIsSet):
    """Key fields with their menus, and the rule that a safe file obeys.

    fields: key field to its menu (a `Menu`, a `Hierarchy` whose levels are the menu, or None).
    threshold: a combination of values is unsafe when fewer records than this show it (k-anonymity), per size of the combination if
        a mapping; with `at_most`, when this many or fewer do (mu-ARGUS).
    order: all combinations of up to so many fields, or "full" for the whole key and whatever a blank leaves of it.
    combinations: the user's own list instead, or a mapping of each to its threshold.
    levels: mu-ARGUS identification levels (1 most identifying) instead: one field of level 1, one of level 2 or less, and so on.
    counting: "records", or "weights" to compare the sum of column `weight` (the population estimate) with the threshold.
    rule: what a blank means. `original`: a combination with a blank is safe, the others keep their counts. `recount`: a blank
        matches nothing and the released file is counted again. `wildcard`: a blank matches everything (weak; for comparison).
    missing: a missing value in the data is "unknown" (as good as blank) or a "category" of its own.
    missing_codes: by field, the codes that mean a missing value; compared as text in columns of text, as numbers in columns of decimals.
    costs: of a blank, by field. record_cost: a column that multiplies them. ties: second objective among equal costs.
    recoding_costs: how much of a value a recoding loses: "entropy" (share of the field's entropy), "values" (of the values that a
        code stands for, all but one), times `recoding_weight` (1: in the same unit as blanks); or numbers by field and recoding.
    household, shared: a blank in a shared field is made for all members of the household.
    linked: groups of columns blanked together; a key field first, others may be any columns.
    caps: at most so many blanks in a field. candidates: each blank could hide at least so many values (keyed extra blanks, M03).
    edits: rules that everybody knows; the attacks on the released file use them first (M04).
    models: what no combination may break besides: `DistinctDiversity`, `EntropyDiversity`, `RecursiveDiversity`, `Closeness`,
        `IndividualRisk`, `HouseholdRisk`.

    >>> KeyVariables(fields={"age": None, "region": None}, threshold=3, order=2).order
    2
    """

    fields: Mapping[str, Menu | Hierarchy | None]
    threshold: int | Mapping[int, int] = 3
    at_most: bool = False
    order: int | Literal["full"] = 3
    combinations: Sequence[Sequence[str]] | Mapping[tuple[str, ...], int] | None = None
    levels: Mapping[str, int] | None = None
    counting: Literal["records", "weights"] = "records"
    weight: str | None = None
    rule: Rule = "original"
    missing: Missing = "unknown"
    missing_codes: Mapping[str, Sequence[str]] = field(default_factory=dict)
    costs: Costs = "equal"
    ties: Costs = "entropy"
    record_cost: str | None = None
    recoding_costs: RecodingCosts = "entropy"
    recoding_weight: float = 1.0
    household: str | None = None
    shared: Sequence[str] = ()
    linked: Sequence[Sequence[str]] = ()
    caps: Mapping[str, int] = field(default_factory=dict)
    candidates: int = 0
    edits: Sequence[EditRule] = ()
    models: Sequence[RiskModel] = ()

    def __post_init__(self) -> None:
        self._check_fields()
        self._check_kinds()
        self._check_words()
        self._check_costs()
        self._check_groups()
        self._check_edits()
        self._check_models()
        self.tables()

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.fields)

    @property
    def judged(self) -> tuple[RiskModel, ...]:
        """Models that look at what records hold: without weights the risk of a record is 1/f, which is a threshold."""
        plain = self.weight is None
        return tuple(model for model in self.models if not (plain and type(model) is IndividualRisk))

    @property
    def sensitive(self) -> tuple[str, ...]:
        """Columns that risk models are about."""
        return tuple(dict.fromkeys(model.column for model in self.models if not isinstance(model, IndividualRisk)))

    @property
    def modelled(self) -> tuple[str, ...]:
        """Columns without which nobody could judge the released file by its risk models."""
        home = [self.household] if any(isinstance(model, HouseholdRisk) for model in self.models) else []
        weight = [self.weight] if self.rule == "recount" and any(isinstance(model, IndividualRisk) for model in self.models) else []
        return (*self.sensitive, *(name for name in (*home, *weight) if name is not None))

    def menu(self, name: str) -> Menu:
        given = self.fields[name]
        if isinstance(given, Hierarchy):
            return Menu.from_hierarchy(given)
        return given or Menu()

    def tables(self) -> list[tuple[tuple[int, ...], int]]:
        """The combinations to count, as places of fields, each with the number of records that makes it safe."""
        chosen = self._listed() or self._by_levels() or self._by_order()
        _refuse_many(len(chosen))
        risks = [
            math.ceil(1 / model.most - SLACK) for model in self.models if model not in self.judged and isinstance(model, IndividualRisk)
        ]
        return [(places, max(threshold + 1 if self.at_most else threshold, *risks, 1)) for places, threshold in chosen]

    def _listed(self) -> list[tuple[tuple[int, ...], int]]:
        if self.combinations is None:
            return []
        given = self.combinations
        listed = given.items() if isinstance(given, Mapping) else [(tuple(names), self._threshold(len(names))) for names in given]
        found = {}
        for names, threshold in listed:
            self._known_fields(names, "combinations")
            found[tuple(sorted({self.names.index(name) for name in names}))] = _checked_threshold(threshold)
        if not found or () in found:
            raise InputError("The list of combinations is empty, or one of them is.")
        return sorted(found.items(), key=lambda each: (len(each[0]), each[0]))

    def _by_levels(self) -> list[tuple[tuple[int, ...], int]]:
        if self.levels is None:
            return []
        self._known_fields(self.levels, "levels")
        identifying = {self.names.index(name): level for name, level in self.levels.items() if level > 0}
        highest = max(identifying.values(), default=0)
        groups = [
            [place for place, level in identifying.items() if level == each] for each in range(1, min(highest, TUNING.most_fields) + 1)
        ]
        ways = _ways([len(group) for group in groups])
        if not groups or highest > len(identifying) or not ways[0][0]:
            raise InputError(
                "The identification levels give no combination.", hint="Each level from 1 on needs a field of that level or less."
            )
        _refuse_many(ways[0][0])
        return [(places, self._threshold(len(places))) for places in _by_levels(groups, ways)]

    def _by_order(self) -> list[tuple[tuple[int, ...], int]]:
        fields = range(len(self.names))
        wanted = len(self.names) if self.order == "full" else min(self.order, len(self.names))
        number = sum(math.comb(len(self.names), size) for size in range(1, wanted + 1))
        if number > TUNING.most_combinations:
            raise InputError(
                f"{len(self.names)} key fields have {number:,} combinations of up to {wanted}: more than {TUNING.most_combinations:,}.",
                hint="Lower the order, list the combinations that an intruder may know, or use fewer key fields.",
            )
        return [(places, self._threshold(size)) for size in range(1, wanted + 1) for places in combinations(fields, size)]

    def _threshold(self, size: int) -> int:
        if not isinstance(self.threshold, Mapping):
            return _checked_threshold(self.threshold)
        if size not in self.threshold:
            raise InputError(f"There is no threshold for combinations of {size} fields.", hint=f"Add {size} to the thresholds.")
        return _checked_threshold(self.threshold[size])

    def _check_fields(self) -> None:
        if not isinstance(self.fields, Mapping):
            raise InputError("The key fields come with their menus.", hint="fields={'age': Menu.intervals(5), 'sex': None}.")
        if not self.fields:
            raise InputError("There are no key fields.", hint="Name the columns that an intruder may know.")
        if len(self.fields) > TUNING.most_fields:
            raise InputError(f"{len(self.fields)} key fields are more than {TUNING.most_fields}.", hint="Keep those an intruder may know.")
        for name, menu in self.fields.items():
            if not (menu is None or isinstance(menu, Menu | Hierarchy)):
                raise InputError(f"The menu of {name!r} is a {type(menu).__name__}.", hint="Give a Menu, a Hierarchy or None.")

    def _check_kinds(self) -> None:
        """A text where a list belongs would be taken letter by letter, and a list where a mapping belongs has no values."""
        for name in ("levels", "missing_codes", "caps"):
            if not isinstance(getattr(self, name) or {}, Mapping):
                raise InputError(f"{name} goes by field.", hint=f"{name}={{'field': ...}}.")
        for name in ("costs", "ties", "recoding_costs"):
            if not isinstance(getattr(self, name), str | Mapping):
                raise InputError(f"{name} must be a word or go by field.")
        for name in ("shared", "linked", "combinations", "edits"):
            _check_lists(name, [getattr(self, name) or ()])
        for name, inner in (
            ("linked", self.linked),
            ("combinations", self.combinations or ()),
            ("missing_codes", self.missing_codes.values()),
        ):
            _check_lists(name, inner)
        if any(not isinstance(level, int) or isinstance(level, bool) for level in (self.levels or {}).values()):
            raise InputError("Identification levels must be whole numbers; fields of level 0 identify nobody.")

    def _check_words(self) -> None:
        known("rule", self.rule, RULES)
        known("missing policy", self.missing, ("unknown", "category"))
        known("way of counting", self.counting, ("records", "weights"))
        if isinstance(self.order, str):
            known("order", self.order, ("full",))
        elif not isinstance(self.order, int) or isinstance(self.order, bool) or self.order < 1:
            raise InputError("The order must be a whole number, one or more, or 'full'.")
        if self.combinations is not None and self.levels is not None:
            raise InputError("combinations and levels exclude each other.", hint="Give one of them.")
        if self.counting == "weights" and self.weight is None:
            raise InputError("Counting weights needs the name of the column of weights.", hint="Give weight='...'.")
        if self.counting == "weights" and self.rule == "wildcard":
            raise InputError("The wildcard rule counts records only.", hint="Use rule 'original' or 'recount' with weights.")
        if not isinstance(self.candidates, int) or isinstance(self.candidates, bool) or self.candidates < 0:
            raise InputError("candidates must be a whole number, zero or more.")
        self._known_fields(self.missing_codes, "missing_codes")

    def _check_costs(self) -> None:
        for name, costs in (("costs", self.costs), ("ties", self.ties)):
            if isinstance(costs, str):
                known(name, costs, ("equal", "entropy", "priority"))
                continue
            self._known_fields(costs, name)
            missing = [each for each in self.names if each not in costs]
            if missing or not all(_positive(cost) for cost in costs.values()):
                raise InputError(f"{name} must give every key field a positive number of at most a million.")
        if not _not_negative(self.recoding_weight):
            raise InputError("recoding_weight must be zero or more.")
        if not isinstance(self.recoding_costs, str):
            self._check_recoding_costs(self.recoding_costs)
        else:
            known("recoding_costs", self.recoding_costs, ("entropy", "values"))

    def _check_recoding_costs(self, given: Mapping[str, Mapping[str, float]]) -> None:
        self._known_fields(given, "recoding_costs")
        for name in self.names:
            names = [recoding.name for recoding in self.menu(name).recodings]
            costs = given.get(name, {})
            if not isinstance(costs, Mapping):
                raise InputError(f"recoding_costs: those of {name!r} go by recoding.")
            strange = [each for each in costs if each not in (*names, AS_IT_IS)]
            if strange:
                raise InputError(f"recoding_costs: {name!r} has no recoding {strange[0]!r}.", hint=f"Its recodings: {', '.join(names)}.")
            if any(each not in costs for each in names) or not all(_not_negative(cost) for cost in costs.values()):
                raise InputError(f"recoding_costs: every recoding of {name!r} needs a number, zero or more.")

    def _check_groups(self) -> None:
        self._known_fields(self.shared, "shared")
        if self.shared and self.household is None:
            raise InputError("Shared fields need the column that tells households apart.", hint="Give household='...'.")
        if self.household is not None and not self.shared and not any(isinstance(model, HouseholdRisk) for model in self.models):
            raise InputError("A household without shared fields changes nothing.", hint="Give shared=[...], or leave household out.")
        if self.household is not None and (self.rule == "wildcard" or self.candidates):
            raise InputError("Households go with rule 'original' or 'recount', and not with candidates.")
        self._known_fields(self.caps, "caps")
        if any(not isinstance(cap, int) or cap < 0 for cap in self.caps.values()):
            raise InputError("caps must be whole numbers, zero or more.")
        if self.caps and self.rule == "wildcard":
            raise InputError("Caps go with rule 'original' or 'recount'.")
        seen: set[str] = set()
        for group in self.linked:
            if len(group) < 2 or group[0] not in self.names:
                raise InputError("A linked group begins with a key field and names at least one more column.")
            if seen & set(group):
                raise InputError("A column is in two linked groups.", hint="Join the groups.")
            seen |= set(group)

    def _check_edits(self) -> None:
        for rule in self.edits:
            if not isinstance(rule, EditRule) or not rule.when or not rule.then:
                raise InputError(
                    "An edit rule needs what must hold and what follows.", hint="EditRule(when={...: [...]}, then={...: ...})."
                )
            if any(isinstance(values, str) for values in rule.when.values()):
                raise InputError("edits: what must hold is a list of values for each field.", hint="when={'age': ['13', '14']}.")
            self._known_fields(rule.when, "edits")
            self._known_fields(rule.then, "edits")

    def _check_models(self) -> None:
        _check_lists("models", [self.models])
        if any(type(model) not in MODELS.values() for model in self.models):
            raise InputError("models: what stands there is no risk model.", hint=f"Known: {', '.join(MODELS)}.")
        hidden = {*self.names, *(name for group in self.linked for name in group)}
        strange = [name for name in self.sensitive if name in hidden]
        if strange:
            raise InputError(f"models: {strange[0]!r} is a key field, or linked to one.", hint="A model is about a column that stays.")
        if self.models and self.rule == "wildcard":
            raise InputError("Risk models go with rule 'original' or 'recount'.")
        if self.judged and self.rule == "recount" and (self.caps or self.household or self.candidates):
            raise InputError("Under rule 'recount', risk models go without caps, households and candidates.", hint="Use rule 'original'.")
        if any(isinstance(model, HouseholdRisk) for model in self.models) and (self.household is None or self.caps):
            raise InputError("A household risk needs household='...', and goes without caps.")

    def _known_fields(self, names: Sequence[str] | Mapping[str, object], what: str) -> None:
        strange = [name for name in names if name not in self.fields]
        if strange:
            raise InputError(f"{what}: {strange[0]!r} is not a key field.", hint=f"Key fields: {', '.join(self.names)}.")


def _check_lists(name: str, given: Iterable[object]) -> None:
    if any(isinstance(each, str) or not isinstance(each, Iterable) for each in given):
        raise InputError(f"{name}: there must be a list where a single text or number stands.", hint="Put it in brackets: ['...'].")


def _refuse_many(number: int) -> None:
    if number > TUNING.most_combinations:
        raise InputError(
            f"{number:,} combinations of key fields are more than the {TUNING.most_combinations:,} that can be counted.",
            hint="Lower the order, list the combinations that an intruder may know, or use fewer key fields.",
        )


def _ways(sizes: Sequence[int]) -> list[list[int]]:
    """`ways[h][j]`: in how many ways j fields of levels up to h become a combination of one field a level.

    A combination has as many fields as there are levels, of which at least h are of level h or less for each h (mu-ARGUS).
    """
    highest = len(sizes)
    ways = [[0] * (highest + 1) for _ in range(highest + 1)]
    ways[highest][highest] = 1
    for level in range(highest - 1, -1, -1):
        for taken in range(level, highest + 1):
            more = range(max(0, level + 1 - taken), min(sizes[level], highest - taken) + 1)
            ways[level][taken] = sum(math.comb(sizes[level], number) * ways[level + 1][taken + number] for number in more)
    return ways


def _by_levels(groups: Sequence[Sequence[int]], ways: Sequence[Sequence[int]]) -> list[tuple[int, ...]]:
    """The combinations that `_ways` counts; no beginning is kept that leads to none."""
    found: list[tuple[int, ...]] = [()]
    for level, group in enumerate(groups, start=1):
        found = [
            (*begun, *more)
            for begun in found
            for number in range(min(len(group), len(groups) - len(begun)) + 1)
            if ways[level][len(begun) + number]
            for more in combinations(group, number)
        ]
    return sorted(tuple(sorted(places)) for places in found)


def _not_negative(cost: object) -> bool:
    return isinstance(cost, int | float) and math.isfinite(cost) and cost >= 0


def _positive(cost: float) -> bool:
    return isinstance(cost, int | float) and not isinstance(cost, bool) and 0 < cost <= 1e6


def _checked_threshold(threshold: object) -> int:
    if not isinstance(threshold, int) or isinstance(threshold, bool) or not 1 <= threshold <= LARGEST_THRESHOLD:
        raise InputError(f"A threshold must be a whole number from 1 to {LARGEST_THRESHOLD:,}.")
    return threshold
