"""A release as a folder: written in full or not at all.

public/           what may leave the office: the table in each format, the external report
internal/         confidential, only on request: the table with originals, statuses and reasons, the internal report
repairs.json      only where the job allows a repair: all that gave, which may be nothing; confidential
provenance.json   software, parameters, seed and hashes; it holds the rules, so it stays in the office
job.toml          the job as it was given
run.json          when, how long, with what result, where the job's paths start from, and the hash of each file to be audited
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from statveil.audit.attacks.verdict import SuiteReport
from statveil.audit.report import AuditReport
from statveil.core.errors import BackendMissing, InputError
from statveil.core.limits import OnProgress, clocked, stages
from statveil.formats.rcta import write_repairs
from statveil.jobs.adjust import bound_figures, finite, quality_figures
from statveil.jobs.compare.beside import compared_with, seconds_for_methods
from statveil.jobs.schema import FileFormat, TradeoffPart
from statveil.jobs.staging import moved, staged, write_run, write_text
from statveil.jobs.table_job import TableJob
from statveil.jobs.tables.earlier import refuse_other_key, table_print
from statveil.jobs.tables.own_attacks import NARROW, ReleaseOrigin, attack_release, is_narrow, refuse_if_broken, seconds_for_attacks
from statveil.jobs.tables.protect import ProtectionSettings, protect_records, settled
from statveil.jobs.tables.released import as_json, keep_as_json
from statveil.jobs.tradeoff.tradeoff import TableTradeoff, tradeoff_table
from statveil.publish.audited import Edition
from statveil.publish.formats.files import ending, file_word, paths_of
from statveil.publish.release import Release
from statveil.publish.report.internal.methods import MethodsSection
from statveil.tables.headlines import moved_in_words
from statveil.tables.table import Table, View
from statveil.version import VERSION

JOB_FILE = "job.toml"
PROVENANCE_FILE = "provenance.json"
REPAIRS_FILE = "repairs.json"
PUBLIC = "public"
REPORT_FILE = "report.html"


class ReleaseFindings(NamedTuple):
    """What was found out about a release before it was written. Confidential."""

    attacks: SuiteReport
    methods: MethodsSection | None = None
    """What other methods do to the same table, where the job asks for it."""


@dataclass(frozen=True, kw_only=True)
class FolderRelease:
    """A release and where its files are; `files` maps what a file is to its path."""

    release: Release
    folder: Path
    files: Mapping[str, Path]
    seconds: float
    attacks: SuiteReport
    """What attacks on the release found before it was written. Confidential."""


def protect_to_folder(
    job: TableJob, folder: Path, *, internal: bool = False, force: bool = False, on_progress: OnProgress | None = None
) -> FolderRelease:
    """Protect the job's table, audit it, and write everything into the folder."""
    with staged(folder, force=force) as place:
        refuse = partial(refuse_other_key, folder, job)
        away = relative(job.base, folder)
        written = run_in(place, job, internal=internal, paths_from=away, on_progress=on_progress, on_table=refuse)
    return replace(written, folder=folder, files=moved(written.files, place, folder))


def run_in(
    place: Path,
    job: TableJob,
    *,
    internal: bool,
    paths_from: str,
    on_progress: OnProgress | None,
    on_table: Callable[[Table], object] | None = None,
) -> FolderRelease:
    """Protect the job's table, attack it, and write its files into `place`, which lies on the way to its folder."""
    _check_output(job, internal=internal)
    started, clock = datetime.now(UTC), time.monotonic()
    told = clocked(on_progress, job.limits())
    release = protect(job, on_progress=told, on_table=on_table)
    attacks = attack_own(job, release, on_progress=told)
    found = ReleaseFindings(attacks, compared_with(job, release, on_progress=told) if job.parts.output.compare else None)
    files = write_release(place, job, release, found, internal=internal, paths_from=paths_from, started=started, clock=clock)
    if told is not None:
        told.enter("written", last=True)
    return FolderRelease(release=release, folder=place, files=files, seconds=time.monotonic() - clock, attacks=attacks)


def attack_own(job: TableJob, release: Release, *, on_progress: OnProgress | None = None) -> SuiteReport:
    """Attack what the job made; refused where an attack breaks it and the job does not say that this is only to be told."""
    origin = ReleaseOrigin(data=job.microdata, linked=job.linked(), rules=job.rules(), options=job.options())
    report = attack_release(release, origin, seconds=seconds_for_attacks(job.limits()), tell=stages(on_progress, job.limits()))
    if job.parts.protection.attacks == "refuse":
        refuse_if_broken(report, release)
    return report


