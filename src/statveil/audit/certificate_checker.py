"""The certificate checker: the certificate of a lower bound is worked out again on the original system, in exact integers.

Nothing is believed but the system itself. A certificate brings multipliers; that any multipliers (of cuts: zero or more) give a
valid bound is weak duality (docs/science.md, section 5):  over all whole tables that cost less than `worth`,

    cost(z) >= lambda r + y s + sum over groups of  min over the group's range of  w |z| - alpha z - beta |z|

with alpha = A' lambda and beta the pull of the cuts on |z|. The least of a piecewise linear term lies at an end of its range; that
of a square (L2) at the whole numbers beside its vertex. The ranges are worked out in `audit.implied_bounds`, from the system alone.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.sparse import csr_matrix

from statveil.audit.implied_bounds import ENDLESS, SAFE, DeviationRanges, ImpliedBounds, System, exact_product
from statveil.core.arrays import AnyArray, BoolArray, IntArray
from statveil.core.errors import AuditFailed, InputError
from statveil.formats.certificate import (
    COVER,
    Alike,
    AnyLeaf,
    Cases,
    Certificate,
    Combination,
    Copies,
    Multipliers,
    Node,
    ProofSum,
    read_certificate,
)
from statveil.formats.system import Decimals, LinearSystem, read_system

if TYPE_CHECKING:
    from statveil.audit.lifting.copies import LiftedPulls

WEIGHTS, VARIANTS, NORMS = ("file", "unit", "value", "inverse"), ("at-least", "exact"), ("l1", "l2")


class CheckerTuning(NamedTuple):
    """Sizes up to which a claim is worked out, all by judgement."""

    finest_scale: int = 2_000
    """Bits after the point of a cost."""
    few: int = 8
    """Choices of a relation up to which all sums are listed one by one."""
    listed: int = 30
    """Choices up to which sums from both ends are listed; beyond, sums are marked in bits."""
    longest_row: int = 2**24
    """Bits in which sums are marked."""
    most_copies: int = 40_000_000
    """Cells times copies of the table."""


TUNING = CheckerTuning()
NOTHING = Multipliers((), (), (), (), ())


def audit_bound(
    original: str | Path,
    certificate: str | Path,
    *,
    weights: str = "file",
    variant: str = "at-least",
    norm: str = "l1",
    non_additive: bool = False,
    negative_levels: bool = False,
    decimals: Decimals = None,
) -> Fraction:
    """The bound that a certificate's file proves for a system's file, both read anew; refused if it proves less than it claims.

    It is a bound on tables in whole units of so many decimals: those of the values, unless others were chosen.
    """
    for name, word, known in (("weights", weights, WEIGHTS), ("variant", variant, VARIANTS), ("norm", norm, NORMS)):
        if word not in known:
            raise InputError(f"Unknown {name} {word!r}. Known: {', '.join(known)}.")
    system = read_system(original, decimals=decimals, non_additive=non_additive, negative_levels=negative_levels)
    return check_bound(_SystemOfFile(system, weights, variant, norm), read_certificate(certificate))


class _SystemOfFile:
    """A system as its file gives it: sensitive are the cells marked u with a level, those marked z stay as they are."""

    def __init__(self, system: LinearSystem, weights: str, variant: str, norm: str) -> None:
        fixed = system.status == "z"
        unit = 10.0**-system.decimals
        size = np.maximum(np.abs(system.value) * unit, unit)
        own = np.where(system.cost == 0, 1.0, system.cost) if (system.cost[~fixed] != 0).all() else np.zeros(size.size)
        price = {"file": own, "unit": np.ones(size.size), "value": size, "inverse": 1.0 / size}[weights]
        self.relations, self.rhs, self.value = system.relations, system.rhs, system.value
        self.weight = price * (unit if norm == "l1" else unit * unit)
        self.lower, self.upper = np.where(fixed, system.value, system.lower), np.where(fixed, system.value, system.upper)
        self.sensitive = (system.status == "u") & ((system.lower_level > 0) | (system.upper_level > 0))
        self.lower_level, self.upper_level = system.lower_level, system.upper_level
        self.variant, self.norm = variant, norm


def check_bound(system: System, certificate: Certificate) -> Fraction:
    """The lower bound that the certificate proves for the system; refused if it proves less than it claims."""
    value = bound_of(system, certificate)
    if value * 2**certificate.scale < certificate.bound:
        raise AuditFailed("The certificate is refused: it proves less than it claims.")
    return value


def bound_of(system: System, certificate: Certificate) -> Fraction:
    """What the certificate's multipliers prove, whatever it claims: no whole safe table costs less."""
    _check_shape(system, certificate)
    weight, exact = _whole_weights(system, certificate.scale)
    implied = ImpliedBounds(system, _derived(certificate), weight, certificate.worth)
    implied.exhaust()
    value = certificate.worth
    if not implied.impossible:
        value = _Evaluation(implied).least(certificate.proof, implied.ranges)
        if exact and implied.weight.size:  # beyond what is fixed, every cost is a multiple of this
            step = reduce(math.gcd, implied.weight.tolist(), 0)
            value += (implied.fixed_cost - value) % step
    return Fraction(min(value, certificate.worth), 2**certificate.scale)


