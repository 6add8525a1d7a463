"""What the screens show of the records and the table: made once for each state of what it depends on, and kept in memory only."""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from statveil.core.errors import InputError
from statveil.core.toml import to_toml
from statveil.data.microdata import ColumnProfile, Microdata, profile
from statveil.data.preparation import doubtful_words
from statveil.desk.maps.released import Released, read_released
from statveil.desk.project import Project
from statveil.jobs.record_job import FileJob, check_file_job, read_file_job
from statveil.jobs.records.explore import RecodingExplorer
from statveil.jobs.schema import DataPart, check_job
from statveil.jobs.server_config import ServerConfig, check_config
from statveil.jobs.table_job import TableJob, read_job
from statveil.jobs.tables.assess import assess_records
from statveil.records.coding import code_file
from statveil.records.risk import UnsafeCombinations, find_unsafe
from statveil.risk.assess import assess
from statveil.risk.coalitions import TUNING as COALITIONS
from statveil.risk.rules import contributions_needed
from statveil.risk.sensitivity import Sensitivity
from statveil.tables.table import Table, View

ELSE = "Open the records for what you want to make on the first screen."
KEPT = 5
"""Things kept at a time. By judgement."""


class Assessed(NamedTuple):
    job: TableJob
    table: Table
    found: Sensitivity

    def counts(self) -> dict[str, int]:
        """Sensitive cells by rule, and in all."""
        told = {words: int(cells.sum()) for words, cells in self.found.reasons.items()}
        return {**told, "sensitive in all": int(self.found.sensitive.sum()), "cells": self.table.size}


class RecordColumns(NamedTuple):
    """The columns of the records that are used, as they look; by column of codes the most frequent ones; by column the words in it
    that may mean that a value is missing; and what became of the records of the file."""

    profiles: list[ColumnProfile]
    codes: Mapping[str, list[str]]
    doubtful: Mapping[str, list[str]]
    told: list[str]