def write_release(
    place: Path,
    job: TableJob,
    release: Release,
    found: ReleaseFindings,
    *,
    internal: bool,
    paths_from: str,
    started: datetime,
    clock: float,
) -> dict[str, Path]:
    """Write all files of a release of the job, which was begun at `started` (`clock` on the monotonic clock)."""
    files = _write_public(release, job, place / PUBLIC)
    if internal or job.parts.output.internal:
        files |= _write_internal(release, job, place / "internal", found)
    if job.parts.repair is not None:
        files["repairs"] = _write_repairs(release, job.parts.repair.order, place / REPAIRS_FILE)
    files["provenance"] = write_text(place / PROVENANCE_FILE, release.provenance.to_json())
    files["job"] = write_text(place / JOB_FILE, job.text)
    told = {
        "paths_from": paths_from,
        "table": table_print(release.table, job),
        **figures(release, found.attacks),
        "software": {"statveil": VERSION},
        "files": file_hashes(place),
    }
    files["run"] = write_run(place, started=started, seconds=time.monotonic() - clock, **told)
    return files


def protect(job: TableJob, *, on_progress: OnProgress | None = None, on_table: Callable[[Table], object] | None = None) -> Release:
    """The one call: the job's data through tabulation, rules, adjustment and audit; with [tradeoff], a point of the front."""
    if job.parts.tradeoff is not None:
        return released_point(job, front_of(job, on_progress=on_progress, on_table=on_table))
    how = settings_of(job, on_progress=on_progress)
    return protect_records(job.microdata, job.linked(), job.rules(), how, job=job.content, on_table=on_table)


def settings_of(job: TableJob, *, on_progress: OnProgress | None = None) -> ProtectionSettings:
    """How the job wants its table protected."""
    how = settled(job.options(), job.keep(), job.method(), job.limits(), on_progress)
    return replace(how, reserved=seconds_for_attacks(how.limits) + seconds_for_methods(job))


def front_of(job: TableJob, *, on_progress: OnProgress | None = None, on_table: Callable[[Table], object] | None = None) -> TableTradeoff:
    """The front of the job's table, which `on_table` sees before the search, and may refuse."""
    if job.parts.repair is not None:
        raise InputError("repair: a trade-off keeps all that was asked; nothing gives.", hint="Leave out [repair] or [tradeoff].")
    return tradeoff_table(
        job.microdata,
        job.linked(),
        rules=job.rules(),
        keep=job.keep(),
        points=tradeoff_part(job).points,
        options=job.options(),
        method=job.parts.protection.method,
        limits=job.limits(),
        seed=job.parts.protection.seed,
        on_progress=on_progress,
        on_table=on_table,
    )


def released_point(job: TableJob, found: TableTradeoff) -> Release:
    """The point of the front that the job asks for."""
    asked = tradeoff_part(job)
    point = None if asked.point == "recommended" else asked.point
    return found.release(point, job=job.content, asked=keep_as_json(job.keep()) | {"tradeoff": as_json(asked.model_dump())})


def tradeoff_part(job: TableJob) -> TradeoffPart:
    return job.parts.tradeoff or TradeoffPart()


def figures(release: Release, attacks: SuiteReport | None = None) -> dict[str, Any]:
    """The result in numbers for the one who ran the job (they hint at the sensitive cells: not for publication); infinite ones are None."""
    adjustment = release.adjustment
    return {
        "cells": int(release.protected.value.size),
        "sensitive": int(release.sensitivity.sensitive.sum()),
        "objective": finite(adjustment.objective),
        **bound_figures(adjustment),
        "method": adjustment.method,
        "repairs": len(release.relaxations),
        "protection_weakened": release.protection_weakened,
        "audit": audit_figures(release.audit),
        **quality_figures(adjustment),
        "floors": floor_figures(release),
        "moved_totals": moved_in_words(release.table, release.protected),
        **({} if attacks is None else {"attacks": attacks.as_json()}),
        **({"narrow": NARROW} if is_narrow(release.requirements) else {}),
        **({"safe_by_spread": [each.words for each in release.sensitivity.spread]} if release.sensitivity.spread else {}),
    }


def floor_figures(release: Release) -> dict[str, Any]:
    """How levels were raised, and what drawing them cost at the senses found, as a share, where it is known."""
    floors = release.provenance.parameters["options"]["floors"]
    return {**{name: floors[name] for name in ("scheme", "cap", "key")}, "cost": release.adjustment.drawing_cost}


def audit_figures(report: AuditReport) -> dict[str, Any]:
    checks = [{"name": check.name, "words": check.words, "checked": check.checked, "faults": check.faults} for check in report.checks]
    return {"passed": report.passed, "checks": checks}


