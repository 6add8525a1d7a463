"""From a planned table to cells with statuses: records tabulated or a ready table read, the rules asked, the office's word laid over."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

import numpy as np

from statveil.core.arrays import BoolArray, FloatArray, IntArray, fewest_decimals, frozen_array
from statveil.core.errors import FormatError, InputError, RuleError
from statveil.data.hierarchy import Hierarchy
from statveil.data.microdata import Microdata
from statveil.formats.argus.apriori import Action, Apriori
from statveil.formats.argus.cells import ArgusStatus, CellTable, cell_of_rows, table_of
from statveil.formats.argus.metadata import ArgusVariable, VariableRole
from statveil.formats.argus.records import REQUESTED, REQUESTED_FIRST, REQUESTED_SECOND, dimension_trees, missing_codes, read_records
from statveil.formats.argus.tab import Wanted, read_cells
from statveil.formats.argus.trees import CodeRecoding
from statveil.jobs.batch.plan import TablePlan
from statveil.jobs.batch.recode import recoded
from statveil.jobs.batch.rules import SMALLEST_PERCENT, RuleSet, status_of
from statveil.risk.assess import assess
from statveil.risk.rules import MinimumFrequency, Rule, contributions_needed
from statveil.risk.rules.manual import Manual, ManualCell
from statveil.risk.sensitivity import Sensitivity
from statveil.tables.spec import Dimension, TableSpec
from statveil.tables.table import Table, find_cell
from statveil.tables.tabulate import tabulate

_FROM = {Action.SAFE: ArgusStatus.PROTECTED, Action.UNSAFE: ArgusStatus.UNSAFE_MANUAL, Action.PROTECTED: ArgusStatus.SAFE_MANUAL}
"""The last status from which each change is allowed."""
_SUPPRESSED = {Action.SECONDARY: ArgusStatus.SECONDARY, Action.SECONDARY_MANUAL: ArgusStatus.SECONDARY_MANUAL}
_TO = {Action.SAFE: ArgusStatus.SAFE_MANUAL, Action.UNSAFE: ArgusStatus.UNSAFE_MANUAL, Action.PROTECTED: ArgusStatus.PROTECTED}
_WORDS = {Action.SAFE: "safe", Action.UNSAFE: "sensitive", Action.PROTECTED: "frozen"}


def decide(ready: ReadyTable, lines: Sequence[Apriori], *, ignore_errors: bool, expand: bool = False) -> tuple[ReadyTable, list[str]]:
    """The table with what the lines say of it, and the lines that could not be followed (refused unless errors are ignored).

    expand: what is safe is so wherever the same records stand (tau-ARGUS: expand trivial levels).
    """
    decisions = _AprioriDecisions(ready, expand=expand)
    faults: list[str] = []
    for said in lines:
        fault = decisions.follow(said)
        if fault and not ignore_errors:
            raise _fault(said, fault)
        if fault:
            faults.append(_fault(said, fault).message)
    hidden = decisions.suppressed if ready.suppressed is None else ready.suppressed | decisions.suppressed
    return replace(ready, said=decisions.statements(), suppressed=hidden if hidden.any() else None), faults


def _fault(said: Apriori, words: str) -> FormatError:
    return said.line.fault(words) if said.line else FormatError(f"An a-priori line: {words}.")


class _AprioriDecisions:
    """What is known of each cell, line after line."""

    def __init__(self, ready: ReadyTable, *, expand: bool) -> None:
        self.table, self.expand = ready.table, expand
        self.status = ready.statuses.copy()
        self.said: dict[int, ManualCell] = {}
        self.suppressed: BoolArray = np.zeros(ready.table.size, dtype=np.bool_)
        self.names: dict[int, list[Mapping[str, str]]] = {}
        """All labels by which a cell was declared safe."""
        for said in ready.said:
            self._say(find_cell(self.table, said.cell, said.view), said)

    def statements(self) -> tuple[ManualCell, ...]:
        return tuple(replace(said, cell=labels) for cell, said in self.said.items() for labels in self.names.get(cell, [said.cell]))

    def _say(self, cell: int, said: ManualCell) -> None:
        self.said[cell] = said
        if said.status == "safe":
            self.names.setdefault(cell, []).append(said.cell)
        else:
            self.names.pop(cell, None)

    def follow(self, said: Apriori) -> str:
        """Follow a line, or say why not."""
        labels = _apriori_labels(said, self.table.views[0].dimensions)
        if labels is None:
            return "the table has no such code"
        try:
            cell = find_cell(self.table, labels, None)
        except RuleError:
            return "the cell is empty"
        known = self.said.get(cell, ManualCell(cell=labels))
        status = ArgusStatus(int(self.status[cell]))
        if said.action is Action.COST:
            self.said[cell] = replace(known, cost=said.amounts[0])  # by the names that it has
        elif said.action is Action.LEVELS:
            if not status.unsafe:
                return "protection levels are for unsafe cells"
            self._say(cell, replace(known, status="sensitive", lower=said.amounts[0], upper=said.amounts[1]))
        elif said.action in _SUPPRESSED:
            if status not in (ArgusStatus.SAFE, ArgusStatus.SAFE_MANUAL):
                return f"a cell of status {int(status)} cannot become {said.action}"
            self.suppressed[cell], self.status[cell] = True, _SUPPRESSED[said.action]
        elif status > _FROM[said.action]:
            return f"a cell of status {int(status)} cannot become {said.action}"
        else:
            spread = said.action is Action.SAFE and (self.expand or known.spread)
            self._say(cell, ManualCell(cell=labels, status=_WORDS[said.action], cost=known.cost, spread=spread))  # type: ignore[arg-type]
            self.status[cell] = _TO[said.action]
        return ""


def _apriori_labels(said: Apriori, dimensions: Sequence[Dimension]) -> dict[str, str] | None:
    labels = {}
    for code, dimension in zip(said.codes, dimensions, strict=True):
        found = _code(code, dimension)
        if found is None:
            return None
        labels[dimension.name] = found
    return labels


def _code(code: str, dimension: Dimension) -> str | None:
    """The total for an empty code; a code padded otherwise than the table's is the same code."""
    if not code.strip():
        return dimension.total
    if code in dimension.position:
        return code
    alike = [each for each in dimension.codes if each.strip() == code.strip()]
    return alike[0] if len(alike) == 1 else None


