"""A release folder audited again: the numbers in its public files, which are what readers see, against the records."""

from __future__ import annotations

import csv
import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from statveil.audit.file_audit import FileStatement, audit_file
from statveil.audit.report import AuditReport, Check
from statveil.audit.tables import audit_table, labels
from statveil.core.arrays import BoolArray, IntArray
from statveil.core.errors import AuditFailed, FormatError, InputError
from statveil.core.provenance import Provenance
from statveil.data.readers import read_microdata
from statveil.formats.rcta import Relaxation, read_repairs
from statveil.jobs.record_job import FileJob, read_file_job
from statveil.jobs.records.folder import CERTIFICATE, JOB, MAPPING
from statveil.jobs.staging import MADE_BY, RUN_FILE
from statveil.jobs.table_job import TableJob, read_job
from statveil.jobs.tables.assess import LinkedTables, assess_records
from statveil.jobs.tables.folder import JOB_FILE, PROVENANCE_FILE, PUBLIC, REPAIRS_FILE, file_hashes, settings_of
from statveil.jobs.tables.protect import ProtectionSettings, keyed
from statveil.jobs.tables.released import WIDENED, as_json, links_as_json, options_with, recheck_means, requirements_of
from statveil.publish.file_release import promise
from statveil.publish.formats.files import file_word, paths_of
from statveil.publish.formats.read_back import PublicTable, read_public_csv
from statveil.risk.levels import raise_levels
from statveil.risk.rules import Rule
from statveil.risk.sensitivity import Sensitivity
from statveil.tables.table import ProtectedTable, Table, View


@dataclass(frozen=True, kw_only=True)
class FileFolderParts:
    """What lies in the folder of a safe file: the job, where the file is, its certificate, and what was promised of it."""

    job: FileJob
    path: Path
    certificate: Mapping[str, Any]
    statement: FileStatement


def read_file_folder(folder: Path) -> FileFolderParts:
    run = read_run(folder)
    job = read_file_job(folder / JOB, base=folder.resolve() / run["paths_from"])
    certificate = _certificate(folder)
    path = folder / "public" / certificate["file"]["name"]
    if not path.is_file():
        raise AuditFailed(f"{path.name} is not in the folder, so no check could be made.", hint="Take it from the release again.")
    return FileFolderParts(job=job, path=path, certificate=certificate, statement=_statement(job, certificate, folder / MAPPING))


def audit_file_folder(folder: Path) -> AuditReport:
    """Every check anew: the file's hash, and a recount of the file as it lies there."""
    parts = read_file_folder(folder)
    found = audit_file(parts.job.microdata, read_microdata(parts.path), parts.statement)
    return AuditReport(checks=(_same_bytes(parts.path, parts.certificate), *found.report.checks))


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


NEED_RECORDS = "sums, protection, overshoot, bounds, zeros, signs, frozen cells, hashes"
SHOWN = 10
WORDS = "Every number in the public CSV has its place, once, and is the same wherever its cell is shown"


def audit_folder(folder: Path) -> AuditReport:
    """Every check anew, on the numbers in the public CSV files, from the records up."""
    run = read_run(folder)
    contents = _check_contents(run.get("files"), file_hashes(folder))
    job = read_job(folder / JOB_FILE, base=folder.resolve() / run["paths_from"])
    if "csv" not in job.parts.output.formats:
        raise AuditFailed("The release has no public CSV file, so no check could be made.", hint="Add csv to output.formats.")
    provenance = read_provenance(folder / PROVENANCE_FILE)
    try:
        how = _keyed(job, provenance)
        rules, options = job.rules(), options_with(how.options, job.keep(), provenance.parameters.get(WIDENED))
        linked, asked = job.linked(), requirements_of(options)
        table, found = assess_records(job.microdata, linked, rules)
        sensitivity = raise_levels(table, found, rules, options.floors)
    except InputError as error:
        raise AuditFailed(
            f"The records cannot be tabulated and assessed again ({type(error).__name__}: {error.message})",
            hint=f"These checks could not be made: {NEED_RECORDS}. {error.hint}",
        ) from None
    protected, placed = _read_public(table, paths_of(folder / PUBLIC / f"{file_word(job.name)}.csv", table.views))
    recorded = {part: words for part, words in provenance.parameters.items() if part != WIDENED}
    same_job = _check_job(asked_for(job, linked, rules, how), recorded)
    repairs = () if job.parts.repair is None else _read_repairs(folder / REPAIRS_FILE, table.decimals)
    audited = audit_table(table, sensitivity, asked, protected, provenance, repairs)
    return AuditReport(checks=(contents, same_job, placed, *audited.checks, *_check_means(job, table, sensitivity, protected)))


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


