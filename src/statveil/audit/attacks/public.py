"""What an attacker has: the catalogue, the register of who is where, the answers given. No value that was not published.

Everything here is public by assumption, the method and its settings too (Kerckhoffs): only the values and the key are secret.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np
from scipy.sparse import csr_matrix

from statveil.core.arrays import AnyArray, BoolArray, FloatArray, IntArray
from statveil.core.errors import DisclosureRefused, InputError
from statveil.data.hierarchy import Hierarchy
from statveil.tables.spec import Dimension

_MULTIPLIERS = (0xBF58476D1CE4E5B9, 0x94D049BB133111EB)


@dataclass(frozen=True, kw_only=True)
class RequestAxis:
    """A dimension of a request and the codes wanted; without codes its finest ones."""

    id: str
    codes: tuple[str, ...] | None = None


@dataclass(frozen=True, kw_only=True)
class TableRequest:
    """A table asked for. A filter keeps the records below any of its codes."""

    axes: tuple[RequestAxis, ...]
    measure: str
    filters: tuple[tuple[str, tuple[str, ...]], ...] = ()
    totals: bool = True


@dataclass(frozen=True, kw_only=True)
class Trace:
    """What the wire shows besides the numbers."""

    seconds: float
    body: bytes = field(default=b"", repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, kw_only=True)
class AnswerAxis:
    """The codes of an answer along one dimension, in its order."""

    id: str
    codes: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class AnswerTable:
    """An answer: whole units of the published decimal in the shape of the axes, and whether each is shown.

    `sums`: the reader added up what the server would not.
    """

    axes: tuple[AnswerAxis, ...]
    values: IntArray = field(repr=False)
    shown: BoolArray = field(repr=False)
    decimals: int = 0
    sums: bool = False
    trace: Trace | None = field(default=None, repr=False)


@dataclass(frozen=True, kw_only=True)
class AxisSums:
    """Sums along one axis below one code: cell `total[j]` is the sum of the cells `parts[:, j]`, by flat number."""

    axis: int
    total: IntArray
    parts: IntArray


@dataclass(frozen=True, kw_only=True)
class Catalogue:
    """What the server says of a data set, and what its documentation says of the method.

    `populations`: dimensions of which several codes in a filter make a population whose cells are protected as such (None: all that
    filter); those of others add up published cells, as any reader can. `percent` is the p of the p% rule, `cap` the q/p that a
    sensitive cell may move at most, `most_change` how far any other cell may lie from the truth as a share of it (None: not known).
    """

    dimensions: tuple[Dimension, ...]
    measures: tuple[str, ...]
    filters: tuple[str, ...] = ()
    counts: str | None = None
    percent: float = 10.0
    cap: float = 2.0
    most_change: float | None = None
    populations: tuple[str, ...] | None = None

    def makes_population(self, name: str) -> bool:
        return self.populations is None or name in self.populations

    def dimension(self, name: str) -> Dimension:
        for dimension in self.dimensions:
            if dimension.name == name:
                return dimension
        raise InputError(f"The data set has no dimension {name!r}.", hint=f"It has: {', '.join(each.name for each in self.dimensions)}.")

    @property
    def by_size(self) -> tuple[Dimension, ...]:
        """The dimensions with most codes first."""
        return tuple(sorted(self.dimensions, key=lambda dimension: -len(dimension.trees[0].leaves)))


class TableServer(Protocol):
    """The one way to a server. `ask` raises `DisclosureRefused` or another `StatveilError` where it gets no table,

    and `ServerClosed` where it cannot ask at all: that ends the attacks.
    """

    @property
    def catalogue(self) -> Catalogue: ...

    def ask(self, request: TableRequest) -> AnswerTable: ...


class Register:
    """Who is where: the finest codes of every record and its owner."""

    def __init__(self, dimensions: Sequence[Dimension], codes: Mapping[str, IntArray], owner: IntArray) -> None:
        """`codes[name][i]` is record i's place among the dimension's codes; `owner[i]` numbers the holding it belongs to."""
        self.dimensions = {dimension.name: dimension for dimension in dimensions}
        self.codes = dict(codes)
        self.owner = owner
        self.marks = _marks(owner.size)
        self._under = {name: _ancestors(dimension) for name, dimension in self.dimensions.items()}

    @property
    def size(self) -> int:
        return int(self.owner.size)

    def population(self, request: TableRequest) -> BoolArray:
        """The records that pass the filters."""
        inside = np.ones(self.size, dtype=np.bool_)
        for name, codes in request.filters:
            dimension = self.dimensions[name]
            wanted = np.asarray(np.isin(self._under[name], [dimension.position[code] for code in codes]).any(axis=0))
            inside &= wanted[self.codes[name]]
        return inside

    def members(self, request: TableRequest, table: AnswerTable) -> tuple[IntArray, IntArray]:
        """Pairs (record, flat number of a cell it belongs to)."""
        records = np.flatnonzero(self.population(request))
        found = []
        for places in itertools.product(*(self._places(axis, records) for axis in table.axes)):
            cell = np.ravel_multi_index([np.maximum(place, 0) for place in places], table.values.shape)
            inside = np.logical_and.reduce([place >= 0 for place in places])
            found.append((records[inside], cell[inside]))
        return np.concatenate([pair[0] for pair in found]), np.concatenate([pair[1] for pair in found])

    def _places(self, axis: AnswerAxis, records: IntArray) -> Iterator[IntArray]:
        """Per layer of the trees: the place on the axis of each record's code in that layer, -1 where it is not shown."""
        dimension = self.dimensions[axis.id]
        place = np.full(len(dimension.codes) + 1, -1, dtype=np.int64)
        place[[dimension.position[code] for code in axis.codes]] = np.arange(len(axis.codes))
        for layer in self._under[axis.id]:
            shown = place[layer]
            if (shown >= 0).any():
                yield shown[self.codes[axis.id][records]]

    def prints(self, request: TableRequest, table: AnswerTable, weight: AnyArray | None = None) -> AnyArray:
        """A number per cell that stands for its set of records: equal sets, equal numbers; 0 for the empty set.

        `weight` (0 or 1 per record) leaves records out.
        """
        return self.sums(request, table, self.marks if weight is None else self.marks * weight.astype(np.uint64))

    def sums(self, request: TableRequest, table: AnswerTable, amounts: AnyArray) -> AnyArray:
        """Per cell the sum of the records' amounts (64 bits, modulo 2^64 for unsigned ones)."""
        inside = self.population(request)
        sizes = [len(self.dimensions[axis.id].codes) for axis in table.axes]
        where = np.ravel_multi_index([self.codes[axis.id][inside] for axis in table.axes], sizes)
        tensor = np.zeros(int(np.prod(sizes)), dtype=amounts.dtype)
        np.add.at(tensor, where, amounts[inside])
        tensor = tensor.reshape(sizes)
        for place, axis in enumerate(table.axes):
            tensor = np.moveaxis(np.tensordot(self._incidence(axis).astype(amounts.dtype), tensor, axes=(1, place)), 0, place)
        return np.ascontiguousarray(tensor).reshape(-1)

    def _incidence(self, axis: AnswerAxis) -> AnyArray:
        """Rows: the codes of the axis; columns: all codes of the dimension; 1 where the finest code stands below."""
        dimension = self.dimensions[axis.id]
        wanted = np.array([dimension.position[code] for code in axis.codes], dtype=np.int64)
        return np.asarray((self._under[axis.id][np.newaxis, :, :] == wanted[:, np.newaxis, np.newaxis]).any(axis=1))