class Judged(NamedTuple):
    """A table with the rules that judge it."""

    table: Table
    rules: tuple[Rule, ...]


@dataclass(frozen=True, kw_only=True)
class ReadyTable:
    """A table as read, and the rules that are about it. `also` holds the same table with other respondents, and the rules for it:
    holdings beside records, or those who asked by the second request code. `records` and `spec` are there where it is made from records.

    `said` is the office's word on single cells so far, `waived` the cells of missing codes that MIS(1) calls safe; `cost` is what a
    unit's change of each cell costs, None by the default. `secondary`: cells that are suppressed so that no unsafe one can be worked out.
    `suppressed`: what an a-priori file says is suppressed already.
    """

    plan: TablePlan
    table: Table = field(repr=False)
    own: tuple[Rule, ...]
    also: tuple[Judged, ...] = field(default=(), repr=False)
    records: Microdata | None = field(default=None, repr=False)
    spec: TableSpec | None = field(default=None, repr=False)
    said: tuple[ManualCell, ...] = field(default=(), repr=False)
    waived: tuple[ManualCell, ...] = field(default=(), repr=False)
    cost: FloatArray | None = field(default=None, repr=False)
    secondary: BoolArray | None = field(default=None, repr=False)
    suppressed: BoolArray | None = field(default=None, repr=False)

    @property
    def margin(self) -> Decimal | Fraction:
        """The percentage for unsafe cells without levels; of zero percent, one published unit is left."""
        return self.plan.rules.margin or SMALLEST_PERCENT

    @property
    def manual(self) -> Manual:
        """All that is said of single cells; what the office says of a waived cell counts more."""
        named = [said.cell for said in self.said if said.status]
        return Manual([*self.said, *(waived for waived in self.waived if waived.cell not in named)], level=self.margin)

    @cached_property
    def sensitivity(self) -> Sensitivity:
        """The verdict of all rules, and of the office, with what a unit's change of each cell costs."""
        return self._costing(self.cost)

    @cached_property
    def for_suppression(self) -> Sensitivity:
        """The same, with what suppressing each cell costs: the table's cost to its power, where a unit's change costs the inverse."""
        return self._costing(None if self.cost is None else 1.0 / self.cost)

    def _costing(self, cost: FloatArray | None) -> Sensitivity:
        found = self._judged
        return found if cost is None else replace(found, weight=frozen_array(np.where(np.isnan(found.weight), cost, found.weight)))

    @cached_property
    def _judged(self) -> Sensitivity:
        manual = self.manual
        found = assess(self.table, [*self.own, manual])
        cleared = Manual([said for said in manual.cells if said.status == "safe"])
        for other in self.also:
            found = _joined(found, assess(other.table, [*other.rules, cleared]))
        return found

    @cached_property
    def statuses(self) -> IntArray:
        """tau-ARGUS's status of each cell: what a rule found comes before what was said by hand."""
        sensitivity = self.sensitivity
        status = np.full(self.table.size, int(ArgusStatus.SAFE), dtype=np.int64)
        for said in self.said:
            mark = {"safe": ArgusStatus.SAFE_MANUAL, "frozen": ArgusStatus.PROTECTED}.get(said.status or "")
            if mark:
                status[find_cell(self.table, said.cell, said.view)] = mark
        status[sensitivity.sensitive] = int(ArgusStatus.UNSAFE_MANUAL)
        ranked = sorted(self.plan.rules.all, key=status_of, reverse=True)
        for rule in ranked:
            status[sensitivity.reasons.get(rule.words, np.zeros(0, bool)).nonzero()[0]] = int(status_of(rule))
        for secondary in (self.suppressed, self.secondary):
            if secondary is not None:
                manual = secondary & (status == ArgusStatus.SAFE_MANUAL)
                status[secondary & (status == ArgusStatus.SAFE)] = int(ArgusStatus.SECONDARY)
                status[manual] = int(ArgusStatus.SECONDARY_MANUAL)
        return status


