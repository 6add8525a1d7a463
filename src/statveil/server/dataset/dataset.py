"""A dataset in memory, confidential: records as numbers, with their prints and the keyed numbers of their holdings, one block per measure.

`described` gives what readers may know of it before they ask.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from statveil.core.arrays import LARGEST_EXACT, AnyArray, FloatArray, IntArray, frozen_array
from statveil.core.errors import InputError
from statveil.core.secret import SecretKey
from statveil.data.engines import Session
from statveil.data.hierarchy import Hierarchy
from statveil.data.microdata import Microdata
from statveil.data.queries.tabulation import read_units
from statveil.data.readers import read_labels
from statveil.jobs.server_config import DatasetPart, MeasurePart, ServedDimensionPart, ServerConfig
from statveil.risk.rules import MinimumFrequency
from statveil.risk.rules.base import RespondentRule
from statveil.server.dataset.keyed import factors, permanent_ids, space_of, unit_prints
from statveil.server.dataset.layout import ServedDimension, served_dimension
from statveil.tables.coding import find_dimensions, weighted_units
from statveil.tables.columns import CheckedColumns, check_columns
from statveil.tables.spec import Dimension, TableSpec, Trees

_NUMBERS_DO_NOT_DEPEND_ON = {"label", "saved", "filters", "file", "delimiter", "encoding", "decimal", "dimensions"}
_OF_WEIGHTS = {"weight", "weight_decimals"}
METHOD = "one cube of all dimensions"
"""How numbers are made from all that; a store of numbers that were made otherwise is refused."""


class DatasetTuning(NamedTuple):
    room: int = 64
    """Sums stay this many times below 2^53, so that programs in doubles see them exactly. By judgement."""
    rows: int = 1 << 16
    """Records that are read at a time. By judgement."""


TUNING = DatasetTuning()


@dataclass(frozen=True, kw_only=True, repr=False)
class MeasureBlock:
    """The records that have something of one measure, grouped by holding: rows `start[h]` to `start[h + 1]` are holding h's."""

    id: str
    label: str
    unit: str
    decimals: int
    counts: bool
    space: bytes
    rules: Sequence[RespondentRule]
    smallest: int
    """The smallest number that a cell with records may be published at; counts below it are published at it or at zero."""
    start: IntArray
    leaf: AnyArray
    """`leaf[d, r]`: place of record r among the leaves of dimension d."""
    value: IntArray
    prints: AnyArray
    """Per record two halves of its keyed digest."""
    floor: FloatArray
    """Per holding: how far between the level and its cap the floor of the cells lies that it leads."""
    tie: AnyArray
    """Per holding: decides who leads a cell among equals."""
    holding: AnyArray
    """Per holding: a keyed number that is the same for all measures and editions."""


@dataclass(frozen=True, kw_only=True)
class DatasetMeasure:
    """`smallest`: of counts, the smallest that is told; what must not be told is less than that."""

    id: str
    label: str
    unit: str
    decimals: int
    counts: bool = False
    smallest: int = 1


@dataclass(frozen=True, kw_only=True, repr=False)
class ServedData:
    """A dataset that can be asked: public labels, confidential blocks.

    Without its records (`blocks` empty) it can still be answered from what was prepared.
    """

    part: DatasetPart
    version: str
    dimensions: tuple[ServedDimension, ...]
    measures: Mapping[str, DatasetMeasure]
    blocks: Mapping[str, MeasureBlock] = field(default_factory=dict, repr=False)

    @property
    def level_names(self) -> str:
        """The names by which tables are asked for, besides codes; unlike labels they are for ever."""
        return json.dumps([[each.id, [level.id for level in each.levels]] for each in self.dimensions], ensure_ascii=True)

    def measure(self, name: str) -> DatasetMeasure:
        if name not in self.measures:
            raise InputError(
                f"Dataset {self.part.id!r} has no measure {name!r}.", hint=f"Its measures: {', '.join(map(repr, self.measures))}."
            )
        return self.measures[name]

    def block(self, measure: str) -> MeasureBlock:
        return self.blocks[self.measure(measure).id]


