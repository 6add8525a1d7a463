"""Four eyes: whoever approves a result did not ask for it; what is published is byte for byte what was approved."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from statveil.core.atomic import written_together
from statveil.core.errors import DisclosureRefused, InputError
from statveil.desk.project import Conflict, Project
from statveil.desk.runs import result_folder, run_of
from statveil.jobs.staging import RUN_FILE, staged
from statveil.jobs.tables.folder import file_hashes


def approve(project: Project, id_: str, person: str, reason: str) -> None:
    """Note who approves, why, and the hash of every file."""
    run = run_of(project, id_)
    if run.status != "done":
        raise Conflict("Only a finished run can be approved.")
    if not person or not reason:
        raise InputError("Say who approves, and why.")
    if person.casefold() == str(run.asked.get("author", "")).casefold():
        raise DisclosureRefused("Who ran it cannot approve it.", hint="A second person looks at the report and approves.")
    hashes = _sound(result_folder(project, id_), run.figures["files"])
    with written_together([_path(project, id_)]) as (place,):
        place.write_text(json.dumps({"person": person, "reason": reason, "files": hashes}, indent=2), encoding="utf-8")
    project.log.write("approve", person=person, run=id_, reason=reason, sure=True)


def approval(project: Project, id_: str) -> dict[str, Any]:
    """What was approved; empty where nothing was."""
    run_of(project, id_)
    path = _path(project, id_)
    return dict(json.loads(path.read_text(encoding="utf-8"))) if path.is_file() else {}


def publish(project: Project, id_: str) -> Path:
    """Copy the approved public files to `release/`, which appears in full or not at all."""
    approved = approval(project, id_)
    if not approved:
        raise DisclosureRefused("This result is not approved.", hint="A second person approves it first.")
    source, target = result_folder(project, id_), project.folder / "release"
    _sound(source, approved["files"])
    with staged(target, force=True) as place:
        for name in (*approved["files"], RUN_FILE):
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source / name, place / name)
        _sound(place, approved["files"])
    project.log.write("publish", person=project.person, run=id_, sure=True)
    return target


def _sound(folder: Path, expected: dict[str, str]) -> dict[str, str]:
    found = file_hashes(folder)
    if found != expected:
        raise DisclosureRefused("A file of this result was changed since it was made.", hint="Run the job again.")
    return found


def _path(project: Project, id_: str) -> Path:
    return project.folder / "approvals" / f"{id_}.json"
