"""The part of a job that names perturbations, and the records perturbed as it says."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from statveil.core.errors import InputError
from statveil.core.secret import SecretKey, office_key
from statveil.data.microdata import Microdata
from statveil.jobs.schema import Number, Part
from statveil.records.perturb.perturb import PerturbedRecords, Tell, perturb_records
from statveil.records.perturb.steps import Step, step_of


class PerturbStepPart(Part):
    """One step; `step_of` refuses a setting that belongs to another method."""

    method: str
    columns: list[str]
    k: int | None = None
    level: Number | None = None
    percent: Number | None = None
    keep: Number | None = None
    bottom: Number | None = None
    top: Number | None = None
    minimum: Number | None = None
    maximum: Number | None = None
    decimals: int | None = None

    def step(self) -> Step:
        return step_of(self.method, self.model_dump(exclude={"method"}, exclude_unset=True))


class PerturbPart(Part):
    key: str | None = None
    step: Annotated[list[PerturbStepPart], Field(min_length=1)]

    def steps(self) -> list[Step]:
        return [each.step() for each in self.step]


def perturbed_records(data: Microdata, part: PerturbPart, base: Path, *, make: bool, tell: Tell = lambda _words: None) -> PerturbedRecords:
    """The records as the job perturbs them, by the key that it names or the office's; `make`: which may be made now."""
    steps, key = part.steps(), None
    if any(step.draws for step in steps):
        key = office_key(make=make) if part.key is None else SecretKey.from_file(base / part.key)
    return perturb_records(data, steps, key=key, tell=tell)


def perturbed_again(data: Microdata, part: PerturbPart, base: Path, certificate: Any) -> PerturbedRecords:
    """The same for a check of what was released; by another key it would be another file."""
    found = perturbed_records(data, part, base, make=False)
    told = certificate.get("perturbed") if isinstance(certificate, dict) else None
    if not isinstance(told, dict) or told.get("key") != found.fingerprint:
        raise InputError(
            "The columns were perturbed by another key, so what was released cannot be checked.",
            hint="Give the key whose fingerprint certificate.json names: [perturb] key, or STATVEIL_KEY.",
        )
    return found