def _marks(count: int) -> AnyArray:
    """A well mixed 64-bit number per record (splitmix64): sums of them tell sets apart."""
    mixed = np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    for shift, multiplier in zip((30, 27), _MULTIPLIERS, strict=True):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(multiplier)
    return mixed ^ (mixed >> np.uint64(31))


def _ancestors(dimension: Dimension) -> IntArray:
    """Rows: layers of the trees, each with a code's ancestor (or itself) there, as a place among the codes; no ancestor: one beyond."""
    none = len(dimension.codes)
    layers: list[IntArray] = []
    for number, tree in enumerate(dimension.trees):
        parent = dimension.parents(number)
        layer = np.array([place if code in tree.leaves else none for place, code in enumerate(dimension.codes)], dtype=np.int64)
        while (layer < none).any():
            layers.append(layer)
            layer = np.where(layer < none, np.append(parent, -1)[layer], -1)
            layer = np.where(layer < 0, none, layer)
    return _without_repeats(np.array(layers), none)


def _without_repeats(layers: IntArray, none: int) -> IntArray:
    """The layers with each pair of code and ancestor once: two trees share their leaves and their total."""
    kept = layers.copy()
    for number in range(1, len(layers)):
        kept[number][(layers[:number] == layers[number]).any(axis=0)] = none
    return kept[(kept < none).any(axis=1)]


def sums_of(table: AnswerTable, dimensions: Mapping[str, Dimension]) -> list[AxisSums]:
    """The sums that the labels promise: along each axis each code with the shown codes right below it, if those make up all of it."""
    numbers = np.arange(table.values.size).reshape(table.values.shape)
    found = []
    for place, axis in enumerate(table.axes):
        lines = np.moveaxis(numbers, place, 0).reshape(len(axis.codes), -1)
        for total, parts in _whole_families(axis, dimensions[axis.id]):
            found.append(AxisSums(axis=place, total=lines[total], parts=lines[list(parts)]))
    return found


def parts_of_sums(table: AnswerTable, dimensions: Mapping[str, Dimension]) -> tuple[IntArray, IntArray]:
    """The same, flat: the number of a sum, and a cell that is a part of it."""
    rows, parts, count = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)], 0
    for sums in sums_of(table, dimensions):
        rows.append(np.tile(count + np.arange(sums.total.size), sums.parts.shape[0]))
        parts.append(sums.parts.reshape(-1))
        count += sums.total.size
    return np.concatenate(rows), np.concatenate(parts)