def _check_shape(system: System, certificate: Certificate) -> None:
    total = certificate.relations + len(certificate.derived)
    wrong = [
        (certificate.cells, certificate.relations) != (system.value.size, system.rhs.size),
        not 0 <= certificate.scale <= TUNING.finest_scale,
        system.norm not in NORMS or system.variant not in VARIANTS,
        bool((np.minimum(system.lower_level, system.upper_level)[system.sensitive] < 0).any()),
        not (np.isfinite(system.weight).all() and (system.weight > 0).all()),
        bool((np.abs(system.value) >= SAFE).any()),
        any(len(each.relations) != len(each.factors) or not _between(each.relations, 0, system.rhs.size) for each in certificate.derived),
        not _sound(certificate.proof, total, system.value.size),
    ]
    if any(wrong):
        raise AuditFailed("The certificate is refused: it does not fit the system.")


def _sound(node: Node, relations: int, cells: int) -> bool:
    if isinstance(node, Cases):
        own = 0 <= node.cell < cells and abs(node.at or 0) < SAFE
        return own and _sound(node.up, relations, cells) and _sound(node.down, relations, cells)
    if isinstance(node, Alike):
        own = _between((node.cell, node.other), 0, cells)
        return own and _sound(node.same, relations, cells) and _sound(node.opposite, relations, cells)
    if isinstance(node, ProofSum):
        return all(_sound(part, relations, cells) for part in node.parts)
    return _sound_copies(node, relations, cells) if isinstance(node, Copies) else _sound_multipliers(node, relations, cells)


def _sound_copies(node: Copies, relations: int, cells: int) -> bool:
    triangles = np.array(node.triangles, dtype=object)
    whole = triangles.size % 5 == 0
    *corners, alone, factor = triangles.reshape(-1, 5).T if whole else [triangles] * 5
    return (
        whole
        and len(node.factors) == 4 * len(node.relations) * len(node.cells)
        and _between((*corners[0], *corners[1], *corners[2]), 0, len(node.cells))
        and _between(tuple(alone), 0, 4)
        and min(factor, default=0) >= 0
        and _between(node.relations, 0, relations)
        and _between(node.cells, 0, cells)
        and len(node.shifts) == len(node.relations)
        and _between(node.shifts, 0, TUNING.finest_scale + 1)
        and _sound_multipliers(node.plain, relations, cells)
    )


def _sound_multipliers(node: Multipliers, relations: int, cells: int) -> bool:
    return (
        len(node.relations) == len(node.factors)
        and len(node.cut_relations) == len(node.cut_cells) == len(node.cut_factors)
        and _between((*node.relations, *node.cut_relations), 0, relations)
        and _between(node.cut_cells, COVER, cells)
        and min(node.cut_factors, default=0) >= 0
    )


def _between(numbers: tuple[int, ...], first: int, end: int) -> bool:
    return all(first <= number < end for number in numbers)


