"""A safe file as a folder: written in full or not at all.

public/            what may leave the office: the safe file
internal/          confidential: the report on risk and loss, the mapping value by value
certificate.json   what was done and checked; it tells the rule, so it stays in the office
job.toml, run.json the job as it was given; when, how long, with what result
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from statveil.core.errors import InputError
from statveil.core.limits import OnProgress, Progress
from statveil.jobs.folders.tables import relative
from statveil.jobs.record_job import FileJob
from statveil.jobs.records.perturbation import perturbed_records
from statveil.jobs.staging import moved, staged, write_run, write_text
from statveil.publish.audited_file import EarlierReleases
from statveil.publish.file_release import FileRelease, WritingOptions, write_release
from statveil.records.perturb.perturb import refuse_keys
from statveil.records.plan import plan_recoding
from statveil.records.write.safe_file import FOLDER, format_of
from statveil.version import VERSION

JOB, MAPPING, CERTIFICATE = "job.toml", "internal/mapping.csv", "certificate.json"


@dataclass(frozen=True, kw_only=True)
class FileFolder:
    """A release and where its files are; `files` maps what a file is to its path."""

    release: FileRelease
    folder: Path
    files: Mapping[str, Path]
    seconds: float


def anonymise_to_folder(job: FileJob, folder: Path, *, force: bool = False, on_progress: OnProgress | None = None) -> FileFolder:
    """Plan, write, audit and report; the folder appears only when all of that went well."""
    output, recoding = job.parts.output, job.parts.recoding
    name = Path(output.file).name
    if format_of(Path(name)) == FOLDER:
        raise InputError(f"{name}: a file needs an ending.", hint="Example: safe.csv.")
    with staged(folder, force=force) as place:
        started, clock = datetime.now(UTC), time.monotonic()

        def say(words: str) -> None:
            if on_progress is not None:
                on_progress(Progress(words, time.monotonic() - clock, math.inf, 0.0, math.inf))

        keys, part, records = job.keys(), job.parts.perturb, None
        if part is not None:
            refuse_keys([name for step in part.steps() for name in step.columns], keys, output.drop)
            records = perturbed_records(job.microdata, part, job.base, make=True, tell=say)
        plan = plan_recoding(
            job.microdata,
            keys,
            method=recoding.method,
            search=recoding.options(),
            recoding=recoding.fixed,
            limits=job.limits(),
            seed=recoding.seed,
            on_progress=on_progress,
        )
        (place / "public").mkdir()
        (place / "internal").mkdir(mode=0o700)
        how = WritingOptions(
            drop=output.drop,
            key=output.key,
            sensitive=output.sensitive,
            earlier=EarlierReleases([job.base / each for each in output.earlier], waiver=output.waiver),
            attacks=output.attacks,
            tell=say,
        )
        release = replace(write_release(records or job.microdata, plan, place / "public" / name, how), job=job.content)
        say("reporting")
        files = {
            "safe file": release.path,
            "report": release.to_report(place / "internal" / "report.html"),
            "mapping": release.to_mapping(place / MAPPING),
            "certificate": release.to_certificate(place / CERTIFICATE),
            "job": write_text(place / JOB, job.text),
        }
        seconds = time.monotonic() - clock
        told = {**figures(release), "paths_from": relative(job.base, folder)}
        files["run"] = write_run(place, started=started, seconds=seconds, **told)
    return FileFolder(release=release, folder=folder, files=moved(files, place, folder), seconds=seconds)


def figures(release: FileRelease) -> dict[str, Any]:
    """The result in numbers, for the one who ran the job."""
    plan = release.plan
    return {
        "wiped": list(plan.loss.wiped),
        "loss": plan.loss.figures(),
        "blanks_alone": plan.blanks_alone,
        "records": plan.coded.records,
        "recoding": plan.recoding,
        "blanks": plan.suppression.blanks,
        "cost": plan.cost,
        "bound": plan.bound,
        "ending": str(plan.ending),
        "method": plan.method,
        "planned_in": round(plan.seconds, 3),
        "perturbed": None if release.perturbed is None else release.perturbed.as_json(),
        "unsafe": dict(release.unsafe),
        "attacks": {each.name: {"value": each.value, "limit": each.limit, "passed": each.passed} for each in release.attacks},
        "audit": {
            "passed": release.audit.passed,
            "checks": [{"name": c.name, "words": c.words, "checked": c.checked, "faults": c.faults} for c in release.audit.checks],
        },
        "software": {"statveil": VERSION},
    }
