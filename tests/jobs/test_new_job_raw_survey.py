"""A raw survey file, with words for missing values, becomes a release without leaving statveil."""

from __future__ import annotations

import csv
import random
import re
import tomllib
from pathlib import Path
from typing import Literal

import pytest
from typer.testing import CliRunner

import statveil as sv
from statveil.cli.app import app
from statveil.jobs.new_job import new_job
from statveil.jobs.record_job import read_file_job
from statveil.jobs.table_job import read_job
from statveil.publish.report.files.script import python_script

PERSONS = 400


@pytest.fixture
def survey(tmp_path: Path) -> Path:
    """Invented persons in the columns of EU-SILC, as R writes them: NA for what is missing, and a point from elsewhere."""
    draw, path = random.Random(7), tmp_path / "silc.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["RB030", "DB010", "DB040", "RB090", "RX010", "PL031", "PY010G", "RB050"])
        for number in range(PERSONS):
            age = draw.randrange(95)
            income = "NA" if age < 16 else "." if draw.random() < 0.05 else f"{draw.lognormvariate(9.5, 1):.2f}"
            place = [draw.choice(["AT11", "AT12", "AT13", "AT21"]), draw.choice("12"), age if draw.random() > 0.03 else "NA"]
            writer.writerow(
                [7000 + number, draw.choice([2023, 2024]), *place, draw.choice(["1", "5", "7", "NA"]), income, f"{draw.random():.3f}"]
            )
    return path


def told(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_a_new_job_names_the_words_it_found(survey: Path, tmp_path: Path) -> None:
    job = tmp_path / "job.toml"
    looks = {each.name: each for each in new_job(survey, job)}
    missing = read_job(job).parts.data.missing
    assert isinstance(missing, dict)
    assert missing["PY010G"] == ["NA", "."]
    assert looks["PY010G"].look == "number"
    assert looks["PY010G"].missing == sum(row["PY010G"] in ("NA", ".") for row in told(survey))


def test_codes_that_look_like_missing_words_stay_and_are_told(tmp_path: Path) -> None:
    (tmp_path / "lands.csv").write_text(
        "land,sales\n" + "".join(f"{land},{n}.5\n" for n in range(30) for land in ("NA", "DE")), encoding="utf-8"
    )
    new_job(tmp_path / "lands.csv", tmp_path / "job.toml")
    assert read_job(tmp_path / "job.toml").parts.data.missing == []
    assert re.search(r"say so under missing:\n#   land: NA\n", (tmp_path / "job.toml").read_text(encoding="utf-8"))


GAPS = "id,net sales,land\n" + "".join(f"{n},{'' if n % 5 == 0 else n + 0.5},{'' if n % 7 == 0 else 'AB'[n % 2]}\n" for n in range(70))


@pytest.mark.parametrize("kind", ["table", "server"])
def test_a_new_job_says_what_becomes_of_missing_values(kind: Literal["table", "server"], tmp_path: Path) -> None:
    """A table refuses gaps in its columns: without this the first job of a file with one ended in an error."""
    (tmp_path / "shops.csv").write_text(GAPS, encoding="utf-8")
    new_job(tmp_path / "shops.csv", tmp_path / "job.toml", kind)
    text = (tmp_path / "job.toml").read_text(encoding="utf-8")
    assert "# net sales: 14 records without it are left out (where).\n# land: 10 missing codes are called unknown (derive).\n" in text
    part = tomllib.loads(text)["data" if kind == "table" else "dataset"]
    records = part if kind == "table" else part[0]
    assert records["where"] == "`net sales` is not missing"
    assert records["derive"] == {"land_known": "if_missing(land, 'unknown')"}


def test_what_a_new_job_says_of_missing_values_can_be_tabulated(tmp_path: Path) -> None:
    (tmp_path / "shops.csv").write_text(GAPS, encoding="utf-8")
    new_job(tmp_path / "shops.csv", tmp_path / "job.toml")
    data = read_job(tmp_path / "job.toml").parts.data.microdata(tmp_path / "shops.csv")
    table = sv.tabulate(data, sv.TableSpec(dimensions={"land_known": None}, measure="net sales"))
    assert table.records.sum() == 2 * 56, "each record in its land and in the total"
    assert table.size == 4, "A, B, unknown and the total"


@pytest.mark.slow
def test_a_raw_file_becomes_a_table(survey: Path, tmp_path: Path) -> None:
    job = tmp_path / "job.toml"
    job.write_text(
        """
[data]
file = "silc.csv"
missing = ["NA", "."]
where = "DB010 = 2024 and PY010G is not missing and RX010 is not missing"
derive = { nuts1 = "left(DB040, 3)", old = "if(RX010 >= 65, 'old', 'young')", income = "round(PY010G)" }
[table]
name = "income"
measure = "income"
dimensions = { nuts1 = {}, old = {}, RB090 = {} }
[[rule]]
type = "minimum-frequency"
n = 5
level = 20
[protection]
attacks = "report"
""",
        encoding="utf-8",
    )
    done = CliRunner().invoke(app, ["protect", str(job)])
    assert done.exit_code == 0, done.output
    wanted = [row for row in told(survey) if row["DB010"] == "2024" and row["PY010G"] not in ("NA", ".") and row["RX010"] != "NA"]
    assert f"{len(wanted):,} of {PERSONS:,} records kept" in done.output
    assert f"PY010G: {sum(row['PY010G'] in ('NA', '.') for row in told(survey)):,} values were missing words" in done.output
    released = told(tmp_path / "job-release" / "public" / "income.csv")
    assert {row["nuts1"] for row in released} == {"Total", "AT1", "AT2"}
    total = next(row for row in released if {row["nuts1"], row["old"], row["RB090"]} == {"Total"})
    truth = sum(round(float(row["PY010G"])) for row in wanted)
    assert abs(int(total["value"]) - truth) < 0.2 * truth
    assert CliRunner().invoke(app, ["check", str(tmp_path / "job-release")]).exit_code == 0


@pytest.mark.slow
def test_a_raw_file_becomes_a_safe_file(survey: Path, tmp_path: Path) -> None:
    (tmp_path / "people.toml").write_text(
        """
[data]
file = "silc.csv"
missing = ["NA", "."]
where = "DB010 = 2024"
derive = { band = "if(RX010 < 30, 'young', 'older')" }
[fields]
DB040 = {}
RB090 = {}
band = {}
[safety]
threshold = 3
order = 3
[output]
file = "safe.csv"
drop = ["RB030", "RX010"]
""",
        encoding="utf-8",
    )
    done = CliRunner().invoke(app, ["protect", str(tmp_path / "people.toml")])
    assert done.exit_code == 0, done.output
    safe = told(next((tmp_path / "people-release").rglob("safe.csv")))
    assert len(safe) == sum(row["DB010"] == "2024" for row in told(survey))
    assert "NA" not in {value for row in safe for value in row.values()}
    assert {row["band"] for row in safe} <= {"young", "older", ""}
    data = read_file_job(tmp_path / "people.toml").microdata
    plan = sv.plan_recoding(data, read_file_job(tmp_path / "people.toml").keys())
    script = python_script(data, plan.coded, recoding=plan.recoding, seed=0, target="safe.csv", options={})
    assert "where='DB010 = 2024'" in script
    assert "missing=['NA', '.']" in script
