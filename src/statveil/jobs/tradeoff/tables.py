"""The trade-off of tables from records: the same front, and any of its points as a release."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from statveil.audit.tables import release_hash
from statveil.core.arrays import frozen_array
from statveil.core.errors import InputError
from statveil.core.limits import Ending, Limits, OnProgress
from statveil.core.provenance import Provenance
from statveil.jobs.tables.assess import LinkedTables, assess_records
from statveil.jobs.tables.protect import in_labels, records_of, require_rules, settled
from statveil.jobs.tables.released import as_json, links_as_json, requirements_of, run_as_json
from statveil.jobs.tradeoff.front import DEFAULT, distortion_of
from statveil.jobs.tradeoff.tradeoff import POINTS, Tradeoff, check_keep, tradeoff
from statveil.protect.build import build_problem
from statveil.protect.keep.result import OnFront, Quality
from statveil.protect.keep.tabu.objective import outcomes
from statveil.protect.keep.wishes import Keep, keep_of, targets_of
from statveil.protect.options import Method, Options
from statveil.protect.problem import ProtectionProblem
from statveil.publish.release import Release
from statveil.risk.rules import Rule
from statveil.risk.sensitivity import Sensitivity
from statveil.tables.linked import CellSet, Equation
from statveil.tables.spec import TableSpec
from statveil.tables.table import ProtectedTable, Table


@dataclass(frozen=True, kw_only=True)
class TableTradeoff:
    """The front of a table. `release` gives any of its points as an audited release; publish one of them, never two."""

    front: Tradeoff
    table: Table = field(repr=False)
    sensitivity: Sensitivity = field(repr=False)
    problem: ProtectionProblem = field(repr=False)
    options: Options = field(repr=False)
    parameters: Mapping[str, Any] = field(repr=False)

    def release(self, point: int | None = None, *, job: Mapping[str, Any] | None = None, asked: Mapping[str, Any] | None = None) -> Release:
        """The table of a point, counted from 1 as on the page; without a number, the recommended one.

        `job` repeats the release, `asked` are its words for what is asked of the front.
        """
        number = self.front.knee + 1 if point is None else point
        if not 1 <= number <= len(self.front.points):
            raise InputError(f"There is no point {number}.", hint=f"Points go from 1 to {len(self.front.points)}.")
        chosen, plain = self.front.points[number - 1], self.front.plain
        adjustment = dataclasses.replace(
            plain,
            deviation=chosen.deviation,
            senses=self.problem.senses_of(chosen.deviation),
            objective=chosen.change,
            ending=plain.ending if chosen.change <= plain.objective else Ending.FEASIBLE,
            certificate=None,
            seconds=self.front.seconds,
            quality=self._quality(number),
        )
        value = frozen_array(self.problem.value + chosen.deviation)
        protected = ProtectedTable(views=self.table.views, value=value, decimals=self.table.decimals)
        own = {"tradeoff": {**self.parameters["tradeoff"], "point": "recommended" if point is None else point}}
        parameters = {**self.parameters, **(own if asked is None else asked)}
        return Release(
            protected=protected,
            adjustment=adjustment,
            provenance=Provenance(parameters=parameters, input_hash=self.table.input_hash, release_hash=release_hash(protected)),
            table=self.table,
            sensitivity=self.sensitivity,
            requirements=requirements_of(self.options),
            job=job or {},
        )

    def _quality(self, number: int) -> Quality | None:
        """What became of the statistics at a point; None where there were none to keep."""
        front, chosen = self.front, self.front.points[number - 1]
        targets = targets_of(front.keep, self.problem)
        if not targets:
            return None
        return Quality(
            plain=outcomes(targets, front.plain.deviation),
            kept=chosen.outcomes,
            plain_objective=front.plain.objective,
            objective=chosen.change,
            found_by=chosen.by,
            front=OnFront(
                point=number,
                points=len(front.points),
                recommended=number == front.knee + 1,
                distortion=chosen.distortion,
                plain_distortion=distortion_of(targets, front.plain.deviation),
            ),
        )


def tradeoff_table(
    data: Any,
    spec: TableSpec | Sequence[TableSpec],
    *,
    rules: Sequence[Rule],
    keep: Keep | None = None,
    points: int = POINTS,
    options: Options | None = None,
    method: str = "auto",
    limits: Limits | None = None,
    seed: int = 0,
    on_progress: OnProgress | None = None,
    equations: Sequence[Equation] = (),
    sets: Sequence[CellSet] = (),
    search_sets: bool = False,
) -> TableTradeoff:
    """Records to a front of safe tables: tabulate, assess, then `tradeoff`. The arguments are those of these and of `protect_table`."""
    how = settled(options, method=Method(name=method, seed=seed), limits=limits, on_progress=on_progress)
    keep = DEFAULT if keep is None else keep
    check_keep(keep)
    linked = LinkedTables(tables=spec, equations=equations, sets=sets, search_sets=search_sets)
    require_rules(rules)
    table, sensitivity = assess_records(records_of(data), linked, rules, tell=how.tell)
    problem = build_problem(table, sensitivity, how.options)
    with in_labels(problem, table):
        asked = keep_of(keep, table, sensitivity.sensitive)
        front = tradeoff(problem, keep=asked, points=points, method=method, limits=how.limits, seed=seed, on_progress=on_progress)
    parameters = {
        "tables": as_json(spec),
        "rules": as_json(rules),
        **links_as_json(linked),
        **run_as_json(how.options, how.limits, how.method),
        "tradeoff": {"points": points, "kept": list(front.words)},
    }
    return TableTradeoff(front=front, table=table, sensitivity=sensitivity, problem=problem, options=how.options, parameters=parameters)
