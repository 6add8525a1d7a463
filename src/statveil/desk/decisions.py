"""What the officer decides on single cells, each with a reason: a list that the job names as a rule of type `manual`.

Every list is a file of its own, named by its hash, and never changes: undo brings back the job that names the earlier one. Reasons and
names lie beside it in JSON, as a list of cells has no column for them.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from statveil.core.atomic import written_together
from statveil.core.errors import InputError
from statveil.desk.edits import tables_of
from statveil.desk.project import Project

STATUSES = {
    "frozen": "released as it is",
    "safe": "safe, whatever the rules say",
    "waived": "waived: safe, and released as it is",
    "sensitive": "sensitive, whatever the rules say",
}
WAIVED = ("safe", "frozen")
"""What a waiver is in the list of cells: two lines."""
FOLDER = "decisions"


class Decision(NamedTuple):
    cell: Mapping[str, str]
    view: str
    status: str
    person: str
    reason: str


def decisions_of(project: Project, content: Mapping[str, Any]) -> list[Decision]:
    """Those that the job names."""
    rule = next((rule for rule in content.get("rule", []) if _ours(rule)), None)
    if rule is None:
        return []
    path = project.plain_file(FOLDER, rule["file"].removeprefix(f"{FOLDER}/")).with_suffix(".json")
    if not path.is_file():
        return []
    return [Decision(**entry) for entry in json.loads(path.read_text(encoding="utf-8"))]


def with_decision(project: Project, content: dict[str, Any], decided: Decision) -> dict[str, Any]:
    """The job with this word on a cell, which replaces an earlier one; status "" takes it back."""
    if decided.status not in ("", *STATUSES):
        raise InputError(f"Unknown decision. Known: {', '.join(STATUSES)}.")
    if not decided.reason.strip():
        raise InputError("A decision needs a reason.")
    others = [each for each in decisions_of(project, content) if (each.cell, each.view) != (decided.cell, decided.view)]
    return _with_list(project, content, [*others, decided] if decided.status else others)


def without_decision(project: Project, content: dict[str, Any], at: int) -> dict[str, Any]:
    """The job without the decision at this place: also where its cell is no longer in the table."""
    listed = decisions_of(project, content)
    if not 0 <= at < len(listed):
        raise InputError("There is no such decision.")
    return _with_list(project, content, [*listed[:at], *listed[at + 1 :]])


def as_tables_are_called(project: Project, content: dict[str, Any], now: Mapping[str, str]) -> dict[str, Any]:
    """The job with its decisions on the tables as they are called now, by their names before; those on a table that is gone go with it."""
    listed = decisions_of(project, content)
    kept = [each._replace(view=now[each.view]) for each in listed if each.view in now]
    return _with_list(project, content, kept) if listed else content


def _with_list(project: Project, content: dict[str, Any], listed: Sequence[Decision]) -> dict[str, Any]:
    """Views are named in the list where there are several."""
    rules = [rule for rule in content.get("rule", []) if not _ours(rule)]
    if listed:
        rules.append({"type": "manual", "file": _write(project, listed, several=len(tables_of(content)) > 1)})
    return {**content, "rule": rules}


def _ours(rule: Mapping[str, Any]) -> bool:
    return rule.get("type") == "manual" and str(rule.get("file", "")).startswith(f"{FOLDER}/")


def _write(project: Project, listed: Sequence[Decision], *, several: bool) -> str:
    reasons, cells = json.dumps([each._asdict() for each in listed], indent=1, ensure_ascii=False), _as_csv(listed, several=several)
    stem = hashlib.sha256(f"{reasons}{cells}".encode()).hexdigest()[:16]
    targets = [project.folder / FOLDER / f"{stem}{ending}" for ending in (".csv", ".json")]
    with written_together(targets) as (cells_place, reasons_place):
        cells_place.write_text(cells, encoding="utf-8", newline="")
        reasons_place.write_text(reasons, encoding="utf-8")
    return f"{FOLDER}/{stem}.csv"


def _as_csv(listed: Sequence[Decision], *, several: bool) -> str:
    dimensions = list(dict.fromkeys(name for each in listed for name in each.cell))
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow([*dimensions, "status", *(["view"] if several else [])])
    for each in listed:
        cell, view = [each.cell.get(name, "") for name in dimensions], [each.view] if several else []
        lines.writerows([*cell, status, *view] for status in (WAIVED if each.status == "waived" else (each.status,)))
    return text.getvalue()
