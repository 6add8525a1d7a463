"""A safe file with perturbed columns goes through the same gate: recoded, blanked, perturbed, audited, reported in one run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import statveil as sv
from statveil.core.errors import AuditFailed, InputError
from statveil.publish import file_release
from tests.publish.safe_files import keys, perturbed
from tests.records.perturb.stories import KEY, OTHER


@pytest.mark.parametrize("ending", ["csv", "parquet", "sav"])
def test_every_format_passes_its_audit(data: sv.Microdata, tmp_path: Path, ending: str) -> None:
    if ending == "sav":
        pytest.importorskip("pyreadstat")
    release = sv.apply_plan(perturbed(data), sv.plan_recoding(data, keys()), tmp_path / f"safe.{ending}")
    assert release.audit.passed
    assert [check.name for check in release.audit.checks[:2]] == ["perturbed", "noise"]
    told = release.certificate()["perturbed"]
    assert told["steps"] == [{"method": "noise", "columns": ["income"], "level": 0.2}]
    assert told["key"] == KEY.fingerprint


def test_the_file_holds_the_perturbed_numbers(data: sv.Microdata, tmp_path: Path) -> None:
    made = perturbed(data)
    release = sv.apply_plan(made, sv.plan_recoding(data, keys()), tmp_path / "safe.parquet")
    written = pq.read_table(release.path)
    income = dict(zip(written["id"].to_pylist(), written["income"].to_pylist(), strict=True))
    assert income == dict(zip(made.after["id"].to_pylist(), made.after["income"].to_pylist(), strict=True))
    assert income != dict(zip(made.before["id"].to_pylist(), made.before["income"].to_pylist(), strict=True))


def test_the_same_key_gives_the_same_bytes(data: sv.Microdata, tmp_path: Path) -> None:
    plan = sv.plan_recoding(data, keys())
    hashes = [
        sv.apply_plan(perturbed(data, key=key), plan, tmp_path / f"{place}.csv").file_hash for place, key in enumerate((KEY, KEY, OTHER))
    ]
    assert hashes[0] == hashes[1] != hashes[2]


@pytest.mark.parametrize(
    ("settings", "how", "words"),
    [
        ({"fields": {"income": None}}, {}, "a key field"),
        ({"weight": "income", "counting": "weights"}, {}, "the weight"),
        ({"linked": [["job", "income"]]}, {}, "linked to a key field"),
        ({"models": [sv.recode.Closeness("income", 0.9)]}, {}, "what a risk model is about"),
        ({}, {"drop": ["income"]}, "left out"),
    ],
)
def test_what_the_rule_counts_is_not_perturbed(
    data: sv.Microdata, tmp_path: Path, settings: dict[str, Any], how: dict[str, Any], words: str
) -> None:
    with pytest.raises(InputError, match=f"'income' is perturbed, and it is {words}"):
        sv.apply_plan(perturbed(data), sv.plan_recoding(data, keys(**settings)), tmp_path / "safe.csv", **how)
    assert not (tmp_path / "safe.csv").exists()


def test_a_broken_perturbation_is_not_released(data: sv.Microdata, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from statveil.records.perturb import perturb

    monkeypatch.setattr(perturb, "add_noise", lambda _step, values, _decimals, _draws: values)
    with pytest.raises(AuditFailed):
        sv.apply_plan(perturbed(data), sv.plan_recoding(data, keys()), tmp_path / "safe.csv")
    assert not (tmp_path / "safe.csv").exists()


def test_progress_says_what_is_done(data: sv.Microdata, tmp_path: Path) -> None:
    heard: list[str] = []
    how = file_release.WritingOptions(tell=heard.append)
    file_release.write_release(data, sv.plan_recoding(data, keys()), tmp_path / "safe.csv", how)
    assert heard == ["attacking", "writing", "auditing"]
