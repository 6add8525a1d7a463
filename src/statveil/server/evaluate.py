"""`statveil serve --evaluate`: what each depth of tables costs and withstands, measured on the data that are served. For the office only.

For every depth, from one dimension at a time to all, the dataset is prepared with a key and a store that are thrown away, asked for
all its tables, and attacked. The scores of the depth in use are kept, and told at every start of the server.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from itertools import combinations
from math import prod
from pathlib import Path
from typing import NamedTuple

import numpy as np

from statveil.audit.attacks.attacker import Effort
from statveil.audit.attacks.suite import THREAT_BY_ID, attack_all
from statveil.audit.attacks.verdict import SuiteReport
from statveil.core.arrays import FloatArray
from statveil.core.errors import InputError
from statveil.jobs.reverse import reverse_by_adjustment
from statveil.jobs.server_config import DatasetPart, ServerConfig, read_config
from statveil.publish.report.evaluation import DepthColumn, EvaluatedDataset, write_evaluation
from statveil.server.attack_target import later_edition, private_copy, service_case
from statveil.server.cube.attacks import AttackScore, Edition, attack_edition, attack_editions, ratio
from statveil.server.cube.floors import position_ids
from statveil.server.cube.lattice import build_lattice
from statveil.server.cube.public import places_of, rows_held
from statveil.server.cube.public_attacks import exact_totals
from statveil.server.dataset.query import DimensionChoice, TableQuery
from statveil.server.engine.cubes import depth_of, public_totals
from statveil.server.engine.scores import keep_scores
from statveil.server.engine.service import TableService, exact_cells


class EvaluateTuning(NamedTuple):
    """All by judgement."""

    largest_table: int = 2_000_000
    """Positions of a table that is asked for; where each is solved for itself, the second one."""
    largest_solved: int = 20_000
    change: float = 0.1
    still: float = 0.5
    """The next edition: records that do not change, and how far the others may."""
    effort: Effort = Effort(tables=150, sets=60, cells=40, reversals=1, periods=3)


TUNING = EvaluateTuning()
TIMED = ("T20",)
"""Needs thousands of requests to a server that runs: `statveil check CONFIG.toml --url URL` measures it."""
Say = Callable[[str], None]


def evaluate_to(path: Path, out: Path, *, say: Say) -> Path:
    """Write the page, and its figures as JSON beside it."""
    config = read_config(path)
    return write_evaluation([_dataset(config, part, say) for part in config.datasets], out)


def _dataset(config: ServerConfig, part: DatasetPart, say: Say) -> EvaluatedDataset:
    most = len(part.dimensions)
    in_use = min(part.depth or most, most)
    columns = [_depth(config, part, depth, say) for depth in range(1, most + 1)]
    chosen = columns[in_use - 1]
    if chosen.attacks is not None:
        keep_scores(config, part, chosen.attacks)
    return EvaluatedDataset(id=part.id, label=part.label or part.id, mode=part.mode, in_use=in_use, columns=tuple(columns))


def _depth(config: ServerConfig, part: DatasetPart, depth: int, say: Say) -> DepthColumn:
    """One depth; what is too large to be prepared is told as that."""
    started = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="statveil-evaluate-") as name:
        private = _private(config, part, depth, Path(name))
        try:
            with closing(TableService.open(private, private.key(), progress=lambda words: say(f"Depth {depth}. {words}"))) as service:
                ready = time.perf_counter() - started
                asked = {measure.label: _errors(service, part.id, measure.id, depth) for measure in service.datasets[part.id].measures}
                levels = dict(_by_level(service, part.id, service.datasets[part.id].measures[0].id))
        except InputError as error:
            return DepthColumn(depth=depth, reason=error.message)
        case = service_case(private, part.id, Path(name), effort=TUNING.effort, reverse=reverse_by_adjustment(seed=TUNING.effort.seed))
        report: SuiteReport = attack_all(
            case,
            target=f"{part.id}, depth {depth}",
            only=[name for name in THREAT_BY_ID if name not in TIMED],
            on_progress=lambda words: say(f"Depth {depth}. Attack {words}"),
        )
        known = _scores(private, part, Path(name)) if part.mode == "cube" else []
    return DepthColumn(depth=depth, seconds=ready, errors=asked, levels=levels, attacks=report, scores=tuple(known))


def _scores(private: ServerConfig, part: DatasetPart, folder: Path) -> list[AttackScore]:
    """What whoever has every answer gains, of this edition and the next: rivals, second contributors, known values of last year."""
    later = later_edition(private, part, folder, 0, change=TUNING.change, still=TUNING.still)
    now = private.datasets[0].model_dump(mode="json", exclude_none=True)
    config = private.changed(dataset=[now, {**now, "id": later["id"], "file": later["file"]}])
    with closing(TableService.open(config, config.key())) as service:
        amounts = [each.id for each in service.datasets[part.id].measures if not each.counts]
        if not amounts:
            return []
        first, second = _editions(service, part.id, amounts[:2]), _editions(service, later["id"], amounts[:1])
        held = _rows_held(service, part.id, amounts[0], first[0])
    ratios = [ratio(first[0], first[1])] if len(first) > 1 else []
    told = exact_totals(first[0], held) if held else []
    return [*attack_edition(first[0]), *attack_editions([first[0], second[0]]), *ratios, calibrated_by_totals(first[0]), *told]


def _rows_held(service: TableService, dataset: str, measure: str, edition: Edition) -> list[int]:
    """The totals of a measure that are public elsewhere, as rows."""
    data, _ = service.confidential(dataset)
    places = places_of(public_totals(data), measure, edition.lattice.grid, depth_of(data.part).most(data.dimensions))
    return [row for row, _ in rows_held(places, edition.lattice)]


def _editions(service: TableService, dataset: str, measures: Sequence[str]) -> list[Edition]:
    """One for each measure, positions under the same ids."""
    data, key = service.confidential(dataset)
    found = []
    for measure in measures:
        block = data.block(measure)
        lattice = build_lattice(data, block, depth_of(data.part))
        ids = position_ids(key, replace(block, space=data.block(measures[0]).space), lattice)
        found.append(Edition(lattice, service.cube(dataset, measure).released, ids, block.holding))
    return found


def calibrated_by_totals(edition: Edition, near: float = 0.05) -> AttackScore:
    """The true total of one code is public elsewhere: single respondents below it are scaled as the release is to it."""
    lattice = edition.lattice
    start, row = lattice.rows_of
    leaf = np.repeat(np.arange(lattice.leaves), np.diff(start))
    single = (lattice.leaf_row >= 0) & (lattice.respondents[np.maximum(lattice.leaf_row, 0)] == 1) & (lattice.leaf_value >= 10)
    tried = single[leaf] & (lattice.dimensions[row] == 1) & (lattice.value[row] > 0)
    leaf, row = leaf[tried], row[tried]
    guess = edition.released[leaf] * (lattice.value[row] / np.maximum(lattice.value[row] + edition.moved[row], 1))
    hits = np.abs(guess - lattice.leaf_value[leaf]) < near * lattice.leaf_value[leaf]
    return AttackScore(
        "totals", "single respondents within p/2 by exact totals of one code from elsewhere", int(hits.sum()), leaf.size, None
    )


def _private(config: ServerConfig, part: DatasetPart, depth: int, folder: Path) -> ServerConfig:
    """The dataset alone, with that depth, a key and a store of its own, and no limit on the size of a table."""
    alone = {**part.model_dump(mode="json", exclude_none=True), "depth": depth}
    within = [each for each in alone.get("public", []) if len(each["codes"]) <= depth]
    limits = {**config.limits.model_dump(mode="json"), "cells": TUNING.largest_table}
    return private_copy(config.changed(dataset=[{**alone, "public": within}], limits=limits), folder)


@dataclass(frozen=True, kw_only=True)
class _Answered:
    """A table asked for in full: relative changes of its cells, which of them are safe, and how many dimensions each shows."""

    change: FloatArray
    safe: FloatArray
    shown: FloatArray


def _errors(service: TableService, dataset: str, measure: str, depth: int) -> dict[int, FloatArray]:
    """Relative changes of the cells that are not sensitive, by the number of dimensions that they show; each position once."""
    names = [dimension.id for dimension in service.datasets[dataset].dimensions]
    found: dict[int, list[FloatArray]] = {}
    for number in range(1, depth + 1):
        for chosen in combinations(names, number):
            table = _asked(service, dataset, measure, chosen)
            for shown in (0, number) if table is not None and len(chosen) == 1 and chosen[0] == names[0] else (number,):
                if table is not None:
                    found.setdefault(shown, []).append(table.change[(table.shown == shown) & (table.safe > 0)])
    return {shown: np.concatenate(parts) for shown, parts in sorted(found.items())}


def _by_level(service: TableService, dataset: str, measure: str) -> Iterator[tuple[str, float]]:
    """The mean change of safe cells of each level, one dimension at a time."""
    for dimension in service.datasets[dataset].dimensions:
        table = _asked(service, dataset, measure, [dimension.id])
        for level in dimension.levels if table is not None else ():
            at = [dimension.lowest.cut.position[code] for code in level.codes]
            change = table.change[at][table.safe[at] > 0] if table is not None else np.zeros(0)
            yield f"{dimension.label}: {level.id}", float(change.mean()) if change.size else 0.0


def _asked(service: TableService, dataset: str, measure: str, names: Sequence[str]) -> _Answered | None:
    """The table of these dimensions at their lowest levels, beside the truth; None where it is too large to be asked for."""
    query = TableQuery(dataset=dataset, measure=measure, dimensions=tuple(DimensionChoice(id=name) for name in names))
    solved = service.datasets[dataset].mode == "section4"
    with suppress(InputError):
        layout = service.layout_of(query)
        if prod(layout.shape) <= (TUNING.largest_solved if solved else TUNING.largest_table):
            values = service.answer(query).values
            true, sensitive = exact_cells(service, query)
            totals = [np.array([code == cut.total for code in cut.codes]) for cut in layout.cuts]
            shown = sum(
                (~total).astype(np.int64).reshape([-1 if axis == place else 1 for axis in range(len(totals))])
                for place, total in enumerate(totals)
            )
            change = np.abs(values - true) / np.maximum(np.abs(true), 1)
            return _Answered(change=change, safe=(~sensitive & (true != 0)).astype(float), shown=np.broadcast_to(shown, true.shape))
    return None
