"""A release folder audited again: the numbers in its public files, which are what readers see, against the records."""

from __future__ import annotations

import csv
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from statveil.audit.file_audit import FileStatement, audit_file
from statveil.audit.kept import KeptStatistic
from statveil.audit.report import AuditReport, Check
from statveil.audit.tables import audit_table
from statveil.core.errors import AuditFailed, FormatError, InputError
from statveil.core.provenance import Provenance
from statveil.data.microdata import Microdata
from statveil.data.readers import read_microdata
from statveil.formats.rcta import Relaxation, read_repairs
from statveil.jobs.folders.records import CERTIFICATE, JOB, MAPPING
from statveil.jobs.folders.tables import (
    JOB_FILE,
    PROVENANCE_FILE,
    PUBLIC,
    REPAIRS_FILE,
    REPORT_FILE,
    file_hashes,
    public_files,
    settings_of,
)
from statveil.jobs.record_job import FileJob, read_file_job
from statveil.jobs.records.perturbation import perturbed_again
from statveil.jobs.staging import MADE_BY, RUN_FILE
from statveil.jobs.table_job import TableJob, read_job
from statveil.jobs.tables.assess import LinkedTables, assess_records, settle_levels
from statveil.jobs.tables.protect import ProtectionSettings, keyed
from statveil.jobs.tables.released import WIDENED, as_json, links_as_json, options_with, promises_of, requirements_of
from statveil.protect.build import build_problem
from statveil.protect.options import Options
from statveil.publish.file_release import audit_of, promise
from statveil.publish.read_back.public_files import audited_table, read_released
from statveil.records.perturb.perturb import PerturbedRecords
from statveil.risk.rules import Rule
from statveil.risk.sensitivity import Sensitivity
from statveil.tables.table import ProtectedTable, Table


@dataclass(frozen=True, kw_only=True)
class FileFolderParts:
    """What lies in the folder of a safe file: the job, where the file is, its certificate, and what was promised of it."""

    job: FileJob
    path: Path
    certificate: Mapping[str, Any]
    statement: FileStatement
    perturbed: PerturbedRecords | None = None

    @property
    def records(self) -> Microdata:
        """What the file was made of: the job's records, perturbed where it says so."""
        return self.job.microdata if self.perturbed is None else self.perturbed.data


def read_file_folder(folder: Path) -> FileFolderParts:
    run = read_run(folder)
    job = read_file_job(folder / JOB, base=folder.resolve() / run["paths_from"])
    certificate = _certificate(folder)
    path = folder / "public" / certificate["file"]["name"]
    if not path.is_file():
        raise AuditFailed(f"{path.name} is not in the folder, so no check could be made.", hint="Take it from the release again.")
    part, statement = job.parts.perturb, _statement(job, certificate, _mapping(folder, run))
    perturbed = None if part is None else perturbed_again(job.microdata, part, job.base, certificate)
    return FileFolderParts(job=job, path=path, certificate=certificate, statement=statement, perturbed=perturbed)


def _mapping(folder: Path, run: Mapping[str, Any]) -> Path:
    """The recoding, which is confidential: in the folder, or in the one that this was published from (`internal_from`)."""
    source = run.get("internal_from")
    return folder / MAPPING if not isinstance(source, str) or (folder / MAPPING).exists() else folder.resolve() / source / MAPPING


def audit_file_folder(folder: Path) -> AuditReport:
    """Every check anew: the file's hash, and a recount of the file as it lies there."""
    parts = read_file_folder(folder)
    found = audit_file(parts.records, read_microdata(parts.path), parts.statement)
    return AuditReport(checks=(_same_bytes(parts.path, parts.certificate), *audit_of(parts.perturbed), *found.report.checks))


