"""From records to an assessed table: tabulated, its sensitive cells and sets of cells found."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from statveil.core.arrays import fewest_decimals
from statveil.core.errors import InputError, RuleError
from statveil.data.microdata import Microdata
from statveil.protect.build import nearest
from statveil.protect.options import Options
from statveil.protect.singletons import Singletons
from statveil.risk.assess import assess, candidate_sets, unsafe_sets, without_safe_unions
from statveil.risk.coalitions import TUNING as COALITIONS
from statveil.risk.coalitions import opponents
from statveil.risk.hold import hold_totals
from statveil.risk.levels import raise_levels
from statveil.risk.rules import Rule, contributions_needed
from statveil.risk.sensitivity import Sensitivity
from statveil.tables.linked import CellSet, Equation
from statveil.tables.spec import TableSpec
from statveil.tables.table import Table
from statveil.tables.tabulate import listed_specs, tabulate


@dataclass(frozen=True, kw_only=True)
class LinkedTables:
    """Tables protected together, and what links them beyond the cells they share.

    tables: one or several. equations: between measures. sets: cells to be judged as if they were one cell.
    search_sets: also look for such sets, those that one holding dominates.

    >>> specs = [TableSpec(dimensions={"region": None}, measure=name, name=name) for name in ("turnover", "domestic", "export")]
    >>> linked = LinkedTables(tables=specs, equations=[Equation(total="turnover", parts=["domestic", "export"])])
    >>> print(*(spec.name for spec in linked.specs))
    turnover domestic export
    """

    tables: TableSpec | Sequence[TableSpec]
    equations: Sequence[Equation] = ()
    sets: Sequence[CellSet] = ()
    search_sets: bool = False

    def __post_init__(self) -> None:
        listed_specs(self.tables)
        if not isinstance(self.search_sets, bool):
            raise InputError("search_sets must be True or False.", hint="Sets that are known are given as sets=[CellSet(...)].")

    @property
    def specs(self) -> list[TableSpec]:
        return listed_specs(self.tables)


def assess_records(
    data: Microdata, linked: LinkedTables, rules: Sequence[Rule], *, tell: Callable[[str], None] = lambda _: None
) -> tuple[Table, Sensitivity]:
    """The tables that the records add up to, and what is sensitive in them; sets of cells that are safe are left out."""
    tell("tabulating")
    specs, sets = linked.specs, list(linked.sets)
    if linked.search_sets:
        sets += [found for found in find_sets(data, specs, rules) if found not in sets]
    table = tabulate(data, specs, top=_top(rules), equations=linked.equations, sets=sets)
    _refuse_mixed_decimals(table, specs)
    tell("assessing")
    sensitivity = assess(table, rules)
    if table.unions:
        table = without_safe_unions(table, sensitivity)
        sensitivity = assess(table, rules)
    return table, sensitivity


def _refuse_mixed_decimals(table: Table, specs: Sequence[TableSpec]) -> None:
    """Linked tables are published with the same decimals: where a measure has none of its own, they would mark what has moved (T19)."""
    if specs[0].decimals is not None:
        return
    found: dict[str, int] = {}
    for measure in {spec.measure for spec in specs}:
        values = np.concatenate([table.value[view.cell] for view, spec in zip(table.views, specs, strict=True) if spec.measure == measure])
        if values.any():
            found[measure or "count"] = min(fewest_decimals(values, table.scale), table.decimals)
    if len(set(found.values())) > 1:
        listed = ", ".join(f"{measure!r} {decimals}" for measure, decimals in sorted(found.items()))
        raise InputError(
            f"The measures of linked tables have different decimals ({listed}): of one with fewer, those that move would tell.",
            hint="Choose decimals for all (0 rounds to whole numbers first), or protect the tables apart.",
        )


def find_sets(data: Microdata, specs: Sequence[TableSpec], rules: Sequence[Rule]) -> list[CellSet]:
    """Sets that the rules call unsafe: parts of one total that are sensitive and have the same largest holding."""
    if any(spec.holding is None for spec in specs):
        raise RuleError(
            "Sets of cells are searched for by the holding that is the largest in each, and no holding is given.",
            hint="Give the tables a holding column, or name the sets.",
        )
    table = tabulate(data, specs, top=_top(rules), leaders=True)
    sets = candidate_sets(table, assess(table, rules))
    judged = tabulate(data, specs, top=_top(rules), sets=sets)
    return unsafe_sets(sets, judged, assess(judged, rules))


def _top(rules: Sequence[Rule]) -> int:
    """Contributions as many as the rules look at, and as are needed to withstand coalitions."""
    return max(COALITIONS.contributions, contributions_needed(rules))


def singletons_of(table: Table, sensitivity: Sensitivity, rules: Sequence[Rule]) -> Singletons:
    """The sensitive cells of a single respondent, in published units."""
    near, _ = opponents(rules)
    single = np.asarray(sensitivity.sensitive & (table.units == 1) & (table.value != 0))
    return Singletons(single=single, value=nearest(table.value, 10 ** (table.scale - table.decimals)), near=near)


def settle_levels(table: Table, found: Sensitivity, rules: Sequence[Rule], options: Options) -> Sensitivity:
    """What the rules found with levels that hide, and with the totals held that the options name."""
    return hold_totals(table, raise_levels(table, found, rules, options.floors), options.hold, options.hold_within)
