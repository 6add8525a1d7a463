"""The folder of a safe file attacked anew: from the public file, the job, the mapping and the records."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from statveil.audit.attacks.file_suite import FILE_THREATS, FileCase, attack_released_file
from statveil.audit.attacks.verdict import SuiteReport
from statveil.audit.file_audit import compare_releases
from statveil.core.errors import InputError
from statveil.data.readers import read_microdata
from statveil.jobs.recheck import FileFolderParts, read_file_folder


def attack_file_folder(folder: Path, *, only: Sequence[str] = ()) -> SuiteReport:
    """M01 to M08 (or those named) on the file as it lies there."""
    unknown = [name for name in only if name not in FILE_THREATS]
    if unknown:
        raise InputError(f"There is no attack {unknown[0]!r} on a safe file.", hint=f"Known: {', '.join(FILE_THREATS)}.")
    parts = read_file_folder(folder)
    verdicts = [each for each in attack_released_file(_case(parts)) if not only or each.threat.id in only]
    return SuiteReport(target=folder.name or str(folder), verdicts=tuple(verdicts), facts={"fields": len(parts.statement.fields)})


def _case(parts: FileFolderParts) -> FileCase:
    job, released = parts.job, read_microdata(parts.path)
    keys, output = job.keys(), job.parts.output
    return FileCase(
        original=parts.records,
        released=released,
        statement=parts.statement,
        edits=[(rule.when, rule.then) for rule in keys.edits],
        decoys=keys.candidates > 0,
        earlier=[compare_releases(released, read_microdata(job.base / each), keys.names) for each in output.earlier],
        waiver=output.waiver,
    )