def load_dataset(config: ServerConfig, part: DatasetPart, key: SecretKey) -> ServedData:
    """Read and check the records, and draw from the key all that is permanent."""
    data = config.microdata(part)
    trees = {
        name: dimension.trees(lambda file, total: Hierarchy.from_csv(config.path(file), total=total), partial(data.codes, name))
        for name, dimension in part.dimensions.items()
    }
    specs = [part_spec(part, each, trees) for each in part.measure]
    with data.engine.session() as session:
        _check_units(data, part)
        columns = check_columns(session, data, specs)
        full = find_dimensions(session, data, specs[0], columns.records)
        weighted = [weighted_units(spec, columns) for spec in specs]
        records = _Records(session, data, part, [amount for amount, _ in weighted], key, count=columns.records)
    words = read_labels(data.origin)
    found = [
        served_dimension(
            each.name,
            part.dimensions[each.name].label or words.columns.get(each.name, each.name),
            labelled(each, part.dimensions[each.name].labels, words.values.get(each.name, {})),
            _names(part.dimensions[each.name]),
            filter_=each.name in part.filters,
            population=each.name in part.filters and part.mode == "cube",
        )
        for each in full
    ]
    cuts = [each.cut_at(part.lowest[each.id]) if each.id in part.lowest else (each, None) for each in found]
    places = [records.places(each.full.trees[0].leaves, axis) for axis, each in enumerate(found)]
    leaf = np.stack([place if above is None else above.astype(place.dtype)[place] for place, (_, above) in zip(places, cuts, strict=True)])
    dimensions = tuple(each for each, _ in cuts)
    blocks = {
        each.id: _block(key, part, each, weighted[place][1], records=records, leaf=leaf, value=records.amounts[place])
        for place, each in enumerate(part.measure)
    }
    measures = {
        each.id: DatasetMeasure(
            id=each.id, label=each.label, unit=each.unit, decimals=each.decimals, counts=each.counts, smallest=each.smallest
        )
        for each in blocks.values()
    }
    version = _version(key, part, columns, dimensions, records.prints)
    return ServedData(part=part, version=version, dimensions=dimensions, measures=measures, blocks=blocks)


def part_spec(part: DatasetPart, measure: MeasurePart, trees: Mapping[str, Trees]) -> TableSpec:
    """One measure of a dataset as a table by all its dimensions."""
    return TableSpec(
        dimensions=trees,
        measure=measure.column,
        holding=part.holding,
        weight=part.weight,
        weight_policy="contribution",
        weight_decimals=part.weight_decimals,
        name=measure.id,
    )


def labelled(dimension: Dimension, given: Mapping[str, str], of_values: Mapping[Any, str]) -> Dimension:
    """The dimension with labels for its codes: the officer's, else its hierarchy's, else those of the values in the file of records."""
    unknown = sorted(set(given) - set(dimension.codes))
    if unknown:
        raise InputError(f"Dimension {dimension.name!r}: labels name {unknown[0]!r}, which is no code of it.", hint="Codes are text.")
    found = {_code(value): label for value, label in of_values.items()}
    for tree in reversed(dimension.trees):
        found |= tree.labels
    first = replace(dimension.trees[0], labels={code: label for code, label in {**found, **given}.items() if code in dimension.position})
    return Dimension(name=dimension.name, trees=(first, *dimension.trees[1:]))


