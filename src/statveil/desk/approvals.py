"""Four eyes: whoever approves a result had no part in making it; what is published is byte for byte what was approved."""

from __future__ import annotations

import io
import json
import shutil
import zipfile
from pathlib import Path
from typing import Any

from statveil.core.atomic import written_together
from statveil.core.errors import DisclosureRefused, InputError
from statveil.desk.people import Person
from statveil.desk.project import Conflict, Project
from statveil.desk.runs import all_hashes, result_folder, run_of, sound
from statveil.desk.work.kinds import PREPARE, PROTECT
from statveil.jobs.folders.tables import PUBLIC, relative
from statveil.jobs.staging import RUN_FILE, staged

RELEASE, PUBLISHED = "release", "published.json"
CONFIDENTIAL = "internal"


def approve(project: Project, id_: str, person: Person, reason: str) -> None:
    """Note who approves, why, and the hash of every file."""
    run = run_of(project, id_)
    if run.status != "done" or run.kind not in (PROTECT, PREPARE):
        raise Conflict("Only a finished run that protects can be approved.")
    if not reason.strip():
        raise InputError("Say why: what was looked at.")
    if person.name.casefold() in {str(author).casefold() for author in run.asked.get("authors", [])}:
        raise DisclosureRefused("Who had a part in a result cannot approve it.", hint="A second person looks at the report and approves.")
    hashes = sound(project, id_)
    with written_together([_path(project, id_)]) as (place,):
        place.write_text(json.dumps({"person": person.name, "reason": reason, "files": hashes}, indent=2), encoding="utf-8")
    project.log.write("approve", person=person.name, run=id_, reason=reason, sure=True)


def approval(project: Project, id_: str) -> dict[str, Any]:
    """What was approved; empty where nothing was."""
    run_of(project, id_)
    path = _path(project, id_)
    return dict(json.loads(path.read_text(encoding="utf-8"))) if path.is_file() else {}


def refuse_unapproved_server(project: Project, id_: str) -> None:
    """A server is opened as it was prepared and approved: a job that was changed since is another one."""
    run, approved = run_of(project, id_), approval(project, id_)
    if run.kind != PREPARE or not approved:
        raise DisclosureRefused("This server is not approved.", hint="Prepare it; then a second person approves the run.")
    prepared = project.state_file(int(run.asked["state"])).read_text(encoding="utf-8")
    if sound(project, id_) != approved["files"] or prepared != project.text:
        raise DisclosureRefused("The job was changed since this server was approved.", hint="Prepare it again, or undo the change.")


def publish(project: Project, id_: str, person: Person) -> Path:
    """Copy the approved files, less the confidential ones, to `release/`, which appears in full or not at all."""
    approved = approval(project, id_)
    if not approved:
        raise DisclosureRefused("This result is not approved.", hint="A second person approves it first.")
    if sound(project, id_) != approved["files"]:
        raise DisclosureRefused("This result is not the one that was approved.", hint="Run the job again.")
    source, target = result_folder(project, id_), project.folder / RELEASE
    with staged(target, force=True) as place:
        for name in approved["files"]:
            if not name.startswith(f"{CONFIDENTIAL}/"):
                (place / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(source / name, place / name)
        if any(approved["files"][name] != found for name, found in all_hashes(place).items()):
            raise DisclosureRefused("A file changed while it was copied.", hint="Publish again.")
        _write_run(source, place, project)
    with written_together([project.folder / "approvals" / PUBLISHED]) as (place,):
        place.write_text(json.dumps({"run": id_, "person": person.name}), encoding="utf-8")
    project.log.write("publish", person=person.name, run=id_, sure=True)
    return target


def published(project: Project) -> str:
    """The run that lies in `release/`; empty where none does."""
    path = project.folder / "approvals" / PUBLISHED
    return str(json.loads(path.read_text(encoding="utf-8"))["run"]) if path.is_file() else ""


def public_file(project: Project, id_: str, name: str) -> bytes:
    """A public file of the published run, if it is still what was approved."""
    expected = approval(project, id_).get("files", {}).get(f"{PUBLIC}/{name}")
    if published(project) != id_ or expected is None:
        raise InputError("There is no such file in the release.")
    folder = project.folder / RELEASE
    if all_hashes(folder).get(f"{PUBLIC}/{name}") != expected:
        raise DisclosureRefused("The file in the folder release was changed since it was published.", hint="Publish again.")
    return (folder / PUBLIC / name).read_bytes()


def public_zip(project: Project, id_: str) -> bytes:
    """All public files; the same files give the same bytes."""
    names = [name.removeprefix(f"{PUBLIC}/") for name in approval(project, id_).get("files", {}) if name.startswith(f"{PUBLIC}/")]
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(names):
            archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), public_file(project, id_, name), zipfile.ZIP_DEFLATED)
    return content.getvalue()


def _write_run(source: Path, place: Path, project: Project) -> None:
    """The run's own figures, with its entries and paths as they are in this folder: `statveil check release` finds the records.

    What is confidential stays where the run wrote it; `internal_from` says where that is.
    """
    run = json.loads((source / RUN_FILE).read_text(encoding="utf-8"))
    run["entries"] = sorted({path.name for path in place.iterdir()} | {RUN_FILE})
    run["paths_from"] = relative(project.folder, project.folder / RELEASE)
    run["internal_from"] = relative(source, project.folder / RELEASE)
    (place / RUN_FILE).write_text(json.dumps(run, indent=2, ensure_ascii=False) + "\n", encoding="utf-8", newline="\n")


def _path(project: Project, id_: str) -> Path:
    return project.folder / "approvals" / f"{id_}.json"
