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
from statveil.desk.project import Project

STATUSES = {"frozen": "released as it is", "safe": "safe, whatever the rules say", "sensitive": "sensitive, whatever the rules say"}
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


def with_decision(project: Project, content: dict[str, Any], decided: Decision, *, several: bool) -> dict[str, Any]:
    """The job with this word on a cell, which replaces an earlier one; status "" takes it back. `several`: views are named in the list."""
    if decided.status not in ("", *STATUSES):
        raise InputError(f"Unknown decision. Known: {', '.join(STATUSES)}.")
    if not decided.reason.strip():
        raise InputError("A decision needs a reason.")
    others = [each for each in decisions_of(project, content) if (each.cell, each.view) != (decided.cell, decided.view)]
    listed = [*others, decided] if decided.status else others
    rules = [rule for rule in content.get("rule", []) if not _ours(rule)]
    if listed:
        rules.append({"type": "manual", "file": _write(project, listed, several=several)})
    return {**content, "rule": rules}


def _ours(rule: Mapping[str, Any]) -> bool:
    return rule.get("type") == "manual" and str(rule.get("file", "")).startswith(f"{FOLDER}/")


def _write(project: Project, listed: Sequence[Decision], *, several: bool) -> str:
    reasons = json.dumps([each._asdict() for each in listed], indent=1, ensure_ascii=False)
    stem = hashlib.sha256(reasons.encode()).hexdigest()[:16]
    targets = [project.folder / FOLDER / f"{stem}{ending}" for ending in (".csv", ".json")]
    with written_together(targets) as (cells_place, reasons_place):
        cells_place.write_text(_as_csv(listed, several=several), encoding="utf-8", newline="")
        reasons_place.write_text(reasons, encoding="utf-8")
    return f"{FOLDER}/{stem}.csv"


def _as_csv(listed: Sequence[Decision], *, several: bool) -> str:
    dimensions = list(dict.fromkeys(name for each in listed for name in each.cell))
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow([*dimensions, "status", *(["view"] if several else [])])
    lines.writerows([*(each.cell.get(name, "") for name in dimensions), each.status, *([each.view] if several else [])] for each in listed)
    return text.getvalue()
