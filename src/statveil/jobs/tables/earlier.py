"""Releases that were made before: the folders beside the one that is written are the register.

Two releases of one table under two keys are as good as none: where one has a cell above the truth and the other below it, or both at the
same side by different factors, what they have in common is the truth. So the second is refused, while the first lies where it can be seen.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from statveil.core.errors import DisclosureRefused
from statveil.core.provenance import sha256
from statveil.jobs.staging import MADE_BY, RUN_FILE
from statveil.jobs.table_job import TableJob
from statveil.jobs.tables.released import as_json
from statveil.risk.levels import with_key
from statveil.tables.table import Table

MOST_FOLDERS = 10_000
"""Folders that are looked at; a place with more of them is not where releases are kept."""
OF_TRADEOFF = "release"
"""The folder of a trade-off that its release lies in."""


def table_print(table: Table, job: TableJob) -> str:
    """Names a table by its records and by what is tabulated of them, whatever it is called, rounded to or protected by."""
    specs = [replace(spec, name="table", decimals=None) for spec in job.linked().specs]
    return sha256(table.input_hash.encode(), json.dumps(as_json(specs), sort_keys=True).encode())


def refuse_other_key(folder: Path, job: TableJob, table: Table) -> None:
    """Refuse a table of which a release by another key lies in the folder or in one beside it."""
    key = with_key(job.options().floors, make=True).key
    mine = table_print(table, job)
    for name, run in _releases(folder):
        drawn = run.get("floors")
        earlier = drawn.get("key") if isinstance(drawn, Mapping) else None
        if run.get("table") == mine and earlier != (None if key is None else key.fingerprint):
            raise DisclosureRefused(
                f"The same table was released before by another key, in {name}: both together would tell what each of them hides.",
                hint="Use the key of the first release, which its provenance.json names; or, if nothing of it was published, remove it.",
            )


def _releases(folder: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """What lies in the folder itself and in those beside it, by name; a trade-off has its release in a folder of its own."""
    parent = folder.resolve().parent
    beside = sorted([*parent.glob(f"*/{RUN_FILE}"), *parent.glob(f"*/{OF_TRADEOFF}/{RUN_FILE}")])[:MOST_FOLDERS]
    for path in beside:
        try:
            run = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue
        if isinstance(run, Mapping) and run.get("made_by") == MADE_BY:
            yield path.parent.relative_to(parent).as_posix(), run
