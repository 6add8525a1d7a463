"""The gate for files: neither an audited file nor a release exists without a passed audit."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path

import pytest

import statveil as sv
from statveil.audit.report import AuditReport, Check
from statveil.publish.audited_file import AuditedFile
from tests.publish.safe_files import keys, town

FAULTY = AuditReport(checks=(Check(name="safe", words="No combination is rare", checked=3, faults=1, findings=("one is",)),))


def test_nothing_with_a_fault_can_be_made_or_derived(tmp_path: Path) -> None:
    data = sv.read_microdata(town(tmp_path / "town.parquet"))
    release = sv.apply_plan(data, sv.plan_recoding(data, keys()), tmp_path / "safe.csv")
    given = {each.name: getattr(release, each.name) for each in fields(AuditedFile)}
    assert AuditedFile(**given).audit.passed
    with pytest.raises(sv.AuditFailed, match="nothing is released"):
        AuditedFile(**{**given, "audit": FAULTY})
    with pytest.raises(sv.AuditFailed, match="nothing is released"):
        replace(release, audit=FAULTY)