def _whole_weights(system: System, scale: int) -> tuple[AnyArray, bool]:
    """Weights in units of 2**-scale, rounded down, and whether nothing was lost: a double is a whole number over a power of two."""
    distinct, of_cell = np.unique(system.weight, return_inverse=True)
    ratios = [weight.as_integer_ratio() for weight in distinct.tolist()]
    numbers = _compact([(above << scale) // below for above, below in ratios])
    return numbers[of_cell], all(below <= 2**scale for _, below in ratios)


def _compact(numbers: list[int]) -> AnyArray:
    """64 bits where they do, integers without end elsewhere."""
    small = all(abs(number) < SAFE for number in numbers)
    return np.array(numbers, dtype=np.int64 if small else object)


def _derived(certificate: Certificate) -> csr_matrix:
    entries: list[Combination] = list(certificate.derived)
    rows = np.repeat(np.arange(len(entries)), [len(each.relations) for each in entries])
    columns = [column for each in entries for column in each.relations]
    factors = _compact([factor for each in entries for factor in each.factors])
    if factors.dtype == object:
        raise AuditFailed("The certificate is refused: a combination's factors are too large.")
    return csr_matrix((factors, (rows, columns)), shape=(len(entries), certificate.relations), dtype=np.int64)


Ties = tuple[tuple[int, int, int], ...]
"""Pairs of groups that a proof's cases say to move the same way (1) or opposite ways (-1)."""


class _Evaluation:
    """Works out multipliers on the groups of a `ImpliedBounds`."""

    def __init__(self, implied: ImpliedBounds) -> None:
        self.implied = implied
        self.right: list[int] = implied.right.tolist()
        self.sizes = abs(implied.matrix).tocsr()
        self.columns, self.size_columns = implied.matrix.T.tocsr(), self.sizes.T.tocsr()
        width = max(1, implied.matrix.shape[1])
        self.places = implied.row_of_entry * width + implied.matrix.indices
        self.width = width
        self._imbalances: dict[tuple[object, ...], int] = {}
        self._covers: tuple[DeviationRanges, dict[int, int]] = (implied.ranges, {})
        if (np.maximum(-implied.ranges.low, implied.ranges.high) >= SAFE).any():
            raise AuditFailed("The certificate is refused: a cell's range has no end.")

    def least(self, node: Node, ranges: DeviationRanges, ties: Ties = ()) -> int:
        """The least cost under a node of the proof, within the ranges and ties that the cases above it leave.

        Children are mapped, not looped over in generators, which would fill Python's stack sooner.
        """
        if isinstance(node, Multipliers):
            return self._leaf(node, ranges)
        if isinstance(node, Copies):
            return self._copies(node, ranges, ties)
        if isinstance(node, ProofSum):
            return self._sum_of_parts(node, ranges, ties)
        if isinstance(node, Alike):
            return self._alike(node, ranges, ties)
        group = int(self.implied.group[node.cell])
        if group < 0:  # the cell is fixed: both cases speak of all tables, and either proves its value
            return max(self.least(node.up, ranges, ties), self.least(node.down, ranges, ties))
        values = []
        for child, left in self._cases(node, group, ranges):
            values.append(self.least(child, _settled(left, ties), ties))
        return min(values)

    def _cases(self, node: Cases[AnyLeaf], group: int, ranges: DeviationRanges) -> list[tuple[Node, DeviationRanges]]:
        """The cases with what each leaves open; one alone where it holds anyway, so that neither is ever without a table of its own."""
        least, most = (0, 0) if node.at is None else (node.at + 1, node.at)  # of the cell where it is up, and where it is down
        ways: list[tuple[Node, int, int]] = [(node.up, least, ENDLESS), (node.down, -ENDLESS, most)]
        if self.implied.sign[node.cell] < 0:
            ways = [(child, -high, -low) for child, low, high in ways]
        own = ranges.of([group])
        anyway = [(child, ranges) for child, low, high in ways if low <= own.low[0] and own.high[0] <= high]
        return anyway[:1] or [(child, ranges.with_one(group, low, high)) for child, low, high in ways]

    def _alike(self, node: Alike[AnyLeaf], ranges: DeviationRanges, ties: Ties) -> int:
        """Both cases, or the one that the ties above leave. Where a cell is fixed both speak of all tables, and either proves its value."""
        from statveil.audit.lifting.copies import clusters_of

        one, other = self.implied.group[[node.cell, node.other]].tolist()
        turn = int(self.implied.sign[[node.cell, node.other]].prod())
        if min(one, other) < 0:
            return max(self.least(node.same, ranges, ties), self.least(node.opposite, ranges, ties))
        root, sign = clusters_of(ranges.rest.size, ties, np.ones(ranges.rest.size, dtype=np.bool_))
        if root[one] == root[other]:
            child = node.same if sign[one] * sign[other] == turn else node.opposite
            return self.least(child, ranges, ties)
        values = []
        for child, way in ((node.same, turn), (node.opposite, -turn)):
            more = (*ties, (one, other, way))
            values.append(self.least(child, _settled(ranges, more), more))
        return min(values)

    def _sum_of_parts(self, node: ProofSum[AnyLeaf], ranges: DeviationRanges, ties: Ties) -> int:
        """What each part proves beyond the least that all groups cost: costs add up, so the parts do, if no group is in two of them."""
        touched = [self._touched(part) for part in node.parts]
        if sum(map(len, touched)) > len(set().union(*touched)):
            raise AuditFailed("The certificate is refused: parts that should speak of different cells have some in common.")
        least = self._leaf(NOTHING, ranges)
        return sum([self.least(part, ranges, ties) for part in node.parts]) - (len(node.parts) - 1) * least

    def _touched(self, node: Node) -> set[int]:
        """The groups that a proof speaks of."""
        if isinstance(node, Cases):
            return ({int(self.implied.group[node.cell])} - {-1}) | self._touched(node.up) | self._touched(node.down)
        if isinstance(node, Alike):
            own = set(self.implied.group[[node.cell, node.other]].tolist()) - {-1}
            return own | self._touched(node.same) | self._touched(node.opposite)
        if isinstance(node, ProofSum):
            return set().union(*map(self._touched, node.parts))
        own = set(self.implied.group[list(node.cells)].tolist()) - {-1} if isinstance(node, Copies) else set()
        plain = node.plain if isinstance(node, Copies) else node
        matrix, rows = self.implied.matrix, {*node.relations, *plain.relations, *plain.cut_relations}
        return own | {group for row in rows for group in matrix.indices[matrix.indptr[row] : matrix.indptr[row + 1]].tolist()}

    def _leaf(self, node: Multipliers, ranges: DeviationRanges) -> int:
        constant, over, under = self._terms(node, self._cuts(node, ranges), ranges)
        return constant + _sum_of_least(over, under, ranges.up, ranges.down, ranges.rest)

    def _terms(self, node: Multipliers, cuts: tuple[AnyArray, int], ranges: DeviationRanges) -> tuple[int, AnyArray, AnyArray]:
        """What is there anyway, and the least cost of each group where it is up, and where it is down. `cuts`: pull and constant."""
        factors = _gathered(len(self.right), node.relations, node.factors)
        alpha = exact_product(self.columns, factors)
        beta, constant = cuts
        constant += sum(factor * self.right[row] for row, factor in zip(node.relations, node.factors, strict=True))
        least = self._least_squares if self.implied.squared else self._least_sizes
        over = least(ranges.up, ranges.rise, ranges.top, beta + alpha)
        under = least(ranges.down, -ranges.fall, -ranges.bottom, beta - alpha)
        return self.implied.fixed_cost + constant, over, under

    def _copies(self, node: Copies, ranges: DeviationRanges, ties: Ties) -> int:
        """A leaf with copies (`audit.lifting.copies`). How far a sign moves its group at the least differs by the sign, which costs a pair
        of signs; taken for the lesser of the two it costs none. Both are true, and either may prove more."""
        if len(node.cells) * self.width > TUNING.most_copies:
            raise AuditFailed("The certificate is refused: it has too many copies.")
        even, cuts = ranges.even, self._cuts(node.plain, ranges)
        same = np.array_equal(even.rise, ranges.rise) and np.array_equal(even.fall, ranges.fall)
        return max([self._signed(node, cuts, each, ties) for each in ([ranges] if same else [ranges, even])])

    def _signed(self, node: Copies, cuts: tuple[AnyArray, int], ranges: DeviationRanges, ties: Ties) -> int:
        """What groups cost whose sign is known relative to a copy's depends on that sign."""
        from statveil.audit.lifting.copies import left_of, pulls_of

        cells = list(node.cells)
        names = (self.implied.group[cells], self.implied.sign[cells])
        asked = pulls_of(node, self.columns, self.right, names, ranges, ties)
        constant, over, under = self._terms(node.plain, (cuts[0] - asked.slope, cuts[1]), ranges)
        known, up, down = asked.copy >= 0, ranges.up, ranges.down
        others = [each & ~known for each in (up, down, ranges.rest)]
        total = 2 * (constant + _sum_of_least(over, under, *others))
        if known.any():
            return (total + self._by_sign(asked, ranges, over, under) + left_of(asked.pairs, asked.sense) - asked.less) // 2
        return total // 2

    def _by_sign(self, asked: LiftedPulls, ranges: DeviationRanges, over: AnyArray, under: AnyArray) -> int:
        """Twice what groups with a sign cost at the least whatever it is; what depends on it is added to the pairs."""
        known = np.flatnonzero(asked.copy >= 0)
        up, down = ranges.up[known], ranges.down[known]
        rising = over[known].astype(object) + asked.apart[known].astype(object) * ranges.rise[known].astype(object)
        falling = under[known].astype(object) - asked.apart[known].astype(object) * ranges.fall[known].astype(object)
        rising, falling = np.where(up, rising, falling), np.where(down, falling, rising)
        with_sign = (rising - falling) * asked.turn[known]
        by_copy = np.zeros(asked.pairs.shape[0], dtype=object)
        np.add.at(by_copy, 1 + asked.copy[known], with_sign)
        asked.pairs[0] += by_copy
        asked.pairs[:, 0] += by_copy
        return int((rising + falling).sum())

    def _cuts(self, node: Multipliers, ranges: DeviationRanges) -> tuple[AnyArray, int]:
        """The pull of the cuts on the sizes, and what their right-hand sides bring."""
        pull = exact_product(self.size_columns, _gathered(len(self.right), node.cut_relations, node.cut_factors))
        covers = [(row, factor) for row, cell, factor in zip(*node[2:], strict=True) if cell == COVER]
        polygons = [(row, cell, factor) for row, cell, factor in zip(*node[2:], strict=True) if cell != COVER]
        if self._covers[0] is not ranges:
            self._covers = (ranges, {})
        known = self._covers[1]
        constant = 0
        for row, factor in covers:
            if row not in known:
                known[row] = self._cover(row, ranges)
            constant += factor * known[row]
        longest = self.implied.group[[cell for _, cell, _ in polygons]]
        sizes = self._sizes(np.array([row for row, _, _ in polygons], dtype=np.int64), longest)
        for (row, _, factor), size in zip(polygons, sizes.tolist(), strict=True):  # a longest side that is fixed is on the right
            constant += (-1 if size else 1) * factor * abs(self.right[row])
        doubled = [2 * factor * size for (_, _, factor), size in zip(polygons, sizes.tolist(), strict=True)]
        return pull - _gathered(pull.size + 1, longest.tolist(), doubled)[:-1], constant

    def _sizes(self, rows: IntArray, groups: IntArray) -> IntArray:
        """The groups' coefficients in these relations, without their signs; zero where they have none (a fixed cell: group -1)."""
        places = rows * self.width + groups
        at = np.searchsorted(self.places, places)
        here = (groups >= 0) & (np.append(self.places, -1)[at] == places)
        return np.where(here, np.append(self.sizes.data, 0)[at], 0)

    def _cover(self, row: int, ranges: DeviationRanges) -> int:
        """Least that the sizes of a relation's terms add up to: the groups that must move at their nearest ends, and what those leave.

        With each of them at the near end of an open sense, signs leave at least d of the right-hand side, which further moves
        of any terms must bring.
        """
        matrix = self.implied.matrix
        part = slice(matrix.indptr[row], matrix.indptr[row + 1])
        held = [(group, factor) for group, factor in zip(matrix.indices[part], matrix.data[part], strict=True) if not ranges.rest[group]]
        own = ranges.of([group for group, _ in held])
        sides = ((own.rise.tolist(), own.up.tolist()), (own.fall.tolist(), own.down.tolist()))
        ends: list[list[int]] = [[int(factor) * end[at] for end, open_ in sides if open_[at]] for at, (_, factor) in enumerate(held)]
        key = (row, *map(tuple, ends))
        if key not in self._imbalances:
            self._imbalances[key] = least_imbalance(self.right[row], ends)
        return self._imbalances[key] + sum([min(map(abs, each)) for each in ends])

    def _least_sizes(self, open_: BoolArray, near: IntArray, far: IntArray, pull: AnyArray) -> AnyArray:
        """min of (w - pull) u over near <= u <= far."""
        slope = self.implied.weight - pull
        return _times(slope, np.where(open_, np.where(np.asarray(slope >= 0, dtype=np.bool_), near, far), 0))

    def _least_squares(self, open_: BoolArray, near: IntArray, far: IntArray, pull: AnyArray) -> AnyArray:
        """min of w u^2 - pull u over whole near <= u <= far: at one of the two whole numbers beside the vertex."""
        weight, pull = self.implied.weight.astype(object), np.where(open_, pull, 0).astype(object)
        low, high = np.where(open_, near, 0).astype(object), np.where(open_, far, 0).astype(object)
        vertex = pull // (2 * weight)
        ends = [np.minimum(np.maximum(u, low), high) for u in (vertex, vertex + 1)]
        return np.asarray(np.minimum(*((weight * u - pull) * u for u in ends)))


def _settled(ranges: DeviationRanges, ties: Ties) -> DeviationRanges:
    if not ties:
        return ranges
    from statveil.audit.lifting.copies import settled

    return settled(ranges, ties)


def _sum_of_least(over: AnyArray, under: AnyArray, up: BoolArray, down: BoolArray, rest: BoolArray) -> int:
    """The sum over groups of the least of the terms that are open to them."""
    both = np.where(up & down, np.minimum(over, under), np.where(up, over, np.where(down, under, 0)))
    least = np.where(rest, np.minimum(both, 0), both)
    return sum(least.tolist())


def _gathered(size: int, places: tuple[int, ...] | list[int], amounts: tuple[int, ...] | list[int]) -> AnyArray:
    """Amounts added up at their places."""
    small = sum(map(abs, amounts)) < SAFE
    total = np.zeros(size, dtype=np.int64 if small else object)
    np.add.at(total, np.array(places, dtype=np.int64), np.array(amounts, dtype=total.dtype))
    return total


def _times(one: AnyArray, other: AnyArray) -> AnyArray:
    """Products, cell by cell, in integers without end where 64 bits might not do."""
    sizes = np.abs(one.astype(np.float64)) * np.abs(other.astype(np.float64))
    return one * other if one.dtype != object and (sizes < SAFE).all() else one.astype(object) * other.astype(object)


def least_imbalance(target: int, choices: list[list[int]]) -> int:
    """min |target - sum of one choice each|; zero, which is always valid, where it would take too long to find."""
    left = target - sum(min(each) for each in choices)
    steps = [max(each) - min(each) for each in choices if max(each) > min(each)]
    if len(steps) <= TUNING.few:
        sums = [0]
        for step in steps:
            sums += [each + step for each in sums]
        return min(abs(left - each) for each in sums)
    if len(steps) <= TUNING.listed and sum(steps) < SAFE and abs(left) < SAFE:
        return _from_both_ends(left, steps)
    unit = reduce(math.gcd, steps, 0)
    return _in_bits(left, steps, unit) if unit and sum(steps) // unit <= TUNING.longest_row else 0


def _from_both_ends(left: int, steps: list[int]) -> int:
    half = len(steps) // 2
    first, second = _sums(steps[:half]), _sums(steps[half:])
    wanted = left - first
    at = np.searchsorted(second, wanted)
    beside = [second[np.clip(at + shift, 0, second.size - 1)] for shift in (-1, 0)]
    return int(min(np.abs(each - wanted).min() for each in beside))


def _sums(steps: list[int]) -> IntArray:
    """All sums of some of the steps, in order."""
    sums = np.zeros(1, dtype=np.int64)
    for step in steps:
        sums = np.unique(np.concatenate([sums, sums + step]))
    return sums


def _in_bits(left: int, steps: list[int], unit: int) -> int:
    """Bit b of a long integer says that b units can be reached."""
    bits = 1
    for step in steps:
        bits |= bits << step // unit
    at = min(max(left // unit, -1), sum(steps) // unit)
    below, above = bits & ((1 << at + 1) - 1), bits >> at + 1
    distances = [left - (below.bit_length() - 1) * unit] if below else []
    distances += [((above & -above).bit_length() + at) * unit - left] if above else []
    return min(distances)
