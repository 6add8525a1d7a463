"""A job with risk models, a word that looks reserved and special codes: protected, checked anew, and repeated from its own report."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import statveil as sv
from statveil.jobs.recheck import audit_file_folder
from statveil.jobs.record_job import read_file_job
from tests.cli.stories import run, told

JOB = """
[data]
file = "people.csv"
[fields]
age = { intervals = [10], special = ["refused"] }
job = {}
[safety]
threshold = 2
order = 2
missing = "category"
[recoding]
fixed = { age = "width 10", job = "as it is" }
[[safety.models]]
type = "distinct-diversity"
column = "illness"
least = 2
[[safety.models]]
type = "recursive-diversity"
column = "illness"
c = 4
least = 2
[[safety.models]]
type = "individual-risk"
most = 0.5
"""


@pytest.fixture
def job(tmp_path: Path) -> Path:
    ages = ["21", "24", "25", "refused", "refused", "31", "38", "", ""] * 2
    jobs = ["missing", "missing", "vet", "vet", "", "", "missing", "vet", "missing"] * 2
    rows = [f"{age},{work},{'flu' if n % 4 else 'gout'}" for n, (age, work) in enumerate(zip(ages, jobs, strict=True))]
    (tmp_path / "people.csv").write_text("\n".join(["age,job,illness", *rows]) + "\n", encoding="utf-8")
    (tmp_path / "job.toml").write_text(JOB, encoding="utf-8")
    return tmp_path / "job.toml"


def test_the_folder_is_checked_anew_with_its_models_and_words(job: Path, tmp_path: Path) -> None:
    done = run("protect", job, "--out", tmp_path / "out")
    assert done.exit_code == 0, told(done)
    certificate = json.loads((tmp_path / "out" / "certificate.json").read_text(encoding="utf-8"))
    assert certificate["rule"]["missing written as"] == {"age": "missing", "job": "missing_"}
    assert certificate["rule"]["models"][0] == "at least 2 different values of illness"
    assert {"distinct-diversity", "recursive-diversity", "individual-risk"} <= {each["name"] for each in certificate["audit"]["checks"]}
    assert audit_file_folder(tmp_path / "out").passed
    certificate["rule"]["missing written as"] = {}
    (tmp_path / "out" / "certificate.json").write_text(json.dumps(certificate), encoding="utf-8")
    assert not audit_file_folder(tmp_path / "out").passed


@pytest.mark.filterwarnings("ignore:Column")
def test_models_and_special_codes_survive_the_way_through_a_job(job: Path, tmp_path: Path) -> None:
    given = read_file_job(job)
    explorer = sv.recode.explore_recoding(given.microdata, given.keys())
    explorer.to_job(tmp_path / "again.toml")
    again = read_file_job(tmp_path / "again.toml").keys()
    assert list(again.models) == list(given.keys().models)
    assert again.fields["age"] == given.keys().fields["age"]
    script = explorer.plan()
    release = sv.apply_plan(given.microdata, script, tmp_path / "safe.csv")
    assert "sv.recode.RecursiveDiversity(column='illness', c=4, least=2)" in release.to_report(tmp_path / "r.html").read_text().replace(
        "&#39;", "'"
    )
