"""The folder of a trade-off: page, front, release."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pyarrow.csv
import pytest
from typer.testing import CliRunner

from statveil.cli.app import app
from tests.jobs.records.fronts import people

JOB = """
[data]
file = "people.csv"
[fields]
age = { intervals = [10, 100] }
[safety]
threshold = 2
order = 1
"""


@pytest.fixture
def job(tmp_path: Path) -> Path:
    pyarrow.csv.write_csv(people(), tmp_path / "people.csv")
    (tmp_path / "job.toml").write_text(JOB, encoding="utf-8")
    return tmp_path / "job.toml"


def test_a_job_becomes_a_page_a_front_and_a_release(job: Path) -> None:
    done = CliRunner().invoke(app, ["lab", "tradeoff", str(job), "--publish", "3", "--json"])
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout.splitlines()[-1])
    assert [(each["recoding"]["age"], each["blanks"], each["wiped"]) for each in told["points"]] == [
        ("as it is", 5, ["age"]), ("width 10", 1, []), ("width 100", 0, ["age"])]  # fmt: skip
    assert (told["proved"], told["complete"], told["published"]) == (3, True, 3)
    folder = job.with_name("job-tradeoff")
    assert "Trade-off of recoding and blanks" in (folder / "internal" / "tradeoff.html").read_text(encoding="utf-8")
    assert (folder / "internal" / "front.csv").read_text().splitlines()[3].startswith("3,age,1,")
    released = (folder / "release" / "public" / "safe.csv").read_text()
    assert released.count("0-99") == 5
    run = json.loads((folder / "release" / "run.json").read_text())
    assert (run["wiped"], run["loss"]["lost"]) == (["age"], 5.0)


def test_the_command_line_says_wiped_fields_aloud_and_refuses_what_is_for_tables(job: Path) -> None:
    done = CliRunner().invoke(app, ["lab", "tradeoff", str(job)])
    assert done.exit_code == 0, done.output
    assert "WIPED: age; age: width 100" in done.stdout
    assert CliRunner().invoke(app, ["lab", "tradeoff", str(job), "--over", "all", "--force"]).exit_code != 0
    assert CliRunner().invoke(app, ["lab", "tradeoff", str(job), "--publish", "9", "--force"]).exit_code != 0


def test_protect_says_first_what_is_wiped(job: Path) -> None:
    job.write_text(JOB + "recoding_weight = 0.0\n", encoding="utf-8")
    done = CliRunner().invoke(app, ["protect", str(job)])
    assert done.exit_code == 0, done.output
    assert done.stdout.startswith("WIPED in every record: age (5 of 5 key values).")
    assert "blanks alone would lose" in done.stdout
    assert re.search(r"Made 5 records safe in [\d.]+ s \(plan [\d.]+ s, then writing, audit and report\)", done.stdout)
    run = json.loads((job.with_name("job-release") / "run.json").read_text())
    assert 0 < run["planned_in"] < run["seconds"]
    told = CliRunner().invoke(app, ["protect", str(job), "--json", "--force"]).stdout.splitlines()[-1]
    assert next(iter(json.loads(told).items())) == ("wiped", ["age"])
    assert "Wiped in every record: age (5 values)." in (job.with_name("job-release") / "internal" / "report.html").read_text()