def _certificate(folder: Path) -> Mapping[str, Any]:
    try:
        content: Mapping[str, Any] = json.loads((folder / CERTIFICATE).read_text(encoding="utf-8"))
        if isinstance(content["file"]["name"], str) and all(isinstance(each, dict) for each in (content["blanks"], _missing_as(content))):
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
            f"{mapping.name} is missing or damaged: the recoding is not known.",
            hint="It is confidential and stays in the office: check the folder there, beside the run that it was published from.",
        ) from None
    return promise(job.keys(), recoded, certificate["blanks"], _missing_as(certificate), job.parts.output.drop)


def _missing_as(certificate: Mapping[str, Any]) -> Any:
    return certificate["rule"].get("missing written as", {})


def _same_bytes(path: Path, certificate: Mapping[str, Any]) -> Check:
    with path.open("rb") as file:
        same = hashlib.file_digest(file, "sha256").hexdigest() == certificate["file"].get("sha256")
    return Check(name="contents", words="The file is the one that was released", checked=1, faults=int(not same))


NEED_RECORDS = "sums, protection, overshoot, bounds, zeros, signs, frozen cells, hashes"
SHOWN = 10
BELONGING = "Every public file is one that the job writes"


def audit_folder(folder: Path) -> AuditReport:
    """Every check anew, on the numbers in the public files, from the records up; and every public file against all others."""
    run = read_run(folder)
    contents = _check_contents(run.get("files"), file_hashes(folder))
    job = read_job(folder / JOB_FILE, base=folder.resolve() / run["paths_from"])
    provenance = read_provenance(folder / PROVENANCE_FILE)
    how = _keyed(job, provenance)
    try:
        rules, options = job.rules(), options_with(how.options, job.keep(), provenance.parameters.get(WIDENED))
        linked = job.linked()
        table, found = assess_records(job.microdata, linked, rules)
        sensitivity = settle_levels(table, found, rules, options)
        asked = requirements_of(options, _promises(job, table, sensitivity, options))
    except InputError as error:
        raise AuditFailed(
            f"The records cannot be tabulated and assessed again ({type(error).__name__}: {error.message})",
            hint=f"These checks could not be made: {NEED_RECORDS}. {error.hint}",
        ) from None
    protected, shown = _read_public(folder / PUBLIC, job, table)
    recorded = {part: words for part, words in provenance.parameters.items() if part != WIDENED}
    same_job = _check_job(asked_for(job, linked, rules, how), recorded)
    repairs = () if job.parts.repair is None else _read_repairs(folder / REPAIRS_FILE, table.decimals)
    audited = audit_table(table, sensitivity, asked, protected, provenance, repairs)
    return AuditReport(checks=(contents, same_job, *shown, *audited.checks))


def _keyed(job: TableJob, provenance: Provenance) -> ProtectionSettings:
    """The settings of the job with the key that the release was drawn by; without it nothing can be said of its levels."""
    how = keyed(settings_of(job), make=False)
    key, options = how.options.floors.key, provenance.parameters.get("options")
    drawn = options.get("floors") if isinstance(options, Mapping) else None
    if key is not None and (not isinstance(drawn, Mapping) or drawn.get("key") != as_json(key)):
        raise AuditFailed(
            "The release was drawn by another key, so its protection levels are not known.",
            hint=f"Give the key whose fingerprint {PROVENANCE_FILE} names: in the job, or in the environment.",
        )
    return how


def _promises(job: TableJob, table: Table, sensitivity: Sensitivity, options: Options) -> tuple[KeptStatistic, ...]:
    """The statistics that the job's release promises to keep; in a trade-off they are weighed, not kept."""
    if job.keep() is None or job.parts.tradeoff is not None:
        return ()
    return promises_of(job.keep(), table, sensitivity, build_problem(table, sensitivity, options))


def _check_contents(written: Any, present: Mapping[str, str]) -> Check:
    """Every file is the one that the run wrote; `written` and `present` are hashes by name."""
    if not isinstance(written, Mapping) or not {JOB_FILE, PROVENANCE_FILE} <= set(written):
        findings = [f"{RUN_FILE}: the hashes of the files are missing"]
    else:
        names = sorted({*written, *present})
        findings = [f"{name}: {_fate(name, written, present)}" for name in names if written.get(name) != present.get(name)]
    return _check("contents", "Every public file, the job and the provenance are as the release wrote them", len(present), findings)


