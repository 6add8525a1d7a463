"""Records as integers: a position per table, a number per holding, exact units. Made once, used by every query after it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from statveil.core.errors import HierarchyError, InputError
from statveil.data.engines import Session
from statveil.data.hierarchy import CHOOSE_TOTAL, DEFAULT_TOTAL, Hierarchy
from statveil.data.largest import REQUESTED, UNWAIVED
from statveil.data.microdata import Microdata
from statveil.data.queries.columns import distinct_codes, product, units_or_one
from statveil.data.queries.tabulation import CodedRecords, CodeKeys, RecordFlag, ResponseUnits, keep_coded_records
from statveil.tables.columns import MEASURE_DECIMALS, CheckedColumns
from statveil.tables.linked import Response
from statveil.tables.positions import Grid
from statveil.tables.spec import Dimension, TableSpec


@dataclass(frozen=True, kw_only=True)
class TableUnits:
    """Decimals of everything that is added up, and whether a record stands for weight many respondents."""

    measure_decimals: int
    rule_decimals: int
    weight_decimals: int
    repeats: bool

    @property
    def scale(self) -> int:
        return self.measure_decimals + self.weight_decimals

    @property
    def rule_scale(self) -> int:
        return self.rule_decimals + self.weight_decimals

    @property
    def one(self) -> int:
        """A weight of one."""
        return int(10**self.weight_decimals)


def settle_units(spec: TableSpec, responses: Sequence[Response], columns: CheckedColumns) -> TableUnits:
    """The units of all responses of linked tables; all else they share, so that it is taken from one of them."""
    _check_decimals(spec)
    measure = finest_measure(responses, columns)
    weight = weight_decimals(spec, columns)
    # A table published with more decimals than its records have needs units as fine as that.
    finer = max(measure, (spec.decimals or 0) - weight)
    return TableUnits(
        measure_decimals=finer,
        rule_decimals=max(columns.decimals(each.shadow) for each in responses) if spec.shadow else finer,
        weight_decimals=weight,
        repeats=spec.weight is not None and spec.holding is None and spec.weight_policy == "units",
    )


def weight_decimals(spec: TableSpec, columns: CheckedColumns) -> int:
    found = columns.decimals(spec.weight)
    return found if spec.weight_decimals is None else min(found, spec.weight_decimals)


def finest_measure(responses: Sequence[Response], columns: CheckedColumns) -> int:
    return max(columns.decimals(each.measure) for each in responses)


def _check_decimals(spec: TableSpec) -> None:
    if (spec.decimals or 0) > MEASURE_DECIMALS:
        raise InputError(f"decimals of {spec.name!r} is {spec.decimals}.", hint=f"At most {MEASURE_DECIMALS}.")
    if not 0 <= (spec.weight_decimals or 0) <= MEASURE_DECIMALS:
        raise InputError(f"weight_decimals of {spec.name!r} is {spec.weight_decimals}.", hint=f"From 0 to {MEASURE_DECIMALS}.")


def find_dimensions(session: Session, data: Microdata, spec: TableSpec, records: int) -> tuple[Dimension, ...]:
    return tuple(_dimension(session, data, spec, name, records) for name in spec.dimensions)


def _dimension(session: Session, data: Microdata, spec: TableSpec, name: str, records: int) -> Dimension:
    found = distinct_codes(session, data.engine, name)
    trees = spec.dimensions[name]
    if trees is None:
        if not records:
            raise InputError(f"{data.origin} has no records to take the codes of {name!r} from.", hint="Give the dimension a hierarchy.")
        if DEFAULT_TOTAL in found:
            raise HierarchyError(f"Column {name!r} has a code {DEFAULT_TOTAL!r}, which is also the code of its total.", hint=CHOOSE_TOTAL)
        trees = Hierarchy.flat(found)
    dimension = Dimension(name=name, trees=(trees,) if isinstance(trees, Hierarchy) else tuple(trees))
    dimension.trees[0].check_codes(found, column=name)
    return dimension


@dataclass(frozen=True, kw_only=True)
class CodedLayout:
    """What the records of linked tables are coded for: the cells of each table, the responses, their units."""

    grids: Sequence[Grid]
    responses: Sequence[Response]
    units: TableUnits


def keep_coded(
    session: Session, data: Microdata, spec: TableSpec, columns: CheckedColumns, *, layout: CodedLayout, read_once: bool = False
) -> None:
    """Keep the records as integers; see `keep_coded_records`. What reads them must refuse sums that are too large."""
    units = layout.units
    coded = CodedRecords(
        tables=[_code_keys(grid) for grid in layout.grids],
        holding=spec.holding,
        weight=_weight_units(spec, columns, units.weight_decimals) if spec.weight else None,
        responses=[
            ResponseUnits(
                units_or_one(columns.number(each.measure), units.measure_decimals),
                units_or_one(columns.number(each.shadow or each.measure), units.rule_decimals),
            )
            for each in layout.responses
        ],
        flags=[RecordFlag(spec.waiver, 0, UNWAIVED), RecordFlag(spec.request, REQUESTED, 0)],
        one=units.one if units.repeats else None,
    )
    keep_coded_records(session, data.engine, coded, read_once=read_once)


def _code_keys(grid: Grid) -> list[CodeKeys]:
    return [
        CodeKeys(dimension.name, leaves, [dimension.position[code] * stride for code in leaves])
        for dimension, stride in zip(grid.dimensions, grid.strides, strict=True)
        for leaves in [dimension.trees[0].leaves]
    ]


def _weight_units(spec: TableSpec, columns: CheckedColumns, decimals: int) -> str:
    weight = columns.number(spec.weight)
    return weight.rounded_units(decimals) if weight and weight.decimals > decimals else units_or_one(weight, decimals)


def weighted_units(spec: TableSpec, columns: CheckedColumns) -> tuple[str, int]:
    """What a record adds to its cell, weight x measure, as a query of whole units; and the decimals of these."""
    measure = columns.decimals(spec.measure)
    amount = units_or_one(columns.number(spec.measure), measure)
    if spec.weight is None:
        return amount, measure
    weight = weight_decimals(spec, columns)
    return product(_weight_units(spec, columns, weight), amount), measure + weight