def _code(value: object) -> str:
    """A labelled value as the records have it as text; packages keep whole numbers as floats."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _names(part: ServedDimensionPart) -> list[list[str]] | None:
    if part.levels is None:
        return None
    return (
        [[str(name) for name in each] for each in part.levels]
        if isinstance(part.levels[0], list)
        else [[str(each) for each in part.levels]]
    )


def _check_units(data: Microdata, part: DatasetPart) -> None:
    data.require(part.unit_columns)
    if not part.unit_columns:
        raise InputError(f"Dataset {part.id!r}: unit must name at least one column.")


class _Records:
    """Codes, amounts and keyed ids of the records, by holding and unit: the order of the file decides nothing. Texts are turned into
    numbers as they come, for those of millions of records are gigabytes."""

    def __init__(self, session: Session, data: Microdata, part: DatasetPart, amounts: Sequence[str], key: SecretKey, *, count: int) -> None:
        where = f"{data.origin}: %s in {' and '.join(part.unit_columns)}."
        prints, holding = np.empty((count, 2), np.uint64), np.empty(count, np.uint64)
        self._codes: list[dict[str, int]] = [{} for _ in part.dimensions]
        self._place = [np.empty(count, np.int32) for _ in part.dimensions]
        self.amounts = [np.empty(count, np.int64) for _ in amounts]
        batches = read_units(
            session, data.engine, list(part.dimensions), amounts, unit=part.unit_columns, holding=part.holding, rows=TUNING.rows
        )
        end = 0
        for batch in batches:
            if batch["unit"].null_count:
                raise InputError(where % "a record has no id", hint="Every record needs a stable id.")
            start, end = end, end + batch.num_rows
            prints[start:end] = unit_prints(key, part.id, batch["unit"].to_pylist())
            holding[start:end] = permanent_ids(key, batch["holding"].to_pylist())
            for axis, known in enumerate(self._codes):
                self._place[axis][start:end] = _numbers(batch[f"code{axis}"], known)
            for place, measure in enumerate(part.measure):
                self.amounts[place][start:end] = _whole(data, measure, batch[f"amount{place}"])
        order = np.lexsort((prints[:, 0], holding))
        self.prints, holding = prints[order], holding[order]
        if _repeated(prints):
            raise InputError(
                where % "several records have the same id",
                hint="Give unit all columns that make a record unique, such as the enterprise and the year.",
            )
        del prints
        self.start: IntArray = np.append(np.flatnonzero(np.diff(holding, prepend=~holding[:1])), count).astype(np.int64)
        self.permanent = holding[self.start[:-1]]
        self._place = [each[order] for each in self._place]
        self.amounts = [each[order] for each in self.amounts]
        for measure, each in zip(part.measure, self.amounts, strict=True):
            _check_sums(data, measure, each)

    def places(self, leaves: Sequence[str], axis: int) -> AnyArray:
        """Where the records' codes of a dimension are among its leaves."""
        place = {code: number for number, code in enumerate(leaves)}
        narrow = np.int16 if len(leaves) < 2**15 else np.int32
        of_code = np.array([place[code] for code in self._codes[axis]], dtype=narrow)
        found: AnyArray = of_code[self._place[axis]]
        return found


def _numbers(column: pa.Array, known: dict[str, int]) -> AnyArray:
    """The number of each text, in the order in which they came."""
    encoded = column.dictionary_encode()
    number = np.array([known.setdefault(code, len(known)) for code in encoded.dictionary.to_pylist()], np.int32)
    found: AnyArray = number[encoded.indices.to_numpy()]
    return found


def _repeated(prints: AnyArray) -> bool:
    """Whether two records have the same print, and so the same id."""
    half = np.sort(prints[:, 0])
    return bool((half[1:] == half[:-1]).any()) and np.unique(prints, axis=0).shape[0] < prints.shape[0]


def _too_large(data: Microdata, measure: MeasurePart) -> InputError:
    return InputError(
        f"{data.origin}: the numbers of measure {measure.id!r} are too large to be added up exactly.", hint="Use larger units."
    )


def _whole(data: Microdata, measure: MeasurePart, column: pa.Array) -> IntArray:
    """Whole numbers of units of the last decimal."""
    found: AnyArray = column.to_numpy(zero_copy_only=False)
    if found.dtype != np.int64:
        raise _too_large(data, measure)
    return found


def _check_sums(data: Microdata, measure: MeasurePart, found: IntArray) -> None:
    """Refused where a cell could be too large to be computed with."""
    if np.abs(found.astype(np.float64)).sum() * TUNING.room >= LARGEST_EXACT:
        raise _too_large(data, measure)