def _fate(name: str, written: Mapping[str, Any], present: Mapping[str, str]) -> str:
    if name not in present:
        return "missing"
    return "changed since the release" if name in written else "not part of the release"


def asked_for(job: TableJob, linked: LinkedTables, rules: Sequence[Rule], how: ProtectionSettings) -> dict[str, Any]:
    """What the job asks, in the words of the provenance."""
    asked = {"tables": as_json(linked.tables), "rules": as_json(rules), **links_as_json(linked), **how.as_json()}
    return asked if job.parts.tradeoff is None else asked | {"tradeoff": as_json(job.parts.tradeoff.model_dump())}


def _check_job(asked: Mapping[str, Any], recorded: Mapping[str, Any]) -> Check:
    findings = [
        f"{part}: {JOB_FILE} and {PROVENANCE_FILE} differ" for part in sorted({*asked, *recorded}) if asked.get(part) != recorded.get(part)
    ]
    return _check("job", "The job is the one the release was made by", len(asked), findings)


def _check(name: str, words: str, checked: int, findings: Sequence[str]) -> Check:
    return Check(name=name, words=words, checked=checked, faults=len(findings), findings=tuple(findings[:SHOWN]))


def _read_public(folder: Path, job: TableJob, table: Table) -> tuple[ProtectedTable, tuple[Check, ...]]:
    """The table that the public files show, every one of them compared with it."""
    written = public_files(folder, job, table.views)
    own = {*(path for paths in written.values() for path in paths), folder / REPORT_FILE}
    strangers = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir() and path not in own)
    belonging = _check("files", BELONGING, len(own), [f"{PUBLIC}/{name}: not a file that the job writes" for name in strangers])
    try:
        protected, checks = read_released(table, written, folder / REPORT_FILE)
    except InputError as error:
        raise AuditFailed(f"The public files cannot be read: {error.message}", hint=error.hint) from None
    return protected, (belonging, *checks)


def _read_repairs(path: Path, decimals: int) -> tuple[Relaxation, ...]:
    try:
        return read_repairs(path, decimals=decimals)
    except FormatError:
        raise AuditFailed(
            f"{path.name} is missing or damaged: what gave in the repair cannot be checked.", hint="Take it from the release again."
        ) from None


def read_run(folder: Path) -> Mapping[str, Any]:
    if not folder.is_dir():
        raise InputError(f"There is no folder {folder}.")
    try:
        run = json.loads((folder / RUN_FILE).read_text(encoding="utf-8"))
        if run["made_by"] == MADE_BY and isinstance(run["paths_from"], str):
            return dict(run)
    except FileNotFoundError:
        raise InputError(
            f"{folder} is no release folder: it has no {RUN_FILE}.", hint="Name a folder that `statveil protect` wrote."
        ) from None
    except (ValueError, KeyError, TypeError):
        pass
    raise FormatError(f"{folder / RUN_FILE} is not a run file of statveil.", hint="Take it from the release again.")


def read_provenance(path: Path) -> Provenance:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        return Provenance(
            parameters=dict(content["parameters"]),
            input_hash=content["input"],
            release_hash=content["release"],
            software=content["software"],
        )
    except (OSError, ValueError, KeyError, TypeError):
        raise AuditFailed(
            f"{path.name} is missing or damaged: the hashes cannot be checked.", hint="Take it from the release again."
        ) from None


def read_protected(table: Table, job: TableJob, folder: Path) -> ProtectedTable:
    """The table that a release folder's public files show."""
    public = folder / PUBLIC
    protected, _ = audited_table(table, public_files(public, job, table.views), public / REPORT_FILE)
    return protected
