"""What the screens show of the records and the table: read once for each state of what it depends on, and kept in memory only."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, NamedTuple

from statveil.core.errors import InputError
from statveil.data.microdata import ColumnProfile, profile
from statveil.desk.project import Project
from statveil.jobs.table_job import TableJob, read_job
from statveil.jobs.tables.assess import assess_records
from statveil.risk.assess import assess
from statveil.risk.rules import contributions_needed
from statveil.risk.sensitivity import Sensitivity
from statveil.tables.table import Table

KEPT = 4
"""Things kept at a time. By judgement."""


class Assessed(NamedTuple):
    job: TableJob
    table: Table
    found: Sensitivity

    def counts(self) -> dict[str, int]:
        """Sensitive cells by rule, and in all."""
        told = {words: int(cells.sum()) for words, cells in self.found.reasons.items()}
        return {**told, "sensitive in all": int(self.found.sensitive.sum()), "cells": self.table.size}


class Looks:
    """The desk's memory: nothing in it is needed, all of it can be made again."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._kept: OrderedDict[Hashable, Any] = OrderedDict()
        self._alone = threading.Lock()

    def profile(self) -> list[ColumnProfile]:
        job = self._job()
        found: list[ColumnProfile] = self._made(("profile", *self._records(job)), lambda: profile(job.microdata))
        return found

    def assessed(self) -> Assessed:
        """The table and what the rules find in it; another rule looks at the same table as long as it asks for no more of it."""
        job = self._job()
        rules, wanted = job.rules(), contributions_needed(job.rules())
        parts = [repr(job.content.get(name)) for name in ("table", "equation", "cell_set")]
        key = ("table", *self._records(job), *parts, job.parts.protection.search_sets and job.text)
        table = self._made((*key, max(wanted, KEPT)), lambda: assess_records(job.microdata, job.linked(), rules)[0])
        return Assessed(job, table, assess(table, rules))

    def _job(self) -> TableJob:
        if not self._project.content:
            raise InputError("No file of records is open.", hint="Open one, or drop it here.")
        return read_job(self._project.job_path)

    def _records(self, job: TableJob) -> tuple[Hashable, ...]:
        """The file as it is now: one that was written anew is read anew."""
        path = job.path(job.parts.data.file)
        facts = path.stat() if path.is_file() else None
        return (repr(job.content["data"]), facts and (facts.st_mtime_ns, facts.st_size))

    def _made(self, key: Hashable, make: Callable[[], Any]) -> Any:
        with self._alone:
            if key not in self._kept:
                self._kept[key] = make()
                while len(self._kept) > KEPT:
                    self._kept.popitem(last=False)
            self._kept.move_to_end(key)
            return self._kept[key]
