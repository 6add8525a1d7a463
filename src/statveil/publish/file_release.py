"""Only a `FileRelease` can be published: a safe file that was audited as it was written."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from statveil.audit.attacks.file_attacks import Edit, ExposedFile, attack_file
from statveil.audit.file_audit import FileStatement, audit_file, compare_releases
from statveil.audit.file_models import PromisedModel
from statveil.audit.perturbed import PerturbationStatement, audit_perturbed
from statveil.audit.report import AuditReport, Check
from statveil.core.arrays import BoolArray
from statveil.core.atomic import check_targets, written_together
from statveil.core.errors import AuditFailed
from statveil.core.limits import known
from statveil.core.provenance import sha256
from statveil.core.show import FrameExports
from statveil.data.microdata import Microdata
from statveil.data.queries.whole_records import all_records
from statveil.data.readers import read_microdata, read_written_folder
from statveil.data.textfiles import require_file
from statveil.publish.audited_file import AuditedFile, EarlierReleases
from statveil.publish.formats.files import write_bytes
from statveil.publish.report.files.report import write_file_report
from statveil.records.keys import KeyVariables
from statveil.records.models import Closeness, HouseholdRisk, IndividualRisk, RecursiveDiversity, RiskModel
from statveil.records.perturb.perturb import PerturbedRecords, refuse_keys
from statveil.records.plan import FilePlan
from statveil.records.plan_frames import InternalPlan
from statveil.records.risk import released_codes
from statveil.records.suppress.problem import row_amount
from statveil.records.write.safe_file import refuse_unfit_names, write_safe_file
from statveil.version import VERSION


def exposed(plan: FilePlan) -> ExposedFile:
    found = plan.suppression
    return ExposedFile(
        fields=plan.keys.names,
        released=released_codes(plan),
        truth=found.problem.written_codes(found.key),
        records=found.records,
        amount=row_amount(found.problem, found.key, found.records),
        tables=plan.coded.tables,
        decoys=plan.keys.candidates > 0,
        edits=_edits(plan),
        refined={place: _alone(plan, place) for place, level in enumerate(plan.levels) if level},
    )


def _edits(plan: FilePlan) -> list[Edit]:
    """Edit rules speak of original values; a new value fits where all old ones behind it do."""
    names, found = plan.keys.names, list[Edit]()
    for rule in plan.keys.edits:
        when = {names.index(name): _within(plan, names.index(name), set(values)) for name, values in rule.when.items()}
        for name, value in rule.then.items():
            place = names.index(name)
            if value in plan.coded.values[place]:
                level = plan.coded.levels[place][plan.levels[place]]
                found.append(Edit(when=when, place=place, code=int(level.code[plan.coded.values[place].index(value)])))
    return found


def _within(plan: FilePlan, place: int, values: set[str]) -> frozenset[int]:
    level = plan.coded.levels[place][plan.levels[place]]
    outside = {int(level.code[code]) for code, value in enumerate(plan.coded.values[place]) if value not in values}
    return frozenset(range(level.size)) - outside


def _alone(plan: FilePlan, place: int) -> BoolArray:
    """New codes with a single old one behind them, written in another way."""
    level, old = plan.coded.levels[place][plan.levels[place]], plan.coded.values[place]
    alone = np.bincount(level.code, minlength=level.size) == 1
    kept = [int(new) for code, new in enumerate(level.code) if level.values[new] == old[code]]
    alone[kept] = False
    return np.asarray(alone)


@dataclass(frozen=True, kw_only=True, repr=False)
class FileRelease(AuditedFile, FrameExports):
    """A safe file that lies at `path`, with the audit that it passed; it cannot be made unless it did. Each `to_...` writes what goes
    with it. The plan is confidential and never shows up in `repr`.

    file_hash: SHA-256 of the file. audit: of the file as written. plan, data: what was done, to which records. dropped: columns left out.
    waiver: why an earlier release may differ. job: the job that repeats it. `apply_plan` makes one.

    >>> import pyarrow as pa, statveil as sv, tempfile
    >>> people = sv.read_microdata(pa.table({"job": ["vet", "cook", "cook"]}))
    >>> plan = sv.plan_recoding(people, sv.KeyVariables(fields={"job": None}, threshold=2, order=1))
    >>> sv.apply_plan(people, plan, Path(tempfile.mkdtemp()) / "safe.csv").certificate()["blanks"]
    {'job': 1}
    """

    def to_arrow(self) -> pa.Table:
        """The safe file as it lies there, all that was published; refused if it is not the file any more that was audited."""
        if not self.path.exists() or _hash(self.path) != self.file_hash:
            raise AuditFailed(f"{self.path} is not the file that was audited.", hint="Write it again with apply_plan.")
        return all_records(read_microdata(self.path, **_as_written(self.path)))

    @property
    def internal(self) -> InternalPlan:
        """What was done to each field, for `internal.to_pandas()` and the like. Confidential."""
        return self.plan.internal

    def certificate(self) -> dict[str, Any]:
        """What was done and what was checked, as JSON. It holds the rule and the threshold: for the office, not for readers."""
        plan = self.plan
        return {
            "software": {"statveil": VERSION},
            "file": {"name": self.path.name, "sha256": self.file_hash, "records": plan.coded.records},
            "rule": {"meaning of a blank": plan.keys.rule, "missing": plan.keys.missing, "missing written as": missing_words(plan),
                     "counting": plan.keys.counting,
                     "tables": [{"fields": list(names), "safe from": least} for names, least in statement_of(plan, self.dropped).tables],
                     "models": [str(model) for model in plan.keys.models]},
            "loss": plan.loss.figures(),
            "recoding": plan.recoding,
            "blanks": plan.suppression.blanks,
            "cost": {"total": plan.cost, "recoding": plan.recoding_cost, "blanks": plan.suppression.cost, "bound": plan.bound,
                     "ending": str(plan.ending), "method": plan.method, "seed": plan.seed},
            "perturbed": None if self.perturbed is None else self.perturbed.as_json(),
            "unsafe after release": dict(self.unsafe),
            "notes": dict(plan.suppression.notes),
            "attacks": [{"name": a.name, "words": a.words, "value": a.value, "limit": a.limit, "passed": a.passed,
                         "findings": list(a.findings)} for a in self.attacks],
            "audit": {"passed": self.audit.passed,
                      "checks": [{"name": c.name, "words": c.words, "checked": c.checked, "faults": c.faults,
                                  "findings": list(c.findings)} for c in self.audit.checks]},
        }  # fmt: skip

    def to_certificate(self, path: str | Path) -> Path:
        return write_bytes(Path(path), (json.dumps(self.certificate(), indent=2, ensure_ascii=False) + "\n").encode())

    def to_mapping(self, path: str | Path) -> Path:
        """The recoding value by value: field, old, new."""
        import csv

        target = Path(path)
        with target.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(["field", "old", "new"])
            writer.writerows([name, old, new] for name, mapping in self.plan.mapping().items() for old, new in mapping.items())
        return target

    def to_report(self, path: str | Path) -> Path:
        return write_file_report(self, Path(path))


def apply_plan(
    data: Microdata | PerturbedRecords,
    plan: FilePlan,
    to: str | Path,
    *,
    drop: Sequence[str] = (),
    key: str | None = None,
    sensitive: Sequence[str] = (),
    earlier: EarlierReleases | Sequence[str | Path] = (),
    attacks: str = "report",
) -> FileRelease:
    """Write the safe file, audit what was written, and put it in place only if the audit passed.

    data: the records, or what `sv.perturb.perturb_records` made of them. plan: made of them by `plan_recoding`.
    to: where; its ending decides the format: .csv, .parquet, .sav (SPSS), .dta (Stata). A name without an ending is a folder of Parquet
        files, which the engine writes: from records in Spark, its executors.
    drop: columns to leave out. key: the secret of the shuffle.
    sensitive: columns whose diversity within classes the report tells.
    earlier: safe files of the same records that are out already.
    attacks: those by somebody who knows the method are made and "report"-ed; "refuse" releases nothing where one exceeds its limit.

    >>> import pyarrow as pa, statveil as sv, tempfile
    >>> people = sv.read_microdata(pa.table({"job": ["vet", "cook", "cook"]}))
    >>> plan = sv.plan_recoding(people, sv.KeyVariables(fields={"job": None}, threshold=2, order=1))
    >>> apply_plan(people, plan, Path(tempfile.mkdtemp()) / "safe.csv").audit.passed
    True
    """
    before = earlier if isinstance(earlier, EarlierReleases) else EarlierReleases(earlier)
    how = WritingOptions(drop=drop, key=key, sensitive=sensitive, earlier=before, attacks=attacks)
    return write_release(data, plan, Path(to), how)


def _silent(_words: str) -> None:
    pass


@dataclass(frozen=True, kw_only=True)
class WritingOptions:
    """What `apply_plan` is told besides; `tell` hears what is being done."""

    drop: Sequence[str] = ()
    key: str | None = None
    sensitive: Sequence[str] = ()
    earlier: EarlierReleases = field(default_factory=lambda: EarlierReleases(()))
    attacks: str = "report"
    tell: Callable[[str], object] = _silent


def write_release(data: Microdata | PerturbedRecords, plan: FilePlan, target: Path, how: WritingOptions) -> FileRelease:
    """Attack, write, read back and audit; the file is in place only if all of that went well."""
    known("way with attacks", how.attacks, ("report", "refuse"))
    perturbed = data if isinstance(data, PerturbedRecords) else None
    data = data.data if isinstance(data, PerturbedRecords) else data
    refuse_keys(perturbed.columns if perturbed else (), plan.keys, how.drop)
    refuse_unfit_names(target, [name for name in data.columns if name not in how.drop])
    check_targets([target], sources=[Path(data.origin)])
    data.require(how.sensitive)
    for path in map(Path, how.earlier.files):
        if not path.is_dir():
            require_file(path)
    how.tell("attacking")
    attacked = attack_file(exposed(plan))
    if how.attacks == "refuse" and not all(each.passed for each in attacked):
        raise AuditFailed(
            "An attack by somebody who knows the method finds out too much; nothing is released.",
            hint="; ".join(f"{each.name}: {each.value:.1%}, limit {each.limit:.0%}" for each in attacked if not each.passed)
            + ". Ask for candidates=3, or other recodings.",
        )
    with written_together([target]) as [place]:
        how.tell("writing")
        write_safe_file(data, plan, place, drop=how.drop, key=how.key)
        how.tell("auditing")
        written = _read_back(place, data)
        found = audit_file(data, written, statement_of(plan, how.drop))
        return FileRelease(
            path=target,
            file_hash=_hash(place),
            audit=AuditReport(checks=(*audit_of(perturbed), *found.report.checks, _against_earlier(written, how.earlier, plan.keys.names))),
            unsafe=found.unsafe,
            attacks=attacked,
            plan=plan,
            data=data,
            dropped=tuple(how.drop),
            sensitive=tuple(how.sensitive),
            earlier=tuple(str(path) for path in how.earlier.files),
            waiver=how.earlier.waiver,
            key=how.key,
            perturbed=perturbed,
        )


def audit_of(perturbed: PerturbedRecords | None) -> tuple[Check, ...]:
    """The perturbed columns against the originals; nothing where none were."""
    if perturbed is None:
        return ()
    mark = perturbed.original.decimal
    promised = [
        PerturbationStatement(method=step.method, columns=step.columns, parameters=step.parameters, decimals=perturbed.decimals, mark=mark)
        for step in perturbed.steps
    ]
    return audit_perturbed(perturbed.original, perturbed.before, perturbed.after, promised)


def _against_earlier(new: Microdata, earlier: EarlierReleases, fields: Sequence[str]) -> Check:
    """Released twice, a value blank in one file must not be open in the other, unless somebody answers for it (M07)."""
    compared = {str(path): compare_releases(new, read_microdata(path), fields) for path in earlier.files}
    faults = sum(sum(each.differ.values()) for each in compared.values())
    words = "No value is blank here and open in an earlier release of the same records, or the other way round"
    apart = [path for path, each in compared.items() if not each.joined]
    findings = tuple(f"{Path(path).name}: not checked, no other columns tell which records are the same" for path in apart)
    if apart and len(apart) == len(compared):
        words = f"{words} (not checked)"
    waiver = (earlier.waiver or "").strip()
    if faults and waiver:
        words, findings, faults = f"{words} (waived)", (f"{faults:,} values, waived: {waiver}", *findings), 0
    return Check(name="earlier", words=words, checked=len(compared) - len(apart), faults=faults, findings=findings)


def _read_back(place: Path, data: Microdata) -> Microdata:
    """The file anew; a folder by the engine that wrote it, so that its records stay where they are."""
    return read_written_folder(place, data) if place.is_dir() else read_microdata(place, **_as_written(place))


def _as_written(place: Path) -> dict[str, Any]:
    return {"delimiter": ",", "encoding": "utf-8"} if place.suffix.lower() == ".csv" else {}


def statement_of(plan: FilePlan, drop: Sequence[str] = ()) -> FileStatement:
    """The plan as the plain promise that the audit compares with."""
    return promise(plan.keys, plan.mapping(), plan.suppression.blanks, missing_words(plan), drop)


def missing_words(plan: FilePlan) -> dict[str, str]:
    """By field, the word that is written for a missing value that counts as a category."""
    return {name: word for name, word in zip(plan.keys.names, plan.coded.missing_as, strict=True) if word is not None}


def promise(
    keys: KeyVariables,
    mapping: Mapping[str, Mapping[str, str]],
    blanks: Mapping[str, int],
    missing_as: Mapping[str, str],
    drop: Sequence[str] = (),
) -> FileStatement:
    """What was asked, with the recoding value by value and the blanks that were made, as the audit compares it with a file."""
    return FileStatement(
        fields=keys.names,
        tables=tuple((tuple(keys.names[place] for place in places), threshold) for places, threshold in keys.tables()),
        rule=keys.rule,
        blanks=blanks,
        recoded=mapping,
        missing_codes=keys.missing_codes,
        missing_as=missing_as,
        weight=keys.weight if keys.counting == "weights" else None,
        linked=keys.linked,
        dropped=tuple(drop),
        caps=keys.caps,
        household=keys.household,
        shared=keys.shared,
        models=[_promised(model, keys) for model in keys.models],
    )


def _promised(model: RiskModel, keys: KeyVariables) -> PromisedModel:
    if isinstance(model, IndividualRisk):
        home = keys.household if isinstance(model, HouseholdRisk) else None
        return PromisedModel(kind=model.kind, limit=model.most, words=str(model), weight=keys.weight, household=home)
    limit, c = model.most if isinstance(model, Closeness) else model.least, model.c if isinstance(model, RecursiveDiversity) else 0.0
    return PromisedModel(kind=model.kind, limit=limit, words=str(model), column=model.column, c=c)


def _hash(path: Path) -> str:
    """Of a folder, the hash of its files' names and hashes."""
    if path.is_dir():
        return sha256("".join(f"{each.name} {_hash(each)}\n" for each in sorted(path.iterdir())).encode())
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