def _check_output(job: TableJob, *, internal: bool) -> None:
    """Say now, not after the optimisation, that something cannot be written."""
    if job.parts.output.compare and not (internal or job.parts.output.internal):
        raise InputError(
            "output.compare: methods side by side are confidential, and stand in the internal report, which the job does not ask for.",
            hint="Set internal = true beside it, or give --internal.",
        )
    for wanted, package, extra in (("excel", "xlsxwriter", "excel"), ("sdmx-ml", "pysdmx", "sdmx")):
        if wanted in job.parts.output.formats and find_spec(package) is None:
            raise BackendMissing(f"output.formats: {wanted} needs the package {package}.", hint=f"pip install 'statveil[{extra}]'")


def relative(base: Path, folder: Path) -> str:
    """The way from the release folder to the folder where the job's paths start."""
    try:
        return Path(os.path.relpath(base.resolve(), folder.resolve())).as_posix()
    except ValueError:  # another drive
        return base.resolve().as_posix()


def _write_public(release: Release, job: TableJob, folder: Path) -> dict[str, Path]:
    folder.mkdir()
    files = _write_tables(release, job, folder, "external", job.parts.output.formats)
    files["report"] = release.to_report(folder / REPORT_FILE)
    return files


def _write_internal(release: Release, job: TableJob, folder: Path, found: ReleaseFindings) -> dict[str, Path]:
    folder.mkdir(mode=0o700)
    files = _write_tables(release, job, folder, "internal", ["csv"])
    page = folder / "report-internal.html"
    files["internal report"] = release.to_report(page, edition="internal", attacks=found.attacks, methods=found.methods)
    return files


def _write_tables(release: Release, job: TableJob, folder: Path, edition: Edition, formats: Sequence[FileFormat]) -> dict[str, Path]:
    files: dict[str, Path] = {}
    name = file_word(job.name)
    for wanted in dict.fromkeys(formats):
        settings = {"version": job.parts.output.sdmx_csv} if wanted == "sdmx-csv" else {}
        for path in _write_table(release, folder / name, edition, wanted, settings):
            stem = path.name.removesuffix(ending(path))
            view = "" if stem in (name, f"{name}-internal") else f" {stem}"
            files[f"{'internal ' if edition == 'internal' else ''}{wanted}{view}"] = path
    return files


def _write_table(release: Release, stem: Path, edition: Edition, wanted: FileFormat, settings: Mapping[str, Any]) -> list[Path]:
    """One format; the name ends so that two formats never share a file."""
    if wanted in _OF_BOTH_EDITIONS:
        mark = "-internal" if edition == "internal" and wanted == "csv" else ""
        write, ending_ = _OF_BOTH_EDITIONS[wanted]
        return write(release, stem.with_name(f"{stem.name}{mark}{ending_}"), edition=edition)
    write_public, ending_ = _PUBLIC_ONLY[wanted]
    return write_public(release, stem.with_name(f"{stem.name}{ending_}"), **settings)


_OF_BOTH_EDITIONS: Mapping[str, tuple[Callable[..., list[Path]], str]] = {
    "csv": (Release.to_csv, ".csv"),
    "parquet": (Release.to_parquet, ".parquet"),
    "excel": (Release.to_excel, ".xlsx"),
}
_PUBLIC_ONLY: Mapping[str, tuple[Callable[..., list[Path]], str]] = {
    "json-stat": (Release.to_json_stat, ".json"),
    "sdmx-csv": (Release.to_sdmx_csv, ".sdmx.csv"),
    "sdmx-ml": (Release.to_sdmx_ml, ".xml"),
    "pc-axis": (Release.to_pc_axis, ".px"),
}


def public_files(folder: Path, job: TableJob, views: Sequence[View]) -> dict[str, list[Path]]:
    """The files of each format that the job writes into its public folder, one for each view; the report is beside them."""
    endings = {name: ending_ for name, (_, ending_) in {**_OF_BOTH_EDITIONS, **_PUBLIC_ONLY}.items()}
    stem = file_word(job.name)
    return {wanted: paths_of(folder / f"{stem}{endings[wanted]}", views) for wanted in dict.fromkeys(job.parts.output.formats)}


def _write_repairs(release: Release, order: Sequence[str], path: Path) -> Path:
    write_repairs(release.relaxations, order, path, decimals=release.protected.decimals, words=release.repairs_in_words())
    return path


def file_hashes(folder: Path) -> dict[str, str]:
    """SHA-256 of all that is public, of the job, the provenance and the repairs, by path within the folder."""
    public = [path for path in (folder / PUBLIC).rglob("*") if not path.is_dir()]
    files = [path for path in (folder / JOB_FILE, folder / PROVENANCE_FILE, folder / REPAIRS_FILE) if path.is_file()]
    return {path.relative_to(folder).as_posix(): _hash(path) for path in sorted(files + public)}


def _hash(path: Path) -> str:
    if not path.is_file():  # a link that leads nowhere, a pipe
        return ""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
