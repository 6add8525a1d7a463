"""A suppression problem from a table and its sensitivity, or from a linear system."""

from __future__ import annotations

import numpy as np

from statveil.core.arrays import LARGEST_EXACT, FloatArray, IntArray
from statveil.core.errors import InputError
from statveil.formats.system import LinearSystem
from statveil.risk.sensitivity import Sensitivity
from statveil.suppress.cells.methods.shape import shape_of
from statveil.suppress.cells.options import SuppressionOptions
from statveil.suppress.cells.problem import COST_UNITS, ENDLESS, SuppressionProblem
from statveil.tables.relations import relations
from statveil.tables.table import Table

DEAREST = 2**40
"""The largest cost of a cell, so that costs of all cells can be added up."""


def problem_of_table(table: Table, sensitivity: Sensitivity, options: SuppressionOptions, *, shaped: bool = False) -> SuppressionProblem:
    """All views in one model. Zeros and frozen cells are published; sets of cells that nobody publishes are hidden anyway.

    shaped: for methods that must know where the cells stand.

    A level below what everybody knows (that a cell is not below zero) is asked for as far as that.
    """
    value, sensitive = table.value, np.asarray(sensitivity.sensitive)
    hidden = np.arange(table.size) >= table.shown
    lower, upper = _known(value, options)
    lower_level = np.where(sensitive, sensitivity.lower_level, 0)
    upper_level = np.where(sensitive, sensitivity.upper_level, 0)
    lower = np.where(sensitive & (value >= 0), np.maximum(np.minimum(lower, value - lower_level), 0), lower)
    upper = np.where(sensitive, np.maximum(upper, value + upper_level), upper)
    return SuppressionProblem(
        relations=relations(table),
        value=value,
        lower=lower,
        upper=upper,
        primary=sensitive,
        candidate=~sensitive & ~np.asarray(sensitivity.frozen) & (value != 0) & ~hidden,
        hidden=hidden & ~sensitive,
        single=np.asarray(table.respondents == 1) & options.singletons,
        lower_level=np.minimum(lower_level, value - lower),
        upper_level=upper_level,
        cost=_costs(table, sensitivity, options),
        shapes=tuple(shape_of(view.dimensions, view.coordinates, view.cell) for view in table.views) if shaped else (),
        respondents=table.respondents,
    )


def problem_of_system(system: LinearSystem, options: SuppressionOptions, *, use_file_cost: bool = False) -> SuppressionProblem:
    """Cells of status u are primary, those of status z are published, those of status m are suppressed already, at no cost.

    What readers know beforehand is what the file says. No level is asked below zero of a value that is not.
    """
    primary, value = system.status == "u", system.value
    if options.cost == "frequency":
        raise InputError("A linear system has no frequencies.", hint="Choose another cost: unit, value or log.")
    size = system.cost if use_file_cost else sizes(np.abs(system.value) * 10.0**-system.decimals, options)
    return SuppressionProblem(
        relations=system.relations,
        value=value,
        lower=np.minimum(system.lower, value),
        upper=np.maximum(system.upper, value),
        primary=primary,
        candidate=~primary & (system.status != "z") & (system.value != 0),
        hidden=(system.status == "m") & ~primary,
        single=np.zeros(system.value.size, dtype=np.bool_),
        lower_level=np.where(primary, np.where(value >= 0, np.minimum(system.lower_level, value), system.lower_level), 0),
        upper_level=np.where(primary, system.upper_level, 0),
        cost=whole_costs(size),
    )


def _known(value: IntArray, options: SuppressionOptions) -> tuple[IntArray, IntArray]:
    """What readers know of each cell beforehand."""
    if options.known_percent is None:
        return np.where(value >= 0, 0, -ENDLESS), np.full(value.size, ENDLESS)
    most = np.ceil(np.minimum(np.abs(value) * (options.known_percent / 100), LARGEST_EXACT)).astype(np.int64)
    low = value - most
    return np.where(value >= 0, np.maximum(low, 0), low), value + most


def _costs(table: Table, sensitivity: Sensitivity, options: SuppressionOptions) -> IntArray:
    """Per position at which the cell is published; a user's own cost replaces it."""
    places = np.zeros(table.size)
    for view in table.views:
        places += np.bincount(view.cell, minlength=table.size)
    if options.cost == "frequency":
        if (table.frequency < 0).any():
            raise InputError("The table has no frequencies.", hint="Choose another cost: unit, value or log.")
        size = np.maximum(table.frequency * 10.0**-table.frequency_scale, 1.0)
    else:
        size = sizes(np.abs(table.value) * 10.0**-table.scale, options)
    return whole_costs(np.where(np.isnan(sensitivity.weight), size, sensitivity.weight) * places)


def sizes(amount: FloatArray, options: SuppressionOptions) -> FloatArray:
    """The cost of cells of these amounts."""
    if options.cost == "unit":
        return np.ones(amount.size)
    return np.asarray(np.log1p(amount) if options.cost == "log" else amount)


def whole_costs(cost: FloatArray) -> IntArray:
    """In thousandths, none of them nothing."""
    return np.rint(np.clip(cost * COST_UNITS, 1, DEAREST)).astype(np.int64)
