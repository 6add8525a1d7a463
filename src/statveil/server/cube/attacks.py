"""What an attacker gains from a cube, measured by the office on its own data: an estimate is made, and compared with the truth.

Attackers know the method, the rules and all releases, and where they are respondents, their own values. Averaging one cell over tables,
other tables of the same cell and partitions of a population (T02, T03, T10) give the same number again, since every answer is a sum.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from statveil.core.arrays import AnyArray, BoolArray, IntArray
from statveil.server.cube.lattice import Lattice
from statveil.server.cube.solve.signs import rivals_in


class AttackScore(NamedTuple):
    """How often an attack came near, of how many tries; `most`: the share that is accepted, None where it is told only."""

    threat: str
    name: str
    hits: int
    tries: int
    most: float | None

    @property
    def share(self) -> float:
        return self.hits / max(self.tries, 1)

    @property
    def passed(self) -> bool:
        return self.most is None or self.share <= self.most


class Edition(NamedTuple):
    """One edition of a cube as the office sees it. `ids`: keyed ids of the positions; `holding`: of the holdings."""

    lattice: Lattice
    released: IntArray
    ids: AnyArray
    holding: AnyArray

    @property
    def moved(self) -> IntArray:
        return self.lattice.sums(self.released) - self.lattice.value


SAME = 1.3
"""Editions of a position within this factor are the same quantity."""
PERCENT = 0.1
"""How near an estimate must come to count, where the rules say nothing else: p = 10%."""


def attack_edition(edition: Edition, percent: float = PERCENT) -> list[AttackScore]:
    """All attacks on one edition by itself."""
    return [
        under_level(edition),
        opposite_rivals(edition),
        opposite_rivals(edition, largest=True),
        opposite_rivals(edition, 0.25),
        same_rivals(edition),
        guessed_upward(edition),
        second_contributor(edition, percent),
        holdings_added_up(edition, percent),
        leader_of_total(edition, percent),
        at_the_level(edition),
    ]


def attack_editions(editions: Sequence[Edition]) -> list[AttackScore]:
    """Attacks that compare editions."""
    pairs = list(pairwise(editions))
    scores = [average_over_editions(editions), average_over_editions(editions, same=False)]
    for attack in (one_change, one_arrival, last_years_value, last_years_value_close):
        found = [attack(before, after) for before, after in pairs]
        scores.append(found[0]._replace(hits=sum(each.hits for each in found), tries=sum(each.tries for each in found)))
    return scores


def _counted(near: BoolArray, tried: BoolArray | None = None) -> tuple[int, int]:
    """Hits among the tries, and tries."""
    return (int(near.sum()), near.size) if tried is None else (int((near & tried).sum()), int(tried.sum()))


def under_level(edition: Edition) -> AttackScore:
    lattice, moved = edition.lattice, edition.moved
    short = lattice.sensitive & np.where(moved > 0, moved < lattice.up, -moved < lattice.down)
    return AttackScore("T01", "sensitive cells within their level", int(short.sum()), int(lattice.sensitive.sum()), 0.0)


def opposite_rivals(edition: Edition, close: float = 0.5, *, largest: bool = False) -> AttackScore:
    """A firm knows which way its own cell went, and bets that its closest rival's, in a safe total of both, went the other way."""
    one, other = _rivals(edition, ~edition.lattice.sensitive, close)
    if largest:
        size = np.minimum(edition.lattice.leaf_magnitude[one], edition.lattice.leaf_magnitude[other])
        kept = np.argsort(-size, kind="stable")[: max(size.size // 10, 1)]
        one, other = one[kept], other[kept]
    words = f"opposite directions of rivals within a factor of {1 / close:g}{', the largest tenth' if largest else ''}"
    return AttackScore("rivals", words, *_counted(_ways(edition, one) != _ways(edition, other)), 0.57)


def same_rivals(edition: Edition) -> AttackScore:
    """Where the total of both is sensitive itself, close rivals must go the same way: told, not prevented."""
    one, other = _rivals(edition, edition.lattice.sensitive, 0.5)
    return AttackScore(
        "rivals", "same direction of close rivals in a sensitive total", *_counted(_ways(edition, one) == _ways(edition, other)), None
    )


def _rivals(edition: Edition, rows: BoolArray, close: float) -> tuple[IntArray, IntArray]:
    lattice = edition.lattice
    row = np.maximum(lattice.leaf_row, 0)
    sensitive = (lattice.leaf_row >= 0) & lattice.sensitive[row]
    size = np.where(sensitive, lattice.up[row], 0).astype(np.float64)
    return rivals_in(lattice, np.where(sensitive, lattice.leader[row], -1), size, rows, close)


def _ways(edition: Edition, leaves: IntArray) -> IntArray:
    found: IntArray = np.sign(edition.released - edition.lattice.leaf_value)[leaves]
    return found


def guessed_upward(edition: Edition) -> AttackScore:
    sensitive = edition.lattice.sensitive
    words = "sensitive cells that went up, the best guess without a key"
    return AttackScore("T18", words, *_counted(edition.moved > 0, sensitive), None)


def second_contributor(edition: Edition, percent: float = PERCENT) -> AttackScore:
    """The second contributor subtracts its own from the release, and takes the rest for the first one's."""
    lattice = edition.lattice
    first, second = lattice.top[:, 0], lattice.top[:, 1]
    tried = lattice.sensitive & (lattice.respondents > 2) & (first > 0)
    near = np.abs(lattice.value + edition.moved - second - first) < percent * first
    return AttackScore("T13", "second contributor within p% of the first", *_counted(near, tried), 0.1)


def holdings_added_up(edition: Edition, percent: float = PERCENT) -> AttackScore:
    """Whoever knows all cells in which a holding is alone adds them up (T06, T07): no table shows that sum."""
    lattice, pairs = edition.lattice, edition.lattice.pairs
    row = np.maximum(lattice.leaf_row, 0)
    alone = ((lattice.leaf_row >= 0) & (lattice.respondents[row] == 1))[pairs.leaf]
    holding = np.repeat(np.arange(pairs.start.size - 1), np.diff(pairs.start))[alone]
    size, moved, cells = (
        np.bincount(holding, weights, minlength=pairs.start.size - 1)
        for weights in (pairs.amount[alone], (edition.released - lattice.leaf_value)[pairs.leaf[alone]], np.ones(holding.size))
    )
    tried = (cells > 1) & (np.abs(size) >= 10)
    near = np.abs(moved) < percent / 2 * np.abs(size)
    return AttackScore("T06", "holdings alone in several cells, their sum within p/2", *_counted(near, tried), 0.01)


def leader_of_total(edition: Edition, percent: float = PERCENT) -> AttackScore:
    """From a total, subtract the released leaf cells of all others: what is left is the leader's cell, as released (T04)."""
    lattice = edition.lattice
    row = np.maximum(lattice.leaf_row, 0)
    single = (lattice.leaf_row >= 0) & (lattice.respondents[row] == 1) & (lattice.leaf_magnitude >= 10)
    near = np.abs(edition.released - lattice.leaf_value) < percent / 2 * lattice.leaf_magnitude
    return AttackScore("T04", "single respondents within p/2 by complements", *_counted(near, single), 0.0)


def at_the_level(edition: Edition) -> AttackScore:
    """The level is known: the release less or plus it is the truth, if the cell moved just so far (T11)."""
    lattice, moved = edition.lattice, edition.moved
    level = np.where(moved > 0, lattice.up, lattice.down)
    large = lattice.sensitive & (level >= 10)
    near = np.abs(np.abs(moved) - level) < 0.1 * level
    return AttackScore("T11", "sensitive cells moved just by their level (within a tenth)", *_counted(near, large), None)


def average_over_editions(editions: Sequence[Edition], *, same: bool = True) -> AttackScore:
    """The mean of all editions of a position that is sensitive in all of them (T21): if `same`, the same leader's and of about the
    same size, for an average of different quantities tells neither."""
    marks = [np.stack([each.ids, _leaders(each) if same else each.ids], axis=1) for each in editions]
    kept = [each.lattice.sensitive[each.lattice.position_row] for each in editions]
    common = np.unique(marks[0][kept[0]], axis=0)
    for mark, chosen in zip(marks[1:], kept[1:], strict=True):
        both, count = np.unique(np.concatenate([common, np.unique(mark[chosen], axis=0)]), axis=0, return_counts=True)
        common = both[count > 1]
    moved, level, sizes = np.zeros(common.shape[0]), np.zeros(common.shape[0]), []
    for each in editions:
        order = np.argsort(each.ids, kind="stable")
        row = each.lattice.position_row[order[np.searchsorted(each.ids[order], common[:, 0])]]
        moved += each.moved[row]
        level += np.minimum(each.lattice.up, each.lattice.down)[row]
        sizes.append(each.lattice.magnitude[row])
    kept_size = np.max(sizes, axis=0) <= SAME * np.min(sizes, axis=0) if same else np.ones(moved.size, np.bool_)
    moved, level = moved[kept_size], level[kept_size]
    words = f"average of {len(editions)} editions within the level" + ("" if same else ", whoever leads")
    return AttackScore("T21", words, int((np.abs(moved) < level).sum()), moved.size, 0.0 if same else None)


def _leaders(edition: Edition) -> AnyArray:
    return edition.holding[edition.lattice.leader][edition.lattice.position_row]


def one_change(before: Edition, after: Edition, *, arrived: bool = False) -> AttackScore:
    """Of a safe cell in which one firm changed, or came or left, the difference of two editions is taken for the change (T07)."""
    one, other = _same_positions(before, after)
    number = np.maximum(*(found[rows] for found, rows in zip(_changed(before, after), (one, other), strict=True)))
    change = after.lattice.value[other] - before.lattice.value[one]
    safe = ~before.lattice.sensitive[one] & ~after.lattice.sensitive[other]
    as_many = before.lattice.respondents[one] == after.lattice.respondents[other]
    tried = safe & (number == 1) & (np.abs(change) >= 10) & (as_many != arrived)
    found = (after.lattice.value + after.moved)[other] - (before.lattice.value + before.moved)[one]
    near = np.abs(found - change) < PERCENT * np.abs(change)
    words = "one firm that came or left" if arrived else "one firm's change"
    return AttackScore("T07", f"{words} between editions within a tenth", *_counted(near, tried), None if arrived else 0.15)


def one_arrival(before: Edition, after: Edition) -> AttackScore:
    return one_change(before, after, arrived=True)


def last_years_value(before: Edition, after: Edition, near: float = PERCENT) -> AttackScore:
    """Last year's true value of a single firm is known: its factor is put on this year's release."""
    one, other = _same_positions(before, after)
    single = (before.lattice.respondents[one] == 1) & (after.lattice.respondents[other] == 1)
    same = before.holding[before.lattice.leader[one]] == after.holding[after.lattice.leader[other]]
    true, known = after.lattice.value[other], before.lattice.value[one]
    tried = single & same & (true > 100) & (known > 100)
    guess = (true + after.moved[other]) * known / np.maximum((before.lattice.value + before.moved)[one], 1)
    hits = np.abs(guess - true) < near * np.abs(true)
    return AttackScore(
        "known",
        f"this year's value of a single firm within {100 * near:g}% by last year's truth",
        int((hits & tried).sum()),
        int(tried.sum()),
        None,
    )


def last_years_value_close(before: Edition, after: Edition) -> AttackScore:
    return last_years_value(before, after, 0.01)


def _same_positions(before: Edition, after: Edition) -> tuple[IntArray, IntArray]:
    """Rows of both editions that stand at the same position, each pair once."""
    _, one, other = np.intersect1d(before.ids, after.ids, return_indices=True)
    rows = np.unique(np.stack([before.lattice.position_row[one], after.lattice.position_row[other]], axis=1), axis=0)
    return rows[:, 0], rows[:, 1]


def _changed(before: Edition, after: Edition) -> list[IntArray]:
    """For each row of both editions, how many of its holdings changed from the one to the other, by leaf cell."""
    keys, holdings, amounts = (np.concatenate(both) for both in zip(_held(before, -1), _held(after, 1), strict=True))
    order = np.lexsort((holdings, keys))
    new = np.ones(order.size, np.bool_)
    new[1:] = (np.diff(keys[order]) != 0) | (np.diff(holdings[order]) != 0)
    starts = np.flatnonzero(new)
    changed = keys[order][starts][np.add.reduceat(amounts[order], starts) != 0]
    where, count = np.unique(changed, return_counts=True)
    return [each.lattice.sums(_at(where, count, each.lattice.leaf_keys)) for each in (before, after)]


def _held(edition: Edition, sign: int) -> tuple[IntArray, AnyArray, IntArray]:
    pairs = edition.lattice.pairs
    holding = np.repeat(edition.holding, np.diff(pairs.start))
    return edition.lattice.leaf_keys[pairs.leaf], holding, sign * pairs.amount


def _at(where: IntArray, count: IntArray, keys: IntArray) -> IntArray:
    if not where.size:
        return np.zeros(keys.size, np.int64)
    place = np.minimum(np.searchsorted(where, keys), where.size - 1)
    return np.where(where[place] == keys, count[place], 0).astype(np.int64)


def ratio(one: Edition, other: Edition, percent: float = PERCENT) -> AttackScore:
    """The ratio of two measures of a single firm (T23): both go one way, so that it is nearly kept. Told, not prevented."""
    first, second = _same_positions(one, other)
    tried = (one.lattice.respondents[first] == 1) & (one.lattice.value[first] > 0) & (other.lattice.value[second] > 0)
    moved = [(each.lattice.value + each.moved)[rows] for each, rows in ((one, first), (other, second))]
    true = one.lattice.value[first] / np.maximum(other.lattice.value[second], 1)
    near = np.abs(moved[0] / np.maximum(moved[1], 1) - true) < percent * true
    return AttackScore("T23", "ratio of two measures of a single firm within p%", *_counted(near, tried), None)