class Looks:
    """The desk's memory: nothing in it is needed, all of it can be made again."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._kept: OrderedDict[Hashable, Any] = OrderedDict()
        self._alone = threading.Lock()

    def columns(self, dataset: int = 0) -> RecordColumns:
        data = self._data_part(dataset)
        path = self._project.folder / data.file
        key = ("columns", data.model_dump_json(include=set(DataPart.model_fields)), _as_it_is(path))

        def look() -> RecordColumns:
            records = data.microdata(path)
            looks, told = profile(records), records.prepared.in_words() if records.prepared else []
            codes = records.frequent_codes([each.name for each in looks if each.look == "code"])
            return RecordColumns(looks, codes, doubtful_words(records), told)

        found: RecordColumns = self._made(key, look)
        return found

    def _data_part(self, dataset: int) -> DataPart:
        if self.serves:
            return self.server().datasets[dataset]
        return self.record_job().parts.data if self.holds_records else self.job().parts.data

    def assessed(self, content: Mapping[str, Any] | None = None) -> Assessed:
        """The table of the job (or of this content) and what the rules find in it; a table is added up once for all rules."""
        job = self.job(content)
        rules = job.rules()
        key = _table_key(job)
        table = self._made(("table", *key), lambda: assess_records(job.microdata, job.linked(), rules)[0])
        if content is not None:  # tried by hand, and another one the next moment
            return Assessed(job, table, assess(table, rules))
        lists = tuple(_as_it_is(job.path(rule["file"])) for rule in job.content["rule"] if "file" in rule)
        asked = json.dumps(job.content["rule"], default=str)
        return Assessed(job, table, self._made(("found", *key, asked, lists), lambda: assess(table, rules)))

    def released(self, path: Path, table: Table, view: View) -> Released:
        """What a run wrote for this view of its table."""
        found: Released = self._made(("released", _as_it_is(path), view.name), lambda: read_released(path, table, view))
        return found

    def job(self, content: Mapping[str, Any] | None = None) -> TableJob:
        """The job as the library reads it: what is wrong with it is said in the same words."""
        if content is not None:
            return TableJob(parts=check_job(content), content=content, base=self._project.folder, text=to_toml(content))
        if self.serves:
            raise InputError("This job is that of a table server, not of a table.", hint=ELSE)
        if not self._project.content:
            raise InputError("No file of records is open.", hint="Open one on the first screen.")
        return read_job(self._project.job_path)

    @property
    def holds_records(self) -> bool:
        """Whether the job is one of a safe file, not of a table."""
        return "fields" in self._project.content

    @property
    def serves(self) -> bool:
        """Whether the job is the configuration of a table server."""
        return "dataset" in self._project.content

    def server(self, content: Mapping[str, Any] | None = None) -> ServerConfig:
        return check_config(self._project.content if content is None else content, base=self._project.folder)

    def record_job(self, content: Mapping[str, Any] | None = None) -> FileJob:
        if content is None:
            if self.serves:
                raise InputError("This job is that of a table server, not of a safe file.", hint=ELSE)
            return read_file_job(self._project.job_path)
        return FileJob(parts=check_file_job(content), content=content, base=self._project.folder, text=to_toml(content))

    def microdata(self, content: Mapping[str, Any], dataset: int = 0) -> Microdata:
        """The records that such a job would use."""
        if "dataset" in content:
            config = self.server(content)
            return config.microdata(config.datasets[dataset])
        return (self.record_job(content) if "fields" in content else self.job(content)).microdata

    def explorer(self, content: Mapping[str, Any] | None = None) -> RecodingExplorer:
        """Risk and loss of every recoding of the job (or of this content), one explorer for each request; nothing is chosen in it yet."""
        job = self.record_job(content)
        coded = self._made(("coded", *_record_key(job)), lambda: code_file(job.microdata, job.keys()))
        return RecodingExplorer(job.microdata, coded)

    def unsafe(self) -> UnsafeCombinations:
        """The rare combinations of key values, with the recodings that are decided."""
        job = self.record_job()
        fixed = dict(job.parts.recoding.fixed or {})
        key = ("unsafe", json.dumps(fixed), *_record_key(job))
        found: UnsafeCombinations = self._made(key, lambda: find_unsafe(job.microdata, job.keys(), recoding=fixed))
        return found

    def _made(self, key: Hashable, make: Callable[[], Any]) -> Any:
        with self._alone:
            if key not in self._kept:
                self._kept[key] = make()
                while len(self._kept) > KEPT:
                    self._kept.popitem(last=False)
            self._kept.move_to_end(key)
            return self._kept[key]


def _table_key(job: TableJob) -> tuple[Hashable, ...]:
    """All that a table depends on: what is asked of it, the records and the trees as they lie there, and how many contributions it keeps.

    Sets of cells that are safe are left out of a table: then it depends on the rules as well.
    """
    asked = {name: job.content.get(name) for name in ("data", "table", "equation", "cell_set")}
    has_sets = bool(job.parts.cell_set) or job.parts.protection.search_sets
    rules = job.content["rule"] if has_sets else max(COALITIONS.contributions, contributions_needed(job.rules()))
    parts = [part for table in job.parts.table for part in table.dimensions.values()]
    trees = [tree for part in parts for tree in ([part.hierarchy] if part.hierarchy else part.hierarchies or [])]
    files = tuple(_as_it_is(job.path(file)) for file in (job.parts.data.file, *trees))
    return json.dumps([asked, rules, job.parts.protection.search_sets], default=str), files


def _record_key(job: FileJob) -> tuple[Hashable, ...]:
    """All that the coded keys of a file depend on."""
    trees = [file for part in job.parts.fields.values() for file in (part.hierarchy, part.arx, *part.grc) if file]
    files = tuple(_as_it_is(job.base / file) for file in (job.parts.data.file, *trees))
    return json.dumps([job.content.get(name) for name in ("data", "fields", "safety")], default=str), files


def _as_it_is(path: Path) -> Hashable:
    """The file as it is now: one that was written anew is read anew."""
    if not path.is_file():
        return None
    facts = path.stat()
    return (str(path), facts.st_ino, facts.st_mtime_ns, facts.st_size)