def _whole_families(axis: AnswerAxis, dimension: Dimension) -> Iterator[tuple[int, tuple[int, ...]]]:
    """(place of a code, places of the nearest shown codes below it), tree by tree, where nothing below it is left out."""
    place = {code: number for number, code in enumerate(axis.codes)}
    for tree in dimension.trees:
        for code in axis.codes:
            below = _nearest_shown(tree, code, place)
            if below:
                yield place[code], tuple(place[each] for each in below)


def _nearest_shown(tree: Hierarchy, code: str, shown: Mapping[str, int]) -> list[str]:
    """The shown codes next below a code; none if a part of it is below no shown code."""
    found: list[str] = []
    waiting = list(tree.children.get(code, ()))
    while waiting:
        each = waiting.pop(0)
        if each in shown:
            found.append(each)
        elif each in tree.children:
            waiting = [*tree.children[each], *waiting]
        else:
            return []
    return found


def added_up(ask: Callable[[TableRequest], AnswerTable], request: TableRequest, catalogue: Catalogue) -> AnswerTable:
    """The answer to a request whose filters may have several codes. Where the server makes a population of them it is asked for that.

    Where it takes one code a filter, or refuses the population, its cells are added up.
    """
    several = [each for each in request.filters if len(each[1]) > 1]
    sums = [(name, codes) for name, codes in several if not catalogue.makes_population(name)]
    try:
        return _summed(ask, request, sums)
    except (DisclosureRefused, InputError):
        if sums == several:
            raise
    return replace(_summed(ask, request, several), sums=True)


def _summed(ask: Callable[[TableRequest], AnswerTable], request: TableRequest, sums: Sequence[tuple[str, tuple[str, ...]]]) -> AnswerTable:
    axes = (*request.axes, *(RequestAxis(id=name, codes=codes) for name, codes in sums))
    table = ask(replace(request, axes=axes, filters=tuple(each for each in request.filters if each not in sums)))
    for name, codes in sums:
        table = _without(table, name, codes)
    return table


def _without(table: AnswerTable, name: str, codes: tuple[str, ...]) -> AnswerTable:
    """The table summed over these codes of one of its dimensions; a sum is shown where all its parts are."""
    axis = [each.id for each in table.axes].index(name)
    places = [table.axes[axis].codes.index(code) for code in codes]
    return replace(
        table,
        axes=table.axes[:axis] + table.axes[axis + 1 :],
        values=np.asarray(table.values.take(places, axis=axis).sum(axis=axis)),
        shown=np.asarray(table.shown.take(places, axis=axis).all(axis=axis)),
    )


ENDLESS = np.inf


@dataclass(frozen=True, kw_only=True)
class ReleasedSystem:
    """Public: released numbers and the relations they keep. `low` and `high` bound the true values as the public knows them."""

    relations: csr_matrix
    rhs: IntArray
    released: IntArray
    low: FloatArray = field(repr=False)
    high: FloatArray = field(repr=False)
    known_bounds: bool
    """Whether `low` and `high` are more than "nothing is negative"."""


def released_system(table: AnswerTable, dimensions: Mapping[str, Dimension], most_change: float | None) -> ReleasedSystem:
    """An answer as a linear system. What is not shown is left out of it."""
    size, shown = table.values.size, table.shown.reshape(-1)
    rows, columns, signs, count = [], [], [], 0
    for sums in sums_of(table, dimensions):
        complete = np.flatnonzero(shown[sums.total] & shown[sums.parts].all(axis=0))
        number = count + np.arange(complete.size)
        parts = sums.parts[:, complete]
        rows += [np.tile(number, parts.shape[0]), number]
        columns += [parts.reshape(-1), sums.total[complete]]
        signs += [np.ones(parts.size, dtype=np.int64), -np.ones(complete.size, dtype=np.int64)]
        count += complete.size
    none = [np.zeros(0, dtype=np.int64)]
    entries = (np.concatenate(none + signs), (np.concatenate(none + rows), np.concatenate(none + columns)))
    released = np.where(shown, table.values.reshape(-1), 0)
    low, high = around(released, most_change)
    return ReleasedSystem(
        relations=csr_matrix(entries, shape=(count, size)),
        rhs=np.zeros(count, dtype=np.int64),
        released=released,
        low=low,
        high=np.where(shown, high, ENDLESS),
        known_bounds=most_change is not None,
    )


def around(released: IntArray, most_change: float | None) -> tuple[FloatArray, FloatArray]:
    """What is known of values that moved by at most this share of themselves; zeros are zero, and what is published as positive is."""
    zero = released == 0
    if most_change is None:
        return np.where(released < 0, -ENDLESS, 0.0), np.where(zero, 0.0, ENDLESS)
    low = np.floor(released / (1 + most_change))
    high = np.ceil(released / (1 - most_change)) if most_change < 1 else np.full(released.size, ENDLESS)
    return np.maximum(np.where(zero, 0.0, low), 0.0), np.where(zero, 0.0, high)
