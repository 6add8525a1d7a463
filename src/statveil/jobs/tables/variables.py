"""Several variables of the same records, each to its own audited release, their relations to one another kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from statveil.core.errors import InputError
from statveil.core.limits import Limits, OnProgress, check_kind
from statveil.data.microdata import Microdata
from statveil.data.readers import read_microdata
from statveil.jobs.tables.assess import Links, assess_records
from statveil.jobs.tables.keeping import require_means
from statveil.jobs.tables.parameters import as_json, keep_as_json, run_as_json
from statveil.jobs.tables.released import release_of, requirements_of
from statveil.jobs.tables.settings import require_rules, settled
from statveil.jobs.tables.telling import stages
from statveil.protect.build import build_problem
from statveil.protect.keep.table_cells import keep_of
from statveil.protect.keep.variables import KEPT, Together, adjust_together
from statveil.protect.keep.wishes import Keep
from statveil.protect.options import Options
from statveil.publish.release import Release
from statveil.risk.rules import Rule
from statveil.tables.spec import TableSpec


@dataclass(frozen=True, kw_only=True)
class ReleasesTogether:
    """A release for each variable, by the name of its table, and what became of their relations to one another."""

    releases: Mapping[str, Release]
    together: Together


def protect_variables(
    data: Any,
    specs: Sequence[TableSpec],
    *,
    rules: Sequence[Rule] | Mapping[str, Sequence[Rule]],
    options: Options | None = None,
    keep: Keep = KEPT,
    method: str = "auto",
    limits: Limits | None = None,
    seed: int = 0,
    on_progress: OnProgress | None = None,
) -> ReleasesTogether:
    """Several variables of the same records by the same dimensions, protected together: each by its own rules and levels (`rules` by the
    name of the table, or the same for all), each audited on its own, their means, covariances, correlations and regressions kept.
    """
    check_kind("keep", keep, Keep)
    options, limits = settled(options, limits, seed, None, keep)
    names = [spec.name for spec in specs]
    if len(set(names)) < len(names):
        raise InputError("Each of several variables needs a table name of its own.")
    own = rules if isinstance(rules, Mapping) else dict.fromkeys(names, rules)
    microdata = data if isinstance(data, Microdata) else read_microdata(data)
    judged = {}
    for spec in specs:
        require_rules(own.get(spec.name, ()))
        judged[spec.name] = assess_records(microdata, [spec], own[spec.name], Links(), tell=stages(on_progress, limits))
    problems = {name: build_problem(table, sensitivity, options) for name, (table, sensitivity) in judged.items()}
    together = adjust_together(
        problems, keep=keep_of(keep, judged[names[0]][0]), method=method, limits=limits, seed=seed, on_progress=on_progress
    )
    asked = {"together": names, **run_as_json(options, limits, method, seed), **keep_as_json(keep)}
    releases = {}
    for spec in specs:
        (table, sensitivity), problem, adjustment = judged[spec.name], problems[spec.name], together.adjustments[spec.name]
        require_means(problem, keep_of(keep, table), adjustment)
        parameters = {"tables": as_json(spec), "rules": as_json(own[spec.name]), **asked}
        requirements = requirements_of(options)
        releases[spec.name] = release_of(table, sensitivity, problem, adjustment, parameters=parameters, requirements=requirements)
    return ReleasesTogether(releases=releases, together=together)
