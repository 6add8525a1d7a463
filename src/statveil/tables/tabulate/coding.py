"""Records as integers: a position per table, a number per holding, exact units. Made once, used by every query after it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from statveil.core.errors import HierarchyError, InputError
from statveil.data.engines import Session, column, scalar_row
from statveil.data.hierarchy import CHOOSE_TOTAL, DEFAULT_TOTAL, Hierarchy
from statveil.data.microdata import Microdata
from statveil.tables.cells import REQUESTED, UNWAIVED
from statveil.tables.levels import Grid
from statveil.tables.linked import Response
from statveil.tables.spec import Dimension, TableSpec
from statveil.tables.tabulate.columns import MEASURE_DECIMALS, CheckedColumns, NumberColumn, flag

LARGEST_SUM = 2**62


@dataclass(frozen=True, kw_only=True)
class Units:
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


def settle_units(spec: TableSpec, responses: Sequence[Response], columns: CheckedColumns) -> Units:
    """The units of all responses of linked tables; all else they share, so that it is taken from one of them."""
    _check_decimals(spec)
    measure = finest_measure(responses, columns)
    weight = columns.decimals(spec.weight)
    if spec.weight_decimals is not None:
        weight = min(weight, spec.weight_decimals)
    # A table published with more decimals than its records have needs units as fine as that.
    finer = max(measure, (spec.decimals or 0) - weight)
    return Units(
        measure_decimals=finer,
        rule_decimals=max(columns.decimals(each.shadow) for each in responses) if spec.shadow else finer,
        weight_decimals=weight,
        repeats=spec.weight is not None and spec.holding is None and spec.weight_policy == "units",
    )


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
    answer = session.query(f"SELECT DISTINCT CAST({column(data.engine, name)} AS VARCHAR) AS code FROM records")
    found = sorted(answer["code"].to_pylist())
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


def keep_coded(
    session: Session,
    data: Microdata,
    spec: TableSpec,
    columns: CheckedColumns,
    *,
    responses: Sequence[Response],
    units: Units,
    grids: Sequence[Grid],
) -> None:
    """Keep the table `coded`: key0, key1, ... of the leaf cell in each table, holding, weight, copies, flags.

    And value0, amount0, mass0, value1, ... of each response.
    """
    lookups, keys = _lookups(session, data, grids)
    holding = "0"
    if spec.holding:
        identifier = column(data.engine, spec.holding)
        session.keep(
            "holdings",
            f"SELECT holding, CAST(row_number() OVER () - 1 AS INTEGER) AS id FROM (SELECT DISTINCT {identifier} AS holding FROM records)",
        )
        lookups.append(f"JOIN holdings ON holdings.holding = records.{identifier}")
        holding = "holdings.id"
    numbers = [f"{_weight_units(spec, columns, units)} AS weight"]
    for place, each in enumerate(responses):
        numbers.append(f"{_units_of(columns.number(each.measure), units.measure_decimals)} AS measure{place}")
        numbers.append(f"{_units_of(columns.number(each.shadow or each.measure), units.rule_decimals)} AS rule{place}")
    selected = ", ".join([*keys, f"{holding} AS holding", *numbers, f"{_flags(data, spec)} AS flags"])
    session.keep("coded", _with_products(f"SELECT {selected} FROM records {' '.join(lookups)}", len(grids), len(responses), units))
    _refuse_overflow(session, data, len(responses))


def _lookups(session: Session, data: Microdata, grids: Sequence[Grid]) -> tuple[list[str], list[str]]:
    joins, keys = [], []
    for table, grid in enumerate(grids):
        terms = []
        for axis, dimension in enumerate(grid.dimensions):
            name = f"codes_{table}_{axis}"
            leaves = dimension.trees[0].leaves
            positions = pa.array([dimension.position[code] for code in leaves], pa.int64())
            session.lend(name, pa.table({"code": pa.array(leaves, pa.string()), "position": positions}))
            joins.append(f"JOIN {name} ON {name}.code = CAST(records.{column(data.engine, dimension.name)} AS VARCHAR)")
            terms.append(f"{name}.position * {grid.strides[axis]}")
        keys.append(f"{' + '.join(terms)} AS key{table}")
    return joins, keys


def _units_of(number: NumberColumn | None, decimals: int) -> str:
    return number.units(decimals) if number else f"CAST({10**decimals} AS BIGINT)"


def _weight_units(spec: TableSpec, columns: CheckedColumns, units: Units) -> str:
    weight = columns.number(spec.weight)
    if weight and spec.weight_decimals is not None and weight.decimals > units.weight_decimals:
        return weight.rounded_units(units.weight_decimals)
    return _units_of(weight, units.weight_decimals)


def _flags(data: Microdata, spec: TableSpec) -> str:
    unwaived = f"CASE WHEN {flag(column(data.engine, spec.waiver))} THEN 0 ELSE {UNWAIVED} END" if spec.waiver else str(UNWAIVED)
    requested = f"CASE WHEN {flag(column(data.engine, spec.request))} THEN {REQUESTED} ELSE 0 END" if spec.request else "0"
    return f"CAST({unwaived} + {requested} AS UTINYINT)"


def _with_products(source: str, tables: int, responses: int, units: Units) -> str:
    """value: weight x measure. amount: what the rules add up per respondent. mass: what it adds to the cell's magnitude."""
    products = [f"CAST({f'greatest(weight, {units.one})' if units.repeats else '1'} AS BIGINT) AS copies"]
    for place in range(responses):
        weighted = f"CAST(weight AS HUGEINT) * rule{place}"
        products.append(f"TRY_CAST(CAST(weight AS HUGEINT) * measure{place} AS BIGINT) AS value{place}")
        products.append(f"TRY_CAST({f'rule{place}' if units.repeats else weighted} AS BIGINT) AS amount{place}")
        products.append(f"TRY_CAST(abs({weighted}) AS BIGINT) AS mass{place}")
    keys = [f"key{table}" for table in range(tables)]
    return f"SELECT {', '.join([*keys, 'holding', 'weight', *products, 'flags'])} FROM ({source})"


def _refuse_overflow(session: Session, data: Microdata, responses: int) -> None:
    """Every sum fits if the sum of absolute values does. Doubles will do: there is a factor of two to spare."""
    each = range(responses)
    values, amounts, masses = ([f"{name}{place}" for place in each] for name in ("value", "amount", "mass"))
    sums = ("weight", "copies", *values, *masses, *(f"{amount} * CAST(copies AS DOUBLE)" for amount in amounts))
    lost = [f"count(*) - count({name}) AS lost_{name}" for name in ("weight", *values, *amounts, *masses)]
    large = [f"coalesce(sum(abs(CAST({name} AS DOUBLE))), 0) >= {LARGEST_SUM} AS large_{index}" for index, name in enumerate(sums)]
    if any(scalar_row(session.query(f"SELECT {', '.join(lost + large)} FROM coded")).values()):
        raise InputError(
            f"{data.origin}: the numbers are too large to be added up exactly with their decimals.",
            hint="Use fewer decimals in measure and weight, or larger units (thousands).",
        )
