"""What the officer is told about the modes of a dataset: how well each keeps the numbers, and how section4 withstands attacks.

`statveil serve --evaluate` compares the modes: tables of each dataset are protected in both with stores that are thrown away. What is
printed is for the office only: it tells how many cells are sensitive.

The attack scores of mode section4, which the server tells at its start, are measured on its own dataset by `statveil check`. They are
kept in the server's state folder under a fingerprint of records, trees and settings: what changes any of these unsays them.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from statveil.core.atomic import written_together
from statveil.core.errors import DisclosureRefused, FormatError, OutOfTime
from statveil.core.secret import SecretKey
from statveil.jobs.server_config import DatasetPart, Mode, ServerConfig, read_config
from statveil.server.engine.layout import Layout
from statveil.server.engine.query import DimensionChoice, TableQuery
from statveil.server.engine.service import TableService, exact_cells

if TYPE_CHECKING:
    from statveil.audit.attacks.verdict import SuiteReport

EXAMPLE = Path(__file__).with_name("section4_scores.json")
"""Scores on an invented register, for datasets that were not tried themselves."""
WARNING = "WARNING: mode section4 keeps senses consistent, as the paper asks, and that alone does not protect against many requests."
ADVICE = "Use mode anchored for anyone outside the office."
MODES: tuple[Mode, ...] = ("anchored", "section4")
_LINES: tuple[tuple[str, str, str], ...] = (
    ("tables answered", "answered", "{:.0f}"),
    ("tables refused", "refused", "{:.0f}"),
    ("sensitive cells, % of cells", "sensitive", "{:.1f}"),
    ("cells at their reference, %", "at_reference", "{:.1f}"),
    ("change of cells that are not sensitive, mean %", "safe_change", "{:.2f}"),
    ("change of cells that are not sensitive, median %", "safe_median", "{:.2f}"),
    ("change of sensitive cells, mean %", "sensitive_change", "{:.2f}"),
    ("change of grand totals, mean %", "total_change", "{:.2f}"),
    ("seconds per table, mean", "seconds", "{:.2f}"),
)


class ModesTuning(NamedTuple):
    """Tables that the modes are compared by: their size and number. By judgement."""

    largest: int = 5_000
    most_tables: int = 40


TUNING = ModesTuning()


@dataclass
class _ModeFigures:
    """What was seen of one mode, cell by cell."""

    answered: int = 0
    refused: int = 0
    seconds: float = 0.0
    safe: list[Any] = field(default_factory=list)
    sensitive: list[Any] = field(default_factory=list)
    totals: list[float] = field(default_factory=list)
    at_reference: list[Any] = field(default_factory=list)

    def figures(self) -> Mapping[str, float]:
        safe, sensitive, there = (np.concatenate([np.zeros(0), *each]) for each in (self.safe, self.sensitive, self.at_reference))
        cells = max(safe.size + sensitive.size, 1)
        return {
            "answered": self.answered,
            "refused": self.refused,
            "sensitive": 100 * sensitive.size / cells,
            "at_reference": 100 * float(there.sum()) / cells,
            "safe_change": 100 * _mean(safe),
            "safe_median": 100 * float(np.median(safe)) if safe.size else 0.0,
            "sensitive_change": 100 * _mean(sensitive),
            "total_change": 100 * _mean(np.array(self.totals)),
            "seconds": self.seconds / max(self.answered, 1),
        }


def _mean(array: Any) -> float:
    return float(array.mean()) if array.size else 0.0


def evaluation(path: Path) -> str:
    """The comparison as text."""
    config = read_config(path)
    return "\n\n".join(_of_dataset(config, place) for place in range(len(config.datasets)))


def compare(config: ServerConfig, place: int = 0) -> Mapping[Mode, Mapping[str, float]]:
    """The figures of both modes for one dataset."""
    return {mode: _measure(config, place, mode).figures() for mode in MODES}


def _of_dataset(config: ServerConfig, place: int) -> str:
    figures = compare(config, place)
    lines = [f"Dataset {config.datasets[place].id!r}, in use: {config.datasets[place].mode}", f"{'':50}{MODES[0]:>12}{MODES[1]:>12}"]
    lines += [f"{words:50}" + "".join(f"{form.format(figures[mode][name]):>12}" for mode in MODES) for words, name, form in _LINES]
    return "\n".join(lines)


def _measure(config: ServerConfig, place: int, mode: Mode) -> _ModeFigures:
    found = _ModeFigures()
    with tempfile.TemporaryDirectory(prefix="statveil-evaluate-") as folder:
        service = TableService.open(_alone(config, place, mode, Path(folder)), _other_counter(config.key(), Path(folder)))
        for layout in _layouts(service, config.datasets[place].id):
            started = time.perf_counter()
            try:
                answer = service.answer(layout)
            except (DisclosureRefused, OutOfTime):
                found.refused += 1
                continue
            found.seconds += time.perf_counter() - started
            _note(found, service, layout, answer.values)
        service.close()
    return found


def _note(found: _ModeFigures, service: TableService, query: TableQuery, values: Any) -> None:
    """Compare an answer that shows all of its table with the truth."""
    true, reference, sensitive = exact_cells(service, query)
    filled = true > 0
    change = np.abs(values - true)[filled] / true[filled]
    found.answered += 1
    found.safe.append(change[~sensitive[filled]])
    found.sensitive.append(change[sensitive[filled]])
    found.at_reference.append((values == reference)[filled])
    found.totals.append(float(change[np.argmax(true[filled])]) if change.size else 0.0)


def _layouts(service: TableService, dataset: str) -> Iterator[TableQuery]:
    """Tables of moderate size, from few dimensions to many, the same ones each time."""
    described = service.datasets[dataset]
    choices = [[None, *(level.id for level in dimension.levels)] for dimension in described.dimensions]
    given = 0
    for chosen in sorted(product(*choices), key=lambda levels: (sum(level is not None for level in levels), str(levels))):
        names = tuple(
            DimensionChoice(id=dimension.id, level=level) for dimension, level in zip(described.dimensions, chosen, strict=True) if level
        )
        for measure in described.measures if names else ():
            query = TableQuery(dataset=dataset, measure=measure.id, dimensions=names)
            if _size(service, query) <= TUNING.largest and given < TUNING.most_tables:
                given += 1
                yield query


def _size(service: TableService, query: TableQuery) -> int:
    layout: Layout = service.layout_of(query)
    return prod(layout.shape)


def _alone(config: ServerConfig, place: int, mode: Mode, folder: Path) -> ServerConfig:
    """The same dataset in a mode, with a store in the folder and without limits of size."""
    part = config.datasets[place].model_copy(update={"mode": mode}).model_dump(mode="json", exclude_none=True)
    limits = {**config.limits.model_dump(), "cells": 2_000_000}
    return config.changed(dataset=[part], store={"file": str(folder / "store.sqlite")}, limits=limits)


def _other_counter(key: SecretKey, folder: Path) -> SecretKey:
    """The same key, with a counter that belongs to the store that is thrown away."""
    return key.with_counter(folder / "counter")


def scores_file(config: ServerConfig) -> Path:
    return config.path(config.web.state) / "attack-scores.json"


def fingerprint(config: ServerConfig, part: DatasetPart) -> str:
    """Of the records and trees, byte for byte, and of all settings of the dataset but its label, in mode section4.

    Keyed, for a plain hash of records would let guesses be checked.
    """
    digest = config.key().hasher("attack scores", size=32)
    settings = part.model_copy(update={"mode": "section4"}).model_dump(mode="json", exclude={"label"})
    digest.update(json.dumps(settings, sort_keys=True).encode())
    trees = [file for each in part.dimensions.values() for file in (each.hierarchy, *(each.hierarchies or ())) if file is not None]
    for file in (part.file, *trees):
        with config.path(file).open("rb") as opened:
            digest.update(hashlib.file_digest(opened, "sha256").digest())
    return digest.hexdigest()


def keep_scores(config: ServerConfig, part: DatasetPart, report: SuiteReport) -> None:
    """Write down what the attacks on this dataset in mode section4 found."""
    file = scores_file(config)
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    lines = [
        {"id": each.threat.id, "name": each.threat.name, "verdict": str(each.status), "number": each.reason or each.number}
        for each in report.verdicts
    ]
    known = {**_kept(file), part.id: {"fingerprint": fingerprint(config, part), "scores": lines}}
    with written_together([file]) as (place,):
        place.write_text(json.dumps(known, indent=1, ensure_ascii=False) + "\n", encoding="utf-8", newline="\n")


def _kept(file: Path) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except ValueError:
        raise FormatError(f"{file} cannot be read.", hint="Remove it, and let `statveil check` write it anew.") from None
    return found


def section4_scores(config: ServerConfig, path: Path) -> list[str]:
    """What is known of each dataset in mode section4, in lines; `path` is the file of the configuration."""
    parts = [part for part in config.datasets if part.mode == "section4"]
    if not parts:
        return []
    kept, told, unknown = _kept(scores_file(config)), [WARNING], False
    for part in parts:
        found = kept.get(part.id, {})
        if found.get("fingerprint") == fingerprint(config, part):
            told += [f"Attacks on dataset {part.id} as it is now:", *_lines(found["scores"])]
        else:
            unknown = True
            told.append(f"Attacks on dataset {part.id}: not measured yet. Run: statveil check {path} --dataset {part.id}")
    return [*told, *(_example() if unknown else []), ADVICE]


def _example() -> list[str]:
    content = json.loads(EXAMPLE.read_text(encoding="utf-8"))
    return [f"On {content['records']:,} invented records ({content['command']}) they found:", *_lines(content["scores"])]


def _lines(scores: list[dict[str, str]]) -> list[str]:
    return [f"  {each['id']}  {each['verdict']:<14}  {each['name']}: {each['number']}" for each in scores]
