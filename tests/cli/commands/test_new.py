"""`statveil new` looks at the data and writes a job that can be run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from statveil.jobs.record_job import read_file_job
from statveil.jobs.server_config import read_config
from statveil.jobs.table_job import read_job
from tests.cli.stories import run, told

PEOPLE = "id,town,job,industry,income,weight\n" + "\n".join(
    f"P{n:03},{'ABC'[n % 3]},{'vet' if n % 7 else 'baker'},{n % 5 + 10}.{n % 4 + 10},{n * n + 5},{1 + n % 3 / 2}" for n in range(120)
)


@pytest.fixture
def people(tmp_path: Path) -> Path:
    (tmp_path / "people.csv").write_text(PEOPLE, encoding="utf-8")
    return tmp_path / "people.csv"


def test_a_job_for_a_table_takes_amounts_codes_and_weights_for_what_they_are(people: Path, tmp_path: Path) -> None:
    assert run("new", people, "--out", tmp_path / "t.toml").exit_code == 0
    spec = read_job(tmp_path / "t.toml").specs()[0]
    assert spec.measure == "income"
    assert spec.weight == "weight"
    assert set(spec.dimensions) == {"town", "job", "industry"}


def test_a_job_for_records_names_codes_and_drops_the_id(people: Path, tmp_path: Path) -> None:
    assert run("new", people, "--kind", "records", "--out", tmp_path / "r.toml").exit_code == 0
    job = read_file_job(tmp_path / "r.toml")
    assert set(job.parts.fields) == {"town", "job", "industry"}
    assert job.parts.output.drop == ["id"]


def test_a_job_for_records_drops_every_column_that_names_persons(tmp_path: Path) -> None:
    rows = "\n".join(f"P{n},Name {n},{'mf'[n % 2]},{'abc'[n % 3]}" for n in range(60))
    (tmp_path / "p.csv").write_text(f"id,name,sex,town\n{rows}\n", encoding="utf-8")
    assert run("new", tmp_path / "p.csv", "--kind", "records", "--out", tmp_path / "r.toml").exit_code == 0
    assert read_file_job(tmp_path / "r.toml").parts.output.drop == ["id", "name"]


def test_key_fields_are_what_is_known_of_persons_before_what_has_few_codes(tmp_path: Path) -> None:
    """Ten yes-or-no columns of benefits are no better keys for having two codes each."""
    names = [f"REC{letter}" for letter in "ABCDEFGHIJ"]
    rows = "\n".join(",".join([*("12"[n % (2 + k) > 0] for k in range(10)), f"{20 + n % 40}", f"{n % 7}", f"{n % 9}"]) for n in range(200))
    (tmp_path / "p.csv").write_text(f"{','.join(names)},AGE,EDUC1,native-country\n{rows}\n", encoding="utf-8")
    assert run("new", tmp_path / "p.csv", "--kind", "records", "--out", tmp_path / "r.toml").exit_code == 0
    fields = read_file_job(tmp_path / "r.toml").parts.fields
    assert list(fields)[:3] == ["AGE", "EDUC1", "native-country"]
    assert len(fields) == 6
    assert fields["AGE"].intervals


def test_the_commented_job_for_records_is_a_job(tmp_path: Path) -> None:
    assert run("new", "--kind", "records", "--out", tmp_path / "r.toml").exit_code == 0
    text = (tmp_path / "r.toml").read_text(encoding="utf-8")
    assert set(read_file_job(tmp_path / "r.toml").parts.fields) == {"age", "region", "sex"}
    every = re.sub(r"^# (?=\[|[a-z_]+ = )", "", text, flags=re.MULTILINE)
    (tmp_path / "every.toml").write_text(every, encoding="utf-8")
    job = read_file_job(tmp_path / "every.toml")
    assert job.parts.perturb is not None
    assert job.parts.perturb.steps()[0].method == "microaggregation"


def test_ages_get_classes_and_weights_their_place(tmp_path: Path) -> None:
    """Children's ages have one digit, so that ages look like amounts; a language is no age."""
    rows = "\n".join(f"{'NS'[n % 2]},{n % 70},{10 + n % 60},{1 + n % 3 / 2}" for n in range(300))
    (tmp_path / "p.csv").write_text(f"region,age,language,weight\n{rows}\n", encoding="utf-8")
    assert run("new", tmp_path / "p.csv", "--kind", "records", "--out", tmp_path / "r.toml").exit_code == 0
    job = read_file_job(tmp_path / "r.toml")
    assert job.parts.fields["age"].intervals == [5, 10, 20]
    assert job.parts.fields["language"].intervals == []
    assert job.parts.safety.weight == "weight"


def test_a_server_gets_measures_counts_and_the_unit(people: Path, tmp_path: Path) -> None:
    assert run("new", people, "--kind", "server", "--out", tmp_path / "s.toml").exit_code == 0
    part = read_config(tmp_path / "s.toml").datasets[0]
    assert part.unit == "id"
    assert [each.id for each in part.measure] == ["income", "records"]


def test_nothing_is_overwritten_and_unknown_kinds_are_refused(people: Path, tmp_path: Path) -> None:
    (tmp_path / "t.toml").write_text("precious", encoding="utf-8")
    assert run("new", people, "--out", tmp_path / "t.toml").exit_code == 2
    assert (tmp_path / "t.toml").read_text(encoding="utf-8") == "precious"
    assert "Known: table, records, server" in told(run("new", people, "--kind", "novel", "--out", tmp_path / "n.toml"))
    assert run("new", "--kind", "server").exit_code == 2
