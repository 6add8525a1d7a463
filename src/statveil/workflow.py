"""One call per job. The command line, the server and the page call this and nothing deeper."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from statveil.arrays import IntArray, frozen_array
from statveil.audit.tables import Requirements, release_hash
from statveil.data.hierarchy import Hierarchy
from statveil.data.microdata import Microdata
from statveil.data.readers import read_microdata
from statveil.errors import InputError
from statveil.protect.adjustment import Adjustment
from statveil.protect.build import build_problem
from statveil.protect.cta import adjust
from statveil.protect.options import Limits, OnProgress, Options, Progress
from statveil.provenance import Provenance
from statveil.release import Release
from statveil.risk.assess import assess
from statveil.risk.rules import Rule, contributions_needed
from statveil.risk.sensitivity import Sensitivity
from statveil.table.protected import ProtectedTable
from statveil.table.spec import TableSpec
from statveil.table.table import Table
from statveil.table.tabulate import tabulate

UNKNOWN = float("inf")


def protect_table(
    data: Any,
    spec: TableSpec | Sequence[TableSpec],
    *,
    rules: Sequence[Rule],
    options: Options | None = None,
    method: str = "auto",
    limits: Limits | None = None,
    seed: int = 0,
    on_progress: OnProgress | None = None,
    job: Mapping[str, Any] | None = None,
) -> Release:
    """Records to an audited release: tabulate, assess, adjust, audit.

    `data` is a `Microdata` or anything that `read_microdata` takes. Several specs are linked tables, protected together.
    """
    limits = limits or Limits()
    tell = _stages(on_progress, limits)
    tell("tabulating")
    microdata = data if isinstance(data, Microdata) else read_microdata(data)
    table = tabulate(microdata, spec, top=max(1, contributions_needed(rules)))
    tell("assessing")
    sensitivity = assess(table, rules)
    release = protect_assessed(
        table,
        sensitivity,
        options=options,
        method=method,
        limits=limits,
        seed=seed,
        on_progress=on_progress,
        job=job,
        asked={"tables": _told(spec), "rules": _told(rules)},
    )
    tell("audited")
    return release


def protect_assessed(
    table: Table,
    sensitivity: Sensitivity,
    *,
    options: Options | None = None,
    method: str = "auto",
    limits: Limits | None = None,
    seed: int = 0,
    on_progress: OnProgress | None = None,
    job: Mapping[str, Any] | None = None,
    asked: Mapping[str, Any] | None = None,
) -> Release:
    """A table whose sensitive cells are known to an audited release: adjust, audit."""
    options, limits = options or Options(), limits or Limits()
    problem = build_problem(table, sensitivity, options)
    adjustment = adjust(problem, method=method, limits=limits, seed=seed, on_progress=on_progress)
    protected = ProtectedTable(views=table.views, value=_released(problem.value, adjustment), decimals=table.decimals)
    parameters = {**(asked or {}), "options": _told(options), "limits": _told(limits), "method": method, "seed": seed}
    provenance = Provenance(parameters=parameters, input_hash=table.input_hash, release_hash=release_hash(protected))
    return Release(
        protected=protected,
        adjustment=adjustment,
        provenance=provenance,
        table=table,
        sensitivity=sensitivity,
        requirements=requirements_of(options),
        job=job or {},
    )


def requirements_of(options: Options) -> Requirements:
    """The user's wishes as the plain exact numbers that the audit compares with."""
    bounds = options.bounds
    return Requirements(
        exact=options.variant == "exact",
        percent_down=_exactly(bounds.percent_down),
        percent_up=_exactly(bounds.percent_up),
        minimum=_exactly(bounds.minimum),
        maximum=_exactly(bounds.maximum),
        cap=_exactly(options.cap),
    )


def _exactly(number: float | None) -> Fraction | None:
    return None if number is None else Fraction(str(number))


def _released(value: IntArray, adjustment: Adjustment) -> IntArray:
    return frozen_array((value + adjustment.deviation).astype(np.int64))


def _stages(on_progress: OnProgress | None, limits: Limits) -> Callable[[str], None]:
    def tell(stage: str) -> None:
        if on_progress is not None:
            on_progress(Progress(stage, 0.0, UNKNOWN, 0.0, limits.seconds))

    return tell


def _told(thing: Any) -> Any:
    """A setting as JSON: what decides the numbers, in an order that does not depend on the run."""
    if isinstance(thing, Hierarchy):
        return {"total": thing.total, "parent": dict(thing.parent)}
    if dataclasses.is_dataclass(thing) and not isinstance(thing, type):
        fields = {field.name: _told(getattr(thing, field.name)) for field in dataclasses.fields(thing)}
        return {"kind": type(thing).__name__, **fields}
    if isinstance(thing, Mapping):
        return {str(key): _told(content) for key, content in thing.items()}
    if isinstance(thing, list | tuple):
        return [_told(part) for part in thing]
    if thing is None or isinstance(thing, bool | int | float | str):
        return thing
    if isinstance(thing, Fraction):
        return str(thing)
    raise InputError(f"A setting of type {type(thing).__name__} cannot be written into the provenance.")
