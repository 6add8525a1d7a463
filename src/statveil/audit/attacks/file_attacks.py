"""What somebody who knows the method could still find out from a safe file (M03, M04, M05), in figures.

The attacks know the released records and, to be scored, the truth behind each blank. They use nothing of how the file was made: codes,
tables and thresholds come as plain arrays.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from statveil.core.arrays import BoolArray, FloatArray, IntArray


class FileAttackTuning(NamedTuple):
    """How hard the attacks try, all by judgement."""

    most_looks: int = 8_000_000
    """Blanked classes times values of a field times combinations; of more classes, evenly spaced ones are attacked."""
    most_learnt: int = 100_000
    """Rows that rules are learned from; of more, evenly spaced ones."""
    confidence: float = 0.95
    """Share of a rule's records that must have the value it gives."""
    support: int = 10
    """Records that a rule must rest on."""
    most_fields_in_pairs: int = 12
    """Key fields up to which rules of two fields are learned."""
    most_work: int = 8_000_000
    """Rows times combinations that are counted; in larger files the smallest combinations, and rules of one field."""


TUNING = FileAttackTuning()
ACCURACY_LIMIT, PINNED_LIMIT, RECOVERED_LIMIT, REFINED_LIMIT = 0.02, 0.01, 0.01, 0.01


@dataclass(frozen=True, kw_only=True)
class Edit:
    """An edit rule in codes: where each of these fields shows one of these codes, `place` must hold `code`."""

    when: Mapping[int, frozenset[int]]
    place: int
    code: int


@dataclass(frozen=True, kw_only=True)
class ExposedFile:
    """Released rows as codes beside the truth, one column a row: blanks are -1, and so is what was never known."""

    fields: tuple[str, ...]
    released: IntArray
    truth: IntArray
    records: IntArray
    amount: IntArray
    """What a row adds to a combination, in the unit of the thresholds: its records, or their weight."""
    tables: Sequence[tuple[tuple[int, ...], int]]
    decoys: bool = False
    """Whether extra blanks were made, and everybody knows it."""
    edits: Sequence[Edit] = ()
    refined: Mapping[int, BoolArray] = field(default_factory=dict)
    """Of a recoded field, the new codes behind which there is a single old one."""
    counted: list[Any] = field(default_factory=list, repr=False, compare=False)
    """Counts made so far."""


@dataclass(frozen=True, kw_only=True)
class FileAttack:
    """One figure and the limit that it should keep."""

    name: str
    words: str
    value: float
    limit: float
    findings: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        return self.value <= self.limit


def attack_file(exposed: ExposedFile) -> tuple[FileAttack, ...]:
    guessed = [minimality(exposed, place) for place in range(len(exposed.fields))]
    blanks = max(1, sum(each.blanks for each in guessed))
    right, naive, pinned = (sum(getattr(each, name) for each in guessed) for name in ("right", "baseline", "pinned"))
    findings = tuple(
        f"{name}: {each.right / each.blanks:.1%} right, {each.baseline / each.blanks:.1%} without knowing the method, "
        f"{each.pinned / each.blanks:.1%} pinned, {each.candidates:.1f} candidates on average"
        for name, each in zip(exposed.fields, guessed, strict=True)
        if each.blanks
    )
    left_out = len(exposed.tables) - len(_counted(exposed))
    if left_out:
        findings = (*findings, f"The {left_out:,} largest combinations were left out: the file has {exposed.records.size:,} different rows")
    guessing = "Blanks guessed right because only rare values are blanked, beyond guessing the commonest value"
    pinning = "Blanks that can hide one value only, for somebody who knows the method"
    rules = "Blanks recovered by edit rules and by rules of 95% confidence learned from the released file"
    single = "Recoded values behind which only one original value exists"
    return (
        FileAttack(name="M03 guessing", words=guessing, value=(right - naive) / blanks, limit=ACCURACY_LIMIT, findings=findings),
        FileAttack(name="M03 pinned", words=pinning, value=pinned / blanks, limit=PINNED_LIMIT),
        FileAttack(name="M04", words=rules, value=rules_recover(exposed), limit=RECOVERED_LIMIT),
        FileAttack(name="M05", words=single, value=downcoded(exposed), limit=REFINED_LIMIT),
    )


class GuessedBlanks(NamedTuple):
    """Of a field's blanks: how many were guessed right, how many by the commonest value alone, how many have one candidate only."""

    blanks: int
    right: int
    baseline: int
    pinned: int
    candidates: float


