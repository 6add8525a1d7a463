"""The trade-off of a file: from blanks alone to recoding alone, in Python, as a folder and at the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pytest
from typer.testing import CliRunner

import statveil as sv
from statveil.cli.app import app
from statveil.records.coding import code_file
from tests.records.stories import halves, microdata, random_records

JOB = """
[data]
file = "people.csv"
[fields]
age = { intervals = [10, 100] }
[safety]
threshold = 2
order = 1
"""


def people() -> pa.Table:
    """Lone ages: all five blank, one with classes of ten, none in one class, which tells as little as blanks everywhere."""
    return pa.table({"age": [30, 31, 40, 50, 51], "pay": [1, 2, 3, 4, 5]})


@pytest.fixture
def job(tmp_path: Path) -> Path:
    pyarrow.csv.write_csv(people(), tmp_path / "people.csv")
    (tmp_path / "job.toml").write_text(JOB, encoding="utf-8")
    return tmp_path / "job.toml"


@pytest.mark.parametrize("rule", ["original", pytest.param("recount", marks=pytest.mark.slow)])
def test_every_point_is_a_plan_and_the_least_is_what_planning_chooses(rule: str) -> None:
    rows = random_records(4, records=70, sizes=(6, 5, 4))
    fields = {name: halves(size) for name, size in zip("abc", (6, 5, 4), strict=True)}
    coded = code_file(microdata(rows), sv.KeyVariables(fields=fields, threshold=3, order=2, rule=rule))
    front = sv.recode.tradeoff_file(coded)
    assert front.complete == (rule == "original")  # the blanks of all recodings were priced under that rule
    best = sv.plan_recoding(coded)
    assert front.points[front.least].total == pytest.approx(best.cost)
    assert front.points[0].recoding_loss == 0
    assert [each.recoding_loss for each in front.points] == sorted(each.recoding_loss for each in front.points)
    for number, point in enumerate(front.points, start=1):
        plan = front.plan(number)
        assert (plan.recoding, plan.suppression.cost) == (point.recoding, pytest.approx(point.blank_cost))
    if rule == "original":
        assert front.proved == len(front.points)


def test_the_weight_of_a_plan_does_not_bend_the_front() -> None:
    data = sv.read_microdata(people())
    fronts = [
        sv.recode.tradeoff_file(
            data, sv.KeyVariables(fields={"age": sv.recode.Menu.intervals(10)}, threshold=2, order=1, recoding_weight=w)
        )
        for w in (1.0, 0.02)
    ]
    assert [each.recoding_loss for each in fronts[0].points] == [each.recoding_loss for each in fronts[1].points]


def test_a_front_of_wildcards_or_of_one_point_is_refused() -> None:
    data = sv.read_microdata(people())
    with pytest.raises(sv.InputError, match="wildcard"):
        sv.recode.tradeoff_file(data, sv.KeyVariables(fields={"age": None}, rule="wildcard"))
    with pytest.raises(sv.InputError, match="points"):
        sv.recode.tradeoff_file(data, sv.KeyVariables(fields={"age": None}), points=1)
    front = sv.recode.tradeoff_file(data, sv.KeyVariables(fields={"age": None}, threshold=2, order=1))
    assert repr(front).startswith("FileTradeoff(1 points, 1 proved, ")
    assert repr(front.points[0]).endswith("blanks, proved)")
    with pytest.raises(sv.InputError, match="no point 2"):
        front.plan(2)


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
    told = CliRunner().invoke(app, ["protect", str(job), "--json", "--force"]).stdout.splitlines()[-1]
    assert next(iter(json.loads(told).items())) == ("wiped", ["age"])
    assert "Wiped in every record: age (5 values)." in (job.with_name("job-release") / "internal" / "report.html").read_text()