def _check_means(job: TableJob, table: Table, sensitivity: Sensitivity, protected: ProtectedTable) -> list[Check]:
    """The means that the job asks to be kept, where it asks for any; in a trade-off a mean is weighed, not kept."""
    keep = job.keep()
    if keep is None or keep.mean is None or job.parts.tradeoff is not None:
        return []
    return [recheck_means(table, sensitivity, job.options(), keep, protected.value)]


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


def _read_public(table: Table, files: Sequence[Path]) -> tuple[ProtectedTable, Check]:
    try:
        return read_protected(table, files)
    except InputError as error:
        raise AuditFailed(f"The public files cannot be read: {error.message}", hint=error.hint) from None


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


def read_protected(table: Table, files: Sequence[Path]) -> tuple[ProtectedTable, Check]:
    """The table that the files show (one per view), and a check of how they show it."""
    value = np.zeros(table.size, dtype=np.int64)
    known = np.zeros(table.size, dtype=np.bool_)
    checked, findings = 0, list[str]()
    for view, file in zip(table.views, files, strict=True):
        shown = _ShownView(view, read_public_csv(file, view.dimensions), table.decimals)
        fresh = ~known[view.cell]
        value[view.cell[fresh]] = shown.released[fresh]
        known[view.cell] = True
        clash = value[view.cell] != shown.released
        clashes = [f"{labels(view, view.coordinates[row])} of {view.name}: differs from its other place" for row in np.flatnonzero(clash)]
        checked += shown.rows
        findings += [*shown.findings, *clashes]
    for union in table.unions:
        if union.cell >= table.shown:
            value[union.cell] = value[union.members].sum()
    return ProtectedTable(views=table.views, value=value, decimals=table.decimals), _check("files", WORDS, checked, findings)


class _ShownView:
    """What one file shows of one view: `released` at the view's positions, and `findings` on anything out of place."""

    def __init__(self, view: View, public: PublicTable, decimals: int) -> None:
        self.rows = public.units.size
        self.findings: list[str] = []
        self.released = np.zeros(view.cell.size, dtype=np.int64)
        if public.dimensions != tuple(dimension.name for dimension in view.dimensions):
            self.findings.append(f"{view.name}: the columns are not the table's dimensions")
            return
        units, whole = _published_units(public, decimals)
        keys, placed = _keys(view, public)
        self._place(view, keys, units, placed & whole & ~public.missing)
        self._complain(view, "codes that the table lacks", ~placed)
        self._complain(view, "a number with other decimals", ~whole)
        self._complain(view, "a position more than once", placed & _repeated(keys))
        self._complain(view, "a missing number where the table has a cell", placed & public.missing & np.isin(keys, _own_keys(view)))

    def _place(self, view: View, keys: IntArray, units: IntArray, usable: BoolArray) -> None:
        own = _own_keys(view)
        at = np.searchsorted(own, keys)
        inside = np.minimum(at, max(own.size - 1, 0))
        hit = usable & (own[inside] == keys) if own.size else np.zeros(keys.size, dtype=np.bool_)
        self.released[inside[hit]] = units[hit]
        self._complain(view, "a number where the table is empty", usable & ~hit & (units != 0))

    def _complain(self, view: View, words: str, rows: BoolArray) -> None:
        self.findings += [f"line {int(row) + 2} of {view.name}: {words}" for row in np.flatnonzero(rows)]


def _published_units(public: PublicTable, decimals: int) -> tuple[IntArray, BoolArray]:
    """The numbers in units of 10**-decimals, and which of them are whole in these units."""
    if public.decimals != max(decimals, 0):
        return public.units, public.missing
    unit = 10 ** max(-decimals, 0)
    return public.units // unit, (public.units % unit == 0) | public.missing


def _keys(view: View, public: PublicTable) -> tuple[IntArray, BoolArray]:
    """One number per row that stands for its position, and whether all its codes are the table's."""
    keys = np.zeros(public.units.size, dtype=np.int64)
    placed = np.ones(public.units.size, dtype=np.bool_)
    for axis, dimension in enumerate(view.dimensions):
        positions = np.array([dimension.position.get(code, -1) for code in public.codes[axis]], dtype=np.int64)[public.index[:, axis]]
        placed &= positions >= 0
        keys = keys * len(dimension.codes) + positions
    return np.where(placed, keys, -1), placed


def _own_keys(view: View) -> IntArray:
    shape = [len(dimension.codes) for dimension in view.dimensions]
    strides = np.array([math.prod(shape[axis + 1 :]) for axis in range(len(shape))], dtype=np.int64)
    return np.asarray(view.coordinates @ strides)


def _repeated(keys: IntArray) -> BoolArray:
    _, first = np.unique(keys, return_index=True)
    repeated = np.ones(keys.size, dtype=np.bool_)
    repeated[first] = False
    return repeated
