"""A folder with a safe file audited again: the written file against the records, by what the folder says was done."""

from __future__ import annotations

import csv
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from statveil.audit.file_audit import FileStatement, audit_file
from statveil.audit.report import AuditReport, Check
from statveil.core.errors import AuditFailed
from statveil.data.readers import read_microdata
from statveil.jobs.recheck import read_run
from statveil.jobs.record_job import FileJob, read_file_job
from statveil.jobs.records.folder import CERTIFICATE, JOB, MAPPING
from statveil.publish.file_release import promise


def audit_file_folder(folder: Path) -> AuditReport:
    """Every check anew: the file's hash, and a recount of the file as it lies there."""
    run = read_run(folder)
    job = read_file_job(folder / JOB, base=folder.resolve() / run["paths_from"])
    certificate = _certificate(folder)
    path = folder / "public" / certificate["file"]["name"]
    if not path.is_file():
        raise AuditFailed(f"{path.name} is not in the folder, so no check could be made.", hint="Take it from the release again.")
    found = audit_file(job.microdata, read_microdata(path), _statement(job, certificate, folder / MAPPING))
    return AuditReport(checks=(_same_bytes(path, certificate), *found.report.checks))


def _certificate(folder: Path) -> Mapping[str, Any]:
    try:
        content: Mapping[str, Any] = json.loads((folder / CERTIFICATE).read_text(encoding="utf-8"))
        if isinstance(content["file"]["name"], str) and isinstance(content["blanks"], dict):
            return content
    except (OSError, ValueError, KeyError, TypeError):
        pass
    raise AuditFailed(f"{CERTIFICATE} is missing or damaged: what was promised is not known.", hint="Take it from the release again.")


def _statement(job: FileJob, certificate: Mapping[str, Any], mapping: Path) -> FileStatement:
    try:
        with mapping.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        recoded: dict[str, dict[str, str]] = {}
        for row in rows:
            recoded.setdefault(row["field"], {})[row["old"]] = row["new"]
    except (OSError, KeyError, ValueError):
        raise AuditFailed(
            f"{mapping.name} is missing or damaged: the recoding is not known.", hint="Take it from the release again."
        ) from None
    return promise(job.keys(), recoded, certificate["blanks"], job.parts.output.drop)


def _same_bytes(path: Path, certificate: Mapping[str, Any]) -> Check:
    with path.open("rb") as file:
        same = hashlib.file_digest(file, "sha256").hexdigest() == certificate["file"].get("sha256")
    return Check(name="contents", words="The file is the one that was released", checked=1, faults=int(not same))