def _block(
    key: SecretKey,
    part: DatasetPart,
    measure: MeasurePart,
    decimals: int,
    *,
    records: _Records,
    leaf: AnyArray,
    value: IntArray,
) -> MeasureBlock:
    drawn = factors(key, measure.id, records.permanent)
    start, prints, present = records.start, records.prints, np.arange(records.permanent.size)
    if (value == 0).any():
        kept = np.flatnonzero(value)
        inside = np.searchsorted(kept, records.start)
        present = np.flatnonzero(np.diff(inside))
        start, leaf, value, prints = np.unique(inside), leaf[:, kept], value[kept], prints[kept]
    rules = part.rules()
    if measure.count:
        rules = [rule for rule in rules if isinstance(rule, MinimumFrequency)]
    counts = measure.id == part.count_of_records
    return MeasureBlock(
        id=measure.id,
        label=measure.label or measure.id,
        unit=measure.unit,
        decimals=decimals,
        counts=counts,
        space=space_of(key, measure.id, part.weight or ""),
        rules=rules,
        smallest=_smallest(part, rules) if counts else 1,
        start=frozen_array(start),
        leaf=frozen_array(leaf),
        value=frozen_array(value),
        prints=frozen_array(prints),
        floor=frozen_array(drawn.floor[present]),
        tie=frozen_array(drawn.tie[present]),
        holding=frozen_array(records.permanent[present]),
    )


def _smallest(part: DatasetPart, rules: Sequence[RespondentRule]) -> int:
    """The smallest count that is ever published (T24): by the officer's word, or else the minimum frequency."""
    return part.small_counts or max((rule.n for rule in rules if isinstance(rule, MinimumFrequency)), default=1)


def _version(key: SecretKey, part: DatasetPart, columns: CheckedColumns, dimensions: Sequence[ServedDimension], prints: AnyArray) -> str:
    """What the numbers depend on: method, records, trees, rules and mode. Keyed, or guesses of records could be checked by it."""
    chosen = part.model_dump(mode="json", exclude=_NUMBERS_DO_NOT_DEPEND_ON | (set() if part.weight else _OF_WEIGHTS))
    trees = [[each.id, [dict(tree.parent) for tree in each.full.trees]] for each in dimensions]
    text = json.dumps([METHOD, chosen, trees, columns.input_hash], sort_keys=True)
    return key.digest("version", text.encode(), prints.tobytes(), size=16).hex()


@dataclass(frozen=True, kw_only=True)
class AccuracyClass:
    """Safe cells of so many dimensions shown and of `at_least` such a size (in units of the last decimal, up to the next class).

    `within_percent`, and `within` in such units: nine in ten are no further off. Sensitive cells are in no class: what is told holds
    for them neither way.
    """

    dimensions: int
    at_least: int
    cells: int
    mean_percent: float
    median_percent: float
    within_percent: float
    within: int


@dataclass(frozen=True, kw_only=True)
class Dataset:
    """What readers may know of a dataset before they ask. `cells`: positions, totals included, that one table may have.

    `depth`: dimensions that it may have at once, filters included (None: all). `accuracy`: classes of cells by measure.
    `saved`: the officer's tables, names and addresses.
    """

    id: str
    label: str
    version: str
    mode: str
    dimensions: tuple[ServedDimension, ...]
    measures: tuple[DatasetMeasure, ...]
    cells: int
    depth: int | None = None
    accuracy: Mapping[str, tuple[AccuracyClass, ...]] = field(default_factory=dict)
    saved: tuple[tuple[str, str], ...] = ()


def described(data: ServedData, cells: int, accuracy: Mapping[str, tuple[AccuracyClass, ...]]) -> Dataset:
    """A dataset as readers see it; a table may have so many `cells`."""
    part = data.part
    return Dataset(
        id=part.id,
        label=part.label or part.id,
        version=data.version,
        mode=part.mode,
        dimensions=data.dimensions,
        measures=tuple(data.measures.values()),
        cells=cells,
        depth=part.depth,
        accuracy=accuracy,
        saved=tuple(part.saved.items()),
    )