def minimality(exposed: ExposedFile, place: int) -> GuessedBlanks:
    """M03: the hidden value must make some combination rare; all others are dropped, and the commonest of the rest is the guess.

    Counts of the released file are never above the original's, so the truth is among the candidates. Where extra blanks were made, every
    value that records with the same other values show is a candidate too.
    """
    rows, own, rare, shown = _suspects(exposed, place, _blank(exposed, place))
    if not rows.size:
        return GuessedBlanks(0, 0, 0, 0, 0.0)
    prior = _shares(exposed, place, rare.shape[1])
    guess = np.argmax(np.where(rare, prior + 1.0, prior), axis=1)
    candidates = (rare | shown if exposed.decoys else rare).sum(axis=1)
    weight, truth = exposed.records[rows], exposed.truth[place, rows]
    return GuessedBlanks(
        blanks=int(weight.sum()),
        right=int(weight[truth == guess[own]].sum()),
        baseline=int(weight[truth == np.argmax(prior)].sum()),
        pinned=int(weight[candidates[own] == 1].sum()),
        candidates=float((candidates[own] * weight).sum() / weight.sum()),
    )


def _suspects(exposed: ExposedFile, place: int, rows: IntArray) -> tuple[IntArray, IntArray, BoolArray, BoolArray]:
    """The rows looked at, the class of each, and for each class and value: would it be rare, and is it shown elsewhere?"""
    size = int(exposed.truth[place].max(initial=-1)) + 1
    every = range(len(exposed.fields))
    _, first, inverse = np.unique(mixed(exposed.released[:, rows], every), return_index=True, return_inverse=True)
    classes = exposed.released[:, rows[first]]
    chosen = _spaced(classes.shape[1], TUNING.most_looks // max(1, size * len(_counted(exposed))))
    looked = np.full(classes.shape[1], -1)
    looked[chosen] = np.arange(chosen.size)
    kept = looked[inverse.ravel()] >= 0
    return rows[kept], looked[inverse.ravel()[kept]], *_rare_values(exposed, place, classes[:, chosen], size)


def _blank(exposed: ExposedFile, place: int) -> IntArray:
    return np.flatnonzero((exposed.released[place] < 0) & (exposed.truth[place] >= 0))


def _spaced(size: int, most: int) -> IntArray:
    return np.arange(size) if size <= most else np.unique(np.linspace(0, size - 1, max(most, 1)).astype(np.int64))


def _shares(exposed: ExposedFile, place: int, size: int) -> FloatArray:
    here = exposed.released[place] >= 0
    counts = np.bincount(exposed.released[place][here], weights=exposed.records[here], minlength=size)
    return np.asarray(counts / max(1.0, float(counts.sum())))


def _rare_values(exposed: ExposedFile, place: int, classes: IntArray, size: int) -> tuple[BoolArray, BoolArray]:
    """For each class and value of the field: would it make a combination rare, and does anybody show it with the same other values?"""
    rare, shown = np.zeros((classes.shape[1], size), dtype=np.bool_), np.zeros((classes.shape[1], size), dtype=np.bool_)
    for (places, threshold), counts in _counted(exposed):
        others = [each for each in places if each != place]
        asked = np.flatnonzero((classes[others] >= 0).all(axis=0)) if place in places else np.zeros(0, dtype=np.int64)
        if not asked.size:
            continue
        found = counts.of(mixed(classes[others][:, asked], others)[:, None] + _digit(np.arange(size), place)[None, :])
        rare[asked] |= found < threshold
        shown[asked] |= found > 0
    return rare, shown


def _digit(codes: IntArray, place: int) -> NDArray[np.uint64]:
    """A code of a field as a number: sums of these tell combinations apart (up to chance collisions of 64 bits)."""
    factor = np.random.Generator(np.random.PCG64(place + 1)).integers(1, 2**64 - 1, dtype=np.uint64) | np.uint64(1)
    with np.errstate(over="ignore"):
        return np.asarray((codes + 1).astype(np.uint64) * factor)


def mixed(codes: IntArray, places: Sequence[int]) -> NDArray[np.uint64]:
    """One number for each column that stands for its codes of these fields."""
    total = np.zeros(codes.shape[1], dtype=np.uint64)
    for row, place in zip(codes, places, strict=True):
        total += _digit(row, place)
    return total


class _CombinationCounts:
    """How many released records show each combination of these fields in full."""

    def __init__(self, exposed: ExposedFile, places: Sequence[int]) -> None:
        codes = exposed.released[list(places)]
        here = (codes >= 0).all(axis=0)
        self.cells, inverse = np.unique(mixed(codes[:, here], places), return_inverse=True)
        self.total = np.bincount(inverse.ravel(), weights=exposed.amount[here], minlength=self.cells.size)

    def of(self, wanted: NDArray[np.uint64]) -> FloatArray:
        if not self.cells.size:
            return np.zeros(wanted.shape)
        place = np.minimum(np.searchsorted(self.cells, wanted), self.cells.size - 1)
        return np.asarray(np.where(self.cells[place] == wanted, self.total[place], 0.0))


def _counted(exposed: ExposedFile) -> list[tuple[tuple[tuple[int, ...], int], _CombinationCounts]]:
    """The combinations with their counts, smallest first, as many as the work allows; counted once."""
    if not exposed.counted:
        most = max(1, TUNING.most_work // max(1, exposed.records.size))
        chosen = sorted(exposed.tables, key=lambda table: (len(table[0]), table[0]))[:most]
        exposed.counted.extend((table, _CombinationCounts(exposed, table[0])) for table in chosen)
    return exposed.counted


def rules_recover(exposed: ExposedFile) -> float:
    """M04: the share of blanks that edit rules, and then rules learned from the other key fields of the released file, give back.

    Extra blanks hide nothing rare and are left out.
    """
    blanks = recovered = 0
    for place in range(len(exposed.fields)):
        rows = _blank(exposed, place)
        if exposed.decoys:
            rows, own, rare, _ = _suspects(exposed, place, rows)
            rows = rows[rare[own, exposed.truth[place, rows]]]
        guess = _by_edits(exposed, place, rows)
        learned = _by_rules(exposed, place, rows)
        guess = np.where(guess >= 0, guess, learned)
        blanks += int(exposed.records[rows].sum())
        recovered += int(exposed.records[rows[guess == exposed.truth[place, rows]]].sum())
    return recovered / max(1, blanks)


def _by_edits(exposed: ExposedFile, place: int, rows: IntArray) -> IntArray:
    guess = np.full(rows.size, -1, dtype=np.int64)
    for edit in (each for each in exposed.edits if each.place == place):
        fits = np.ones(rows.size, dtype=np.bool_)
        for other, codes in edit.when.items():
            fits &= np.isin(exposed.released[other, rows], list(codes))
        guess[fits & (guess < 0)] = edit.code
    return guess


def _by_rules(exposed: ExposedFile, place: int, rows: IntArray) -> IntArray:
    """The most confident rule of one or two other fields."""
    guess, sure = np.full(rows.size, -1, dtype=np.int64), np.full(rows.size, TUNING.confidence)
    for places in _antecedents(len(exposed.fields), place, exposed.records.size):
        codes = exposed.released[list(places)]
        asked = np.flatnonzero((codes[:, rows] >= 0).all(axis=0))
        learnt = np.flatnonzero((codes >= 0).all(axis=0) & (exposed.released[place] >= 0))
        if not asked.size or not learnt.size:
            continue
        learnt = learnt[_spaced(learnt.size, TUNING.most_learnt)]
        cells, value, confidence = _learn(mixed(codes[:, learnt], places), exposed.released[place, learnt], exposed.records[learnt])
        wanted = mixed(codes[:, rows[asked]], places)
        found = np.minimum(np.searchsorted(cells, wanted), cells.size - 1)
        better = (cells[found] == wanted) & (confidence[found] >= sure[asked])
        guess[asked[better]], sure[asked[better]] = value[found[better]], confidence[found[better]]
    return guess


def _antecedents(fields: int, place: int, rows: int) -> Iterator[tuple[int, ...]]:
    others = [each for each in range(fields) if each != place]
    yield from ((each,) for each in others)
    if fields <= TUNING.most_fields_in_pairs and rows * fields**3 // 2 <= TUNING.most_work:
        yield from combinations(others, 2)


def _learn(cell: NDArray[np.uint64], value: IntArray, records: IntArray) -> tuple[NDArray[np.uint64], IntArray, FloatArray]:
    """For each combination its commonest value and the share that has it; too few records give no confidence."""
    cells, own = np.unique(cell, return_inverse=True)
    size = int(value.max()) + 1
    coded, inverse = np.unique(own.ravel() * size + value, return_inverse=True)
    pairs = np.divmod(coded, size)
    count = np.bincount(inverse.ravel(), weights=records)
    total = np.bincount(own.ravel(), weights=records)
    order = np.lexsort((-pairs[1], count, pairs[0]))
    last = np.flatnonzero(np.r_[pairs[0][order][1:] != pairs[0][order][:-1], True])
    best = order[last]
    share = count[best] / total
    return cells, pairs[1][best], np.where(total >= TUNING.support, share, 0.0)


def downcoded(exposed: ExposedFile) -> float:
    """M05: the share of recoded values that can be refined with certainty.

    All records of a field are written at the same level, whatever they hold, so which level was chosen tells nothing about a single
    record; what is left to a downcoder is a new code that stands for one old code only.
    """
    shown = refined = 0
    for place, alone in exposed.refined.items():
        here = np.flatnonzero(exposed.released[place] >= 0)
        shown += int(exposed.records[here].sum())
        refined += int(exposed.records[here[alone[exposed.released[place, here]]]].sum())
    return refined / max(1, shown)