def _joined(found: Sensitivity, other: Sensitivity) -> Sensitivity:
    """Two verdicts on the same cells: what either calls sensitive, with the stricter level."""
    clash = np.flatnonzero(other.sensitive & found.frozen)
    if clash.size:
        raise RuleError("A cell is frozen, but a rule calls it sensitive.", hint="Declare it safe, or do not freeze it.")
    return replace(
        found,
        sensitive=frozen_array(found.sensitive | other.sensitive),
        lower_level=frozen_array(np.maximum(found.lower_level, other.lower_level)),
        upper_level=frozen_array(np.maximum(found.upper_level, other.upper_level)),
        reasons={**other.reasons, **found.reasons},
        spread=tuple(replace(one, freed=one.freed or two.freed) for one, two in zip(found.spread, other.spread, strict=True)),
    )


def read_tables(plans: Sequence[TablePlan]) -> list[ReadyTable]:
    """All tables of a session; records are read once."""
    records: dict[object, Microdata] = {}
    found = []
    for plan in plans:
        if plan.ready:
            found.append(_ready(plan))
        else:
            key = (plan.data, id(plan.metadata))
            records[key] = records.get(key) or read_records(plan.data, plan.metadata)
            found.append(_tabulated(plan, records[key]))
    return found


def _tabulated(plan: TablePlan, data: Microdata) -> ReadyTable:
    rules, metadata = plan.rules, plan.metadata
    top = max(1, contributions_needed(rules.all), 2)
    trees = {each.name: dimension_trees(data, metadata, each, folders=plan.folders) for each in plan.variables}
    if plan.recodings:
        changed = {
            each.name: recoded(trees[each.name], plan.recodings[each.name], each) for each in plan.variables if each.name in plan.recodings
        }
        trees |= {name: tree for name, (tree, _) in changed.items()}
        data = read_records(plan.data, metadata, recoded={name: codes for name, (_, codes) in changed.items()})
    spec = _spec(plan, trees)
    holding = metadata.of_role(VariableRole.HOLDING)[0].name if any(rule.holdings for rule in rules.asked) else None
    groups = [(rules.of_records(), None, False), (rules.of_holdings(), holding, False)]
    groups += [(rules.of_records(second=True), None, True), (rules.of_holdings(second=True), holding, True)]

    def judge(spec: TableSpec) -> list[Judged]:
        return [
            Judged(tabulate(data, replace(spec, holding=owner, request=_request_column(rules, second=second)), top=top), asked)
            for asked, owner, second in groups
            if asked
        ]

    judged = judge(spec)
    own_decimals = fewest_decimals(judged[0].table.value, judged[0].table.scale)
    if own_decimals < (spec.decimals or 0):  # more are declared than the values have: numbers that move would tell themselves
        spec = replace(spec, decimals=own_decimals)
        judged = judge(spec)
    table, own = judged[0]
    missing = _missing_cells(plan, table) if rules.missing_is_safe else ()
    return ReadyTable(
        plan=plan,
        table=table,
        own=own,
        also=tuple(judged[1:]),
        records=data,
        spec=spec,
        waived=missing,
        cost=_record_cost(plan, data, spec, table),
    )


