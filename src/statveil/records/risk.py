"""Risk and loss of a file, from distinct keys: which combinations are rare and why, before anything is changed (`find_unsafe`), and figures
of risk and loss of the file as it is and as a plan releases it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from statveil.core.arrays import FloatArray, IntArray
from statveil.core.show import CONFIDENTIAL, FrameExports
from statveil.core.show.frames import marked
from statveil.data.microdata import Microdata
from statveil.data.queries.keys import WEIGHT_DECIMALS, count_values, records_by_risk
from statveil.records.coding import WEIGHT_UNIT, CodedFile, code_file, level_of, record_key, value_order
from statveil.records.frequencies import Words, cell_totals, distinct_patterns, unsafe_patterns
from statveil.records.keys import KeyVariables
from statveil.records.models import SensitiveColumn, benedetti_franconi
from statveil.records.plan import FilePlan
from statveil.records.suppress.covers import maximal_sets, minimal_sets
from statveil.records.suppress.problem import SuppressionProblem, problem_of, row_amount, shannon_entropy
from statveil.records.write.safe_file import key_columns, released_values


class TableCount(NamedTuple):
    """One combination of fields: how many of its cells are unsafe, and how many records lie in them."""

    fields: tuple[str, ...]
    threshold: int
    cells: int
    unsafe_cells: int
    unsafe_records: int


@dataclass(frozen=True, kw_only=True, repr=False)
class UnsafeCombinations(FrameExports):
    """What `find_unsafe` found. Confidential: it names values of single records.

    problem: keys, recoding and rule. patterns: of each key, which of the combinations asked for are too rare, as bits.

    >>> import pyarrow as pa, statveil as sv
    >>> people = sv.read_microdata(pa.table({"job": ["vet", "cook", "cook"]}))
    >>> sv.find_unsafe(people, sv.KeyVariables(fields={"job": None}, threshold=2, order=1))
    UnsafeCombinations(1 of 3 records unsafe)
    """

    problem: SuppressionProblem
    patterns: Words

    def __repr__(self) -> str:
        return f"UnsafeCombinations({self.records:,} of {self.problem.coded.records:,} records unsafe)"

    @cached_property
    def _kinds(self) -> tuple[Words, IntArray]:
        return distinct_patterns(self.patterns)

    @property
    def keys(self) -> IntArray:
        """Places of the unsafe keys."""
        return np.flatnonzero(self.patterns.any(axis=1))

    @property
    def records(self) -> int:
        return int(self.problem.coded.count[self.keys].sum())

    def by_combination(self) -> list[TableCount]:
        coded, found = self.problem.coded, []
        unit = 1 if coded.keys.counting == "records" else WEIGHT_UNIT
        for number, (places, threshold) in enumerate(coded.tables):
            index = self.problem.cells(places)
            bad = self.patterns[:, number // 64] >> np.uint64(number % 64) & np.uint64(1) == 1
            fields = tuple(coded.keys.names[place] for place in places)
            cells = np.unique(index[index >= 0]).size
            found.append(TableCount(fields, threshold // unit, cells, np.unique(index[bad]).size, int(coded.count[bad].sum())))
        return found

    def by_size(self) -> dict[int, tuple[int, int]]:
        """Size of combination to (unsafe cells, records in at least one of them)."""
        coded, found = self.problem.coded, dict[int, tuple[int, int]]()
        counts = self.by_combination()
        for size in sorted({len(places) for places, _ in coded.tables}):
            chosen = [number for number, (places, _) in enumerate(coded.tables) if len(places) == size]
            word = np.zeros(self.patterns.shape[1], dtype=np.uint64)
            for number in chosen:
                word[number // 64] |= np.uint64(1) << np.uint64(number % 64)
            bad = (self.patterns & word).any(axis=1)
            found[size] = (sum(counts[number].unsafe_cells for number in chosen), int(coded.count[bad].sum()))
        return found

    @cached_property
    def _tables(self) -> IntArray:
        """Fields of each table, as bits."""
        return np.array([sum(1 << place for place in places) for places, _ in self.problem.coded.tables], dtype=np.int64)

    def minucs(self, key: int) -> list[tuple[str, ...]]:
        """Minimal unsafe combinations of a key (S4, s.2)."""
        return [self._named(mask) for mask in minimal_sets(self.patterns[key], self._tables)]

    def manucs(self, key: int) -> list[tuple[str, ...]]:
        """Maximal unsafe combinations of a key."""
        return [self._named(mask) for mask in maximal_sets(self.patterns[key], self._tables)]

    def _named(self, mask: int) -> tuple[str, ...]:
        return tuple(name for place, name in enumerate(self.problem.coded.keys.names) if mask >> place & 1)

    @cached_property
    def _kind_scores(self) -> tuple[FloatArray, FloatArray]:
        """Score of each pattern, and the part of it that each field has."""
        distinct, _ = self._kinds
        fields = len(self.problem.coded.keys.names)
        highest = max(len(places) for places, _ in self.problem.coded.tables)
        score, part = np.zeros(len(distinct)), np.zeros((len(distinct), fields))
        for kind, pattern in enumerate(distinct):
            for mask in minimal_sets(pattern, self._tables):
                worth = suda_score(mask.bit_count(), fields=fields, highest=highest)
                score[kind] += worth
                part[kind] += worth * np.array([mask >> field & 1 for field in range(fields)])
        return score, part

    @property
    def scores(self) -> FloatArray:
        """One score a key: many small minucs weigh most (SUDA's score, with minucs for sample uniques)."""
        return np.asarray(self._kind_scores[0][self._kinds[1]])

    def field_scores(self) -> dict[str, float]:
        """The share of the file's whole score in which each field takes part."""
        part = (self._kind_scores[1][self._kinds[1]] * self.problem.coded.count[:, None]).sum(axis=0)
        whole = float((self.scores * self.problem.coded.count).sum())
        return {name: float(part[place] / whole) if whole else 0.0 for place, name in enumerate(self.problem.coded.keys.names)}

    def why(self, key: int) -> list[str]:
        """In words, for the office's own eyes: the values that make the key unsafe, and how many records share them."""
        return list(self._reasons(key))

    def _reasons(self, key: int) -> Iterator[str]:
        coded, problem = self.problem.coded, self.problem
        minimal = set(minimal_sets(self.patterns[key], self._tables))
        for (places, threshold), mask in zip(coded.tables, self._tables, strict=True):
            if int(mask) not in minimal:
                continue
            levels = [problem.levels[place] for place in places]
            total, amount = (int(cell_totals(coded.codes, each, problem.maps, places, levels)[key]) for each in (coded.count, coded.amount))
            shown = ", ".join(f"{coded.keys.names[place]} = {self._value(place, key)}" for place in places)
            records = f"{total:,} {'record' if total == 1 else 'records'}"
            if amount >= threshold:
                yield f"The {records} with {shown} break: {'; '.join(self._broken(places, key))}."
            elif coded.keys.counting == "weights":
                yield f"Only a weight of {_in_units(amount)} ({records}) has {shown}."
            else:
                yield f"Only {records} {'has' if total == 1 else 'have'} {shown}."

    def _broken(self, places: Sequence[int], key: int) -> list[str]:
        judge, cell = self.problem.coded.judge, self.problem.cells(places)
        assert judge is not None
        return [str(model) for model in judge.models if replace(judge, models=[model]).broken(cell)[key]]

    def _value(self, place: int, key: int) -> str:
        level = self.problem.coded.levels[place][self.problem.levels[place]]
        return level.values[int(level.code[self.problem.coded.codes[place, key]])]

    def to_arrow(self) -> pa.Table:
        """The unsafe keys with their values, records, score and number of minucs, most risky first. Confidential."""
        coded, scores = self.problem.coded, self.scores
        order = self.keys[np.lexsort((self.keys, -scores[self.keys]))]
        columns: dict[str, object] = {
            name: [self._value(place, key) if coded.codes[place, key] >= 0 else None for key in order]
            for place, name in enumerate(coded.keys.names)
        }
        minucs = [len(self.minucs(int(key))) for key in order]
        found = pa.table({**columns, "records": coded.count[order], "minucs": minucs, "score": scores[order]})
        return marked(found, CONFIDENTIAL)

    def by_record(self, data: Microdata, *columns: str) -> pa.Table:
        """Every record with the columns named (say, an identifier), its minucs and score, how many share its key, its individual risk
        and where there are households theirs, most risky first. Confidential."""
        data.require(columns)
        coded = self.problem.coded
        minucs = np.zeros(coded.size, dtype=np.int64)
        minucs[self.keys] = [len(self.minucs(int(key))) for key in self.keys]
        sharing, risk_ = full_key_risks(coded)
        risks = {"minucs": minucs, "score": self.scores, "sharing": sharing, "risk": risk_}
        key = record_key(data, coded.keys)
        with data.engine.session() as session:
            told = pa.table({**key_columns(coded, np.arange(coded.size)), **{name: pa.array(each) for name, each in risks.items()}})
            return records_by_risk(session, key, told, columns, _household_risks(coded, risk_))


def full_key_risks(coded: CodedFile) -> tuple[IntArray, FloatArray]:
    """How many records share each key, a missing value being one of its own, and their individual risk; 1/f without weights."""
    inverse = np.unique(coded.codes, axis=1, return_inverse=True)[1].ravel()
    count = np.bincount(inverse, weights=coded.count).astype(np.int64)
    weight = np.bincount(inverse, weights=coded.weight) / (WEIGHT_UNIT if coded.keys.weight else 1)
    return count[inverse], benedetti_franconi(count, weight)[inverse]


def _household_risks(coded: CodedFile, risks: FloatArray) -> pa.Table | None:
    """The risk that a member is recognised, by household; who has none has the own risk."""
    homes = coded.households
    if homes is None:
        return None
    safe = np.ones(len(homes.names))
    np.multiply.at(safe, homes.home, 1.0 - risks[homes.key])
    found = pa.table({"home": homes.names, "household_risk": pa.array(1.0 - safe)})
    return found.filter(pc.not_equal(found["home"], ""))


def _in_units(amount: int) -> str:
    whole, rest = divmod(amount, WEIGHT_UNIT)
    return f"{whole:,}" + f".{rest:0{WEIGHT_DECIMALS}}".rstrip("0").rstrip(".")


def suda_score(size: int, *, fields: int, highest: int) -> float:
    """Weight of a minuc of that size: the paths from it up to the largest combination looked at (Elliot et al., SUDA)."""
    return math.prod(float(fields - step) for step in range(size, highest)) if size < highest else 1.0


def find_unsafe(
    data: Microdata | CodedFile, keys: KeyVariables | None = None, *, recoding: Mapping[str, str] | None = None
) -> UnsafeCombinations:
    """Count all combinations and say which are unsafe, under a recoding if one is given.

    data: records, or a file coded already. keys: the key fields and the rule. recoding: of each field to be recoded, the recoding's name.

    >>> import pyarrow as pa, statveil as sv
    >>> people = sv.read_microdata(pa.table({"job": ["vet", "cook", "cook", "cook"], "town": ["Urk"] * 4}))
    >>> find_unsafe(people, sv.KeyVariables(fields={"job": None, "town": None}, threshold=3, order=1)).records
    1
    """
    coded = data if isinstance(data, CodedFile) else code_file(data, keys or KeyVariables(fields={}), distinguish=False)
    problem = problem_of(coded, level_of(coded, recoding or {}))
    patterns = unsafe_patterns(coded.codes, coded.amount, problem.maps, coded.tables, problem.levels)
    return UnsafeCombinations(problem=problem, patterns=problem.with_models(patterns, coded.codes))


class RiskTuning(NamedTuple):
    most_looks: int = 60_000_000
    """Keys times pairs of fields up to which the tree is looked for; beyond, the fields are taken as independent: by judgement."""
    scale_steps: int = 60
    """Halvings of the interval in which the scale of the means is looked for: as many as doubles tell apart."""


TUNING = RiskTuning()


def population_uniques(codes: IntArray, count: IntArray, population: float) -> float:
    """Expected number of keys with one record that one person of the population has; `codes[field, key]`, a blank is a value of its own."""
    share = count.sum() / max(population, float(count.sum()))
    alone = count == 1
    if not alone.any() or share >= 1:
        return float(alone.sum())
    mean = _means(codes, count.astype(np.float64)) * population
    mean *= _scale(mean * share, count, int(alone.sum()))
    return float(np.exp(-(1 - share) * mean[alone]).sum())


def _scale(expected: FloatArray, count: IntArray, uniques: int) -> float:
    """The factor on the means under which the expected number of sample uniques is the one found; no more than a thousandfold."""
    low, high = -np.log(1e3), np.log(1e3)
    for _ in range(TUNING.scale_steps):
        middle = (low + high) / 2
        if float((count * np.exp(-expected * np.exp(middle))).sum()) > uniques:
            low = middle
        else:
            high = middle
    return float(np.exp((low + high) / 2))


def _means(codes: IntArray, count: FloatArray) -> FloatArray:
    """Share of the population that the tree expects in each key."""
    found, total = np.ones(count.size), count.sum()
    for field, parent in _tree(codes, count).items():
        joint = _counts([codes[field]] if parent is None else [codes[field], codes[parent]], count)
        found *= joint / (total if parent is None else _counts([codes[parent]], count))
    return found


def _counts(rows: list[IntArray], count: FloatArray) -> FloatArray:
    """For each key, the records that share its values in these fields."""
    index = rows[0].astype(np.int64) + 1
    for row in rows[1:]:
        index = index * (int(row.max()) + 2) + row + 1
    _, inverse = np.unique(index, return_inverse=True)
    return np.asarray(np.bincount(inverse.ravel(), weights=count)[inverse.ravel()])


def _tree(codes: IntArray, count: FloatArray) -> dict[int, int | None]:
    """Each field's closest field among those before it in the tree; None where nothing ties it."""
    fields = codes.shape[0]
    if fields * fields * count.size > TUNING.most_looks:
        return dict.fromkeys(range(fields))
    tie = {pair: _mutual(codes[pair[0]], codes[pair[1]], count) for pair in combinations(range(fields), 2)}
    found: dict[int, int | None] = {0: None}
    while len(found) < fields:
        inside, outside = max(
            ((one, two) for one in found for two in range(fields) if two not in found), key=lambda pair: tie[min(pair), max(pair)]
        )
        found[outside] = inside if tie[min(inside, outside), max(inside, outside)] > 0 else None
    return found


def _mutual(one: IntArray, two: IntArray, count: FloatArray) -> float:
    """What two fields tell about each other (nats), less what chance alone would make of it."""
    total = count.sum()
    shares = [_counts(rows, count) / total for rows in ([one], [two], [one, two])]
    told = float((count / total * np.log(shares[2] / (shares[0] * shares[1]))).sum())
    return told - (np.unique(one).size - 1) * (np.unique(two).size - 1) / (2 * float(total))


@dataclass(frozen=True, kw_only=True, repr=False)
class KeyClasses:
    """The different full keys of a file (a blank is a value of its own here): records and weight of each, codes by field."""

    codes: IntArray
    count: IntArray
    weight: FloatArray | None

    @property
    def records(self) -> int:
        return int(self.count.sum())


class Risk(NamedTuple):
    """Figures of re-identification. Those that need weights are None without."""

    smallest_class: int
    uniques: int
    global_risk: float | None
    """Expected share of records re-identified (Benedetti and Franconi)."""
    largest_risk: float | None
    population_uniques: float | None
    """Expected number of sample uniques that are unique in the population."""


def classes_before(coded: CodedFile) -> KeyClasses:
    """Keys that are told apart by their numbers only are one class."""
    if not any(coded.told):
        return KeyClasses(codes=coded.codes, count=coded.count, weight=coded.weight / WEIGHT_UNIT if coded.keys.weight else None)
    distinct, inverse = np.unique(coded.codes, axis=1, return_inverse=True)
    count = np.bincount(inverse.ravel(), weights=coded.count).astype(np.int64)
    weight = np.bincount(inverse.ravel(), weights=coded.weight) / WEIGHT_UNIT if coded.keys.weight else None
    return KeyClasses(codes=distinct, count=count, weight=weight)


def classes_after(plan: FilePlan) -> KeyClasses:
    """The keys as the plan writes them, blanks as -1."""
    found, problem = plan.suppression, plan.suppression.problem
    distinct, inverse = np.unique(released_codes(plan), axis=1, return_inverse=True)
    count = np.bincount(inverse.ravel(), weights=found.records).astype(np.int64)
    weight = None
    if plan.keys.weight:
        share = row_amount(problem, found.key, found.records) if plan.keys.counting == "weights" else _weights(plan)
        weight = np.bincount(inverse.ravel(), weights=share) / WEIGHT_UNIT
    return KeyClasses(codes=distinct, count=count, weight=weight)


def released_codes(plan: FilePlan) -> IntArray:
    """The codes that the plan writes, field by field, blanks as -1."""
    found = plan.suppression
    codes = found.problem.written_codes(found.key)
    for field in range(codes.shape[0]):
        codes[field, (found.mask >> field) & 1 == 1] = -1
    return codes


def _weights(plan: FilePlan) -> FloatArray:
    found, coded = plan.suppression, plan.coded
    return np.asarray(coded.weight[found.key] * (found.records / coded.count[found.key]))


def individual_risks(classes: KeyClasses) -> FloatArray | None:
    """Benedetti and Franconi (1998): the mean of 1/F given the sample frequency f, with F estimated by the sum of weights."""
    if classes.weight is None:
        return None
    return benedetti_franconi(classes.count, classes.weight)


def risk(classes: KeyClasses) -> Risk:
    single = individual_risks(classes)
    alone = classes.count == 1
    if single is None or classes.weight is None:
        return Risk(int(classes.count.min()), int(alone.sum()), None, None, None)
    whole = float((single * classes.count).sum() / classes.records)
    population = population_uniques(classes.codes, classes.count, float(classes.weight.sum()))
    return Risk(int(classes.count.min()), int(alone.sum()), whole, float(single.max()), population)


def discernibility(classes: KeyClasses) -> int:
    """Sum of the squares of the class sizes: how many pairs of records cannot be told apart."""
    return sum(int(count) ** 2 for count in classes.count)


def entropy_kept(plan: FilePlan) -> dict[str, float]:
    """Share of each field's entropy that the released file keeps, blanks left out and charged in proportion."""
    before, after = classes_before(plan.coded), classes_after(plan)
    return {name: _kept(before, after, place) for place, name in enumerate(plan.keys.names)}


def _kept(before: KeyClasses, after: KeyClasses, place: int) -> float:
    first, last = (shannon_entropy(each.codes[place], each.count) for each in (before, after))
    shown = [float(each.count[each.codes[place] >= 0].sum()) for each in (before, after)]
    return last / first * (shown[1] / shown[0]) if first > 0 and shown[0] else 1.0


class Diversity(NamedTuple):
    """How much a class of equal keys gives away about a sensitive column."""

    column: str
    least_values: int
    """Distinct l-diversity: the fewest different values in a class."""
    least_effective: float
    """Entropy l-diversity: as many equally frequent values as have the lowest entropy of a class."""
    largest_distance: float
    """t-closeness: the largest distance between a class's shares and the file's, ordered where the values are numbers."""
    ordered: bool


def diversity(data: Microdata, plan: FilePlan, sensitive: str, *, key: str | None = None) -> tuple[Diversity, Diversity]:
    """Before and after, over the classes of the full key. After the release a class is what shares its open values and blanks.

    Of a key that is released in several ways, `key` (the secret of the shuffle) decides which records get which blanks.
    """
    return diversity_before(data, plan.keys, sensitive), _diversity(
        sensitive, released_values(data, plan, [*plan.keys.names, sensitive], key=key)
    )


def diversity_before(data: Microdata, keys: KeyVariables, sensitive: str) -> Diversity:
    """Of the file as it stands."""
    data.require([sensitive])
    with data.engine.session() as session:
        own = record_key(data, keys)
        return _diversity(sensitive, count_values(session, own, sensitive))


def _diversity(name: str, found: pa.Table) -> Diversity:
    """Rows of key fields, the value and the number of records; missing is a value like others."""
    *keys, value = [_places(found[column]) for column in found.column_names[:-1]]
    group = np.unique(np.stack(keys), axis=1, return_inverse=True)[1].ravel()
    texts = found.column(found.num_columns - 2).combine_chunks().dictionary_encode(null_encoding="encode").dictionary
    place, ordered = value_order(["" if text is None else str(text) for text in texts.to_pylist()])
    records = np.asarray(found.column(found.num_columns - 1).to_numpy(), dtype=np.int64)
    column = SensitiveColumn(key=np.arange(group.size), value=place[value], records=records, ordered=ordered)
    held = column.by_cell(np.asarray(group, dtype=np.int64), int(group.max()) + 1)
    return Diversity(name, int(held.different.min()), float(np.exp(held.entropy.min())), float(held.distance.max()), ordered)


def _places(text: pa.ChunkedArray) -> IntArray:
    coded = text.combine_chunks().dictionary_encode(null_encoding="encode")
    return np.asarray(coded.indices.to_numpy(zero_copy_only=False), dtype=np.int64)
