"""Records, or a table whose sensitive cells are known, to an audited release."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from statveil.core.limits import Limits, OnProgress
from statveil.data.microdata import Microdata
from statveil.data.readers import read_microdata
from statveil.formats.repairs import Relaxation
from statveil.jobs.tables.assess import Links, assess_records
from statveil.jobs.tables.keeping import keep_statistics
from statveil.jobs.tables.parameters import as_json, keep_as_json, links_as_json, repair_as_json, run_as_json, widened_as_json
from statveil.jobs.tables.released import release_of, requirements_of
from statveil.jobs.tables.settings import require_rules, settled
from statveil.jobs.tables.telling import in_labels, stages
from statveil.protect.adjust import adjust
from statveil.protect.build import build_problem
from statveil.protect.infeasible.repair import adjust_or_repair
from statveil.protect.infeasible.table_repair import TableRepair, kept_of, repair_of
from statveil.protect.keep.table_cells import keep_of
from statveil.protect.keep.wishes import Keep
from statveil.protect.options import Options
from statveil.publish.release import Release
from statveil.risk.rules import Rule
from statveil.risk.sensitivity import Sensitivity
from statveil.tables.linked import CellSet, Equation
from statveil.tables.spec import TableSpec
from statveil.tables.table import Table
from statveil.tables.tabulate.tabulate import listed_specs


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
    equations: Sequence[Equation] = (),
    sets: Sequence[CellSet] = (),
    search_sets: bool = False,
    repair: TableRepair | None = None,
    keep: Keep | None = None,
) -> Release:
    """Records to an audited release: tabulate, assess, adjust, audit.

    `data` is a `Microdata` or anything that `read_microdata` takes. Several specs are linked tables, protected together: a cell that
    adds up the same records of the same measure in several of them is one cell, and `equations` between measures are kept.
    `sets` of cells are judged as if they were cells; `search_sets` also looks for those that one holding dominates.
    `repair` says what may give where no safe table exists; the release then lists all that gave.
    `keep` names statistics to keep, over rows and levels by the codes of the dimensions.
    """
    options, limits = settled(options, limits, seed, repair, keep)
    specs = listed_specs(spec)
    require_rules(rules)
    tell = stages(on_progress, limits)
    links = Links(equations=equations, sets=sets, search_sets=search_sets)
    microdata = data if isinstance(data, Microdata) else read_microdata(data)
    table, sensitivity = assess_records(microdata, specs, rules, links, tell=tell)
    release = protect_assessed(
        table,
        sensitivity,
        options=options,
        method=method,
        limits=limits,
        seed=seed,
        on_progress=on_progress,
        job=job,
        asked={"tables": as_json(spec), "rules": as_json(rules), **links_as_json(links)},
        repair=repair,
        keep=keep,
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
    repair: TableRepair | None = None,
    keep: Keep | None = None,
) -> Release:
    """A table whose sensitive cells are known to an audited release: adjust (and repair, if asked and needed), audit."""
    options, limits = settled(options, limits, seed, repair, keep)
    problem = build_problem(table, sensitivity, options)
    run: dict[str, Any] = {"method": method, "limits": limits, "seed": seed, "on_progress": on_progress}
    relaxations: tuple[Relaxation, ...] = ()
    needed = options
    with in_labels(problem, table):
        if keep is not None:
            adjustment, needed = keep_statistics(table, sensitivity, problem, options, keep_of(keep, table, sensitivity.sensitive), run)
        elif repair is None:
            adjustment = adjust(problem, **run)
        else:
            repaired = adjust_or_repair(problem, repair_of(repair, table), kept=kept_of(sensitivity), **run)
            adjustment, relaxations = repaired.adjustment, repaired.relaxations
    return release_of(
        table,
        sensitivity,
        problem,
        adjustment,
        parameters={**(asked or {}), **run_as_json(options, limits, method, seed), **repair_as_json(repair), **keep_as_json(keep)}
        | widened_as_json(adjustment),
        requirements=requirements_of(needed, repair),
        job=job or {},
        relaxations=relaxations,
    )