def _request_column(rules: RuleSet, *, second: bool) -> str | None:
    """Who asked for protection: by either code, or where the percentages differ by the one or the other."""
    if not rules.requested:
        return None
    if not any(rule.second for rule in rules.asked):
        return REQUESTED
    return REQUESTED_SECOND if second else REQUESTED_FIRST


def _spec(plan: TablePlan, trees: Mapping[str, Hierarchy]) -> TableSpec:
    metadata, response = plan.metadata, None if plan.counts else plan.metadata.find(plan.spec.response)
    shadow = metadata.find(plan.spec.shadow) if plan.spec.shadow else None
    weight = metadata.of_role(VariableRole.WEIGHT)[0].name if plan.rules.weighted else None
    return TableSpec(
        dimensions=trees,
        measure=response.name if response else None,
        shadow=shadow.name if shadow and shadow is not response else None,
        weight=weight,
        decimals=response.decimals if response else 0,
        name=f"table {plan.number}",
    )


def _missing_cells(plan: TablePlan, table: Table) -> tuple[ManualCell, ...]:
    """Cells with a code that means missing, declared safe: MIS(1) asks for it."""
    view = table.views[0]
    codes = {
        variable.name: set(missing_codes(_with_new_missing(plan, variable), dimension.codes)) for variable, dimension in _pairs(plan, table)
    }
    places = [[place for place, code in enumerate(each.codes) if code in codes[each.name]] for each in view.dimensions]
    rows = np.logical_or.reduce([np.isin(view.coordinates[:, axis], place) for axis, place in enumerate(places)])
    # Equal cells are one cell: a total that holds records with a missing code only is one of these too.
    alone = rows & ~np.isin(view.cell, view.cell[~rows])
    return tuple(ManualCell(cell=_labels(table, row), status="safe") for row in np.flatnonzero(alone).tolist())


def _with_new_missing(plan: TablePlan, variable: ArgusVariable) -> ArgusVariable:
    """A recoding may name further codes that mean missing."""
    how = plan.recodings.get(variable.name)
    return replace(variable, missing=(*variable.missing, *how.missing)) if isinstance(how, CodeRecoding) else variable


def _pairs(plan: TablePlan, table: Table) -> list[tuple[ArgusVariable, Dimension]]:
    return list(zip(plan.variables, table.views[0].dimensions, strict=True))


def _labels(table: Table, row: int) -> dict[str, str]:
    view = table.views[0]
    return {each.name: each.codes[place] for each, place in zip(view.dimensions, view.coordinates[row].tolist(), strict=True)}


def _record_cost(plan: TablePlan, data: Microdata, spec: TableSpec, table: Table) -> FloatArray | None:
    """What a unit's change costs: the inverse of the cost variable, of the frequency, or one. None is the inverse of the value."""
    cost = plan.spec.cost
    if cost == "-2":
        return np.ones(table.size)
    if cost == "-1":
        return _inverse(table.frequency / 10.0**table.frequency_scale, plan)
    variable = plan.metadata.find(cost) if cost else None
    if variable is None or variable.name == spec.measure:
        return None if plan.spec.power == 1 else _inverse(np.abs(table.value) / 10.0**table.scale, plan)
    sums = tabulate(data, replace(spec, measure=variable.name, shadow=None, decimals=None), top=1)
    return _inverse(np.abs(sums.value) / 10.0**sums.scale, plan)


def _inverse(cost: FloatArray, plan: TablePlan) -> FloatArray:
    return np.asarray(np.maximum(cost, 1e-6) ** -float(plan.spec.power))


