"""`statveil risk`: the figures of a file, of every record, and of every threshold."""

from __future__ import annotations

import csv
import json
import stat
from pathlib import Path

import pytest

from tests.cli.stories import run, told

ROWS = [
    "id,job,town,illness,weight,home",
    *(f"{n},{'vet' if n == 0 else 'cook'},Urk,{'flu' if n % 3 else 'gout'},2,{n // 2}" for n in range(8)),
]
JOB = """
[data]
file = "people.csv"
[fields]
job = {}
town = {}
[safety]
threshold = 2
order = 2
[[safety.models]]
type = "distinct-diversity"
column = "illness"
least = 2
"""


@pytest.fixture
def people(tmp_path: Path) -> Path:
    (tmp_path / "people.csv").write_text("\n".join(ROWS) + "\n", encoding="utf-8")
    (tmp_path / "job.toml").write_text(JOB, encoding="utf-8")
    return tmp_path / "people.csv"


def test_every_record_with_its_own_risk_and_that_of_its_household(people: Path, tmp_path: Path) -> None:
    """The vet is one of two in the population: log 2; of the seven cooks, each stands for two."""
    found = run(
        "risk", people, "--keys", "job,town", "--weight", "weight", "--household", "home", "--records", tmp_path / "r.csv", "--id", "id"
    )
    assert found.exit_code == 0, told(found)
    with (tmp_path / "r.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["id"] for row in rows[:2]] == ["0", "1"]  # the vet, and who lives there
    vet, cook = float(rows[0]["risk"]), float(rows[1]["risk"])
    assert vet == pytest.approx(0.6931, abs=1e-4)
    assert cook == pytest.approx(0.5 / (7 - 0.5))
    assert float(rows[0]["household_risk"]) == float(rows[1]["household_risk"]) == pytest.approx(1 - (1 - vet) * (1 - cook))
    assert rows[0]["sharing"] == "1"
    assert stat.S_IMODE((tmp_path / "r.csv").stat().st_mode) == 0o600


def test_the_job_of_a_file_tells_keys_and_models(people: Path, tmp_path: Path) -> None:
    found = json.loads(run("risk", tmp_path / "job.toml", "--json").stdout)
    assert found["unsafe_records"] == 1
    assert found["diversity"][0]["least_values"] == 1
    assert found["diversity"][0]["ordered"] is False


def test_a_curve_of_thresholds(people: Path) -> None:
    found = json.loads(run("risk", people, "--keys", "job,town", "--curve", "2,9", "--json").stdout)["curve"]
    assert [point["blanks"] for point in found] == [0, 1, 16]
    assert [point["threshold"] for point in found] == [0, 2, 9]
    assert found[0]["expected"] == pytest.approx(2 / 8)
    words = ("--curve", "2", "--sensitive", "weight", "--chart", people.with_name("curve.html"))
    shown = run("risk", people, "--keys", "job,town", *words).stdout
    assert "proved best" in shown
    page = people.with_name("curve.html").read_text(encoding="utf-8")
    assert '"name":"as it is"' in page
    assert '<td class="number">proved best</td>' in page
    assert "values in order" in shown


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "key fields are missing"),
        (("--keys", "job", "--curve", "two"), "whole numbers"),
        (("--keys", "job", "--chart", "c.html"), "there is none"),
    ],
)
def test_what_is_missing_is_told(people: Path, words: tuple[str, ...], message: str) -> None:
    found = run("risk", people, *words)
    assert found.exit_code != 0
    assert message in told(found)


def test_a_model_with_the_wrong_keys_is_refused(people: Path, tmp_path: Path) -> None:
    (tmp_path / "job.toml").write_text(JOB.replace("least = 2", "most = 0.2"), encoding="utf-8")
    found = run("risk", tmp_path / "job.toml")
    assert found.exit_code != 0
    assert "'distinct-diversity' needs column, least" in told(found)