def _ready(plan: TablePlan) -> ReadyTable:
    spec = plan.spec
    named = None if spec.cost in (None, "-1", "-2") else spec.cost
    wanted = Wanted(dimensions=spec.dimensions, response=spec.response, shadow=spec.shadow, cost=named)
    cells = read_cells(plan.data, plan.metadata, wanted=wanted, folders=plan.folders)
    if cells.shadow is not None and spec.shadow is None:
        cells = replace(cells, shadow=None)  # a shadow variable serves where the table asks for it
    _check_answers(plan, cells)
    response = plan.metadata.find(spec.response)
    totals = plan.read.totals if plan.read else 0
    table = table_of(cells, recompute=totals == 1, non_additive=totals == 2, decimals=response.decimals if response else 0)
    if plan.rules.missing_is_safe:
        raise InputError(f"Table {plan.number}: MIS(1) needs the records.", hint="Give cells of a missing code the status S, and drop MIS.")
    said, cost = said_by_statuses(table, cells), _file_cost(plan, table, cells)
    return ReadyTable(plan=plan, table=table, own=plan.rules.all, said=said, cost=cost)


def _check_answers(plan: TablePlan, cells: CellTable) -> None:
    """Rules that the file cannot answer are refused by what it lacks."""
    line = plan.rules.line or plan.spec.line
    if cells.frequency is None and any(isinstance(rule, MinimumFrequency) for rule in plan.rules.all):
        raise line.fault("FREQ needs the frequency of every cell, and the .rda file has no variable with the tag <FREQUENCY>")
    if plan.rules.requested:
        raise line.fault("REQ needs the records: a ready table does not tell who asked for protection")
    if not plan.rules.all and not plan.metadata.of_role(VariableRole.STATUS):
        raise line.fault("the table has neither rules nor statuses", hint="Add a SAFETYRULE, or a variable with the tag <STATUS>.")


def said_by_statuses(table: Table, cells: CellTable) -> tuple[ManualCell, ...]:
    """Statuses of the file: U is sensitive and P is frozen, whatever is recomputed; S and M are left to the rules."""
    cell, said = cell_of_rows(table, cells), []
    for row in np.flatnonzero(cell >= 0).tolist():
        status, labels = (
            ArgusStatus(int(cells.status[row])),
            dict(zip((each.name for each in cells.dimensions), cells.codes(row), strict=True)),
        )
        if status.unsafe:
            lower, upper = _levels(cells, row)
            said.append(ManualCell(cell=labels, status="sensitive", lower=lower, upper=upper))
        elif status is ArgusStatus.PROTECTED:
            said.append(ManualCell(cell=labels, status="frozen"))
    return tuple(said)


def _levels(cells: CellTable, row: int) -> tuple[Fraction | None, Fraction | None]:
    """The file's protection levels, if it gives both and one is more than zero."""
    found = [None if column is None or column.missing[row] else column for column in (cells.lower, cells.upper)]
    lower, upper = [None if column is None else Fraction(int(column.units[row]), 10**column.decimals) for column in found]
    return (lower, upper) if lower is not None and upper is not None and lower + upper > 0 else (None, None)


def _file_cost(plan: TablePlan, table: Table, cells: CellTable) -> FloatArray | None:
    cost = plan.spec.cost
    if cost == "-2":
        return np.ones(table.size)
    if cost == "-1" and cells.frequency is None:
        raise plan.spec.line.fault("the cost function -1 needs frequencies, and the .rda file has none")
    if cost == "-1":
        return _inverse(np.maximum(table.frequency, 0).astype(np.float64), plan)
    if cost is None or cells.cost is None or (cost.casefold() == plan.spec.response.casefold() and plan.spec.power == 1):
        return None
    cell = cell_of_rows(table, cells)
    given = np.full(table.size, np.nan)
    rows = np.flatnonzero((cell >= 0) & ~cells.cost.missing)
    given[cell[rows]] = np.abs(cells.cost.units[rows]) / 10.0**cells.cost.decimals
    given = np.where(np.isnan(given), np.abs(table.value) / 10.0**table.scale, given)
    return _inverse(given, plan)


def all_rules(ready: ReadyTable) -> list[Rule]:
    """Every rule that was applied, the office's word last: what the provenance tells."""
    return [*ready.plan.rules.all, ready.manual]
