"""From records to a safe file on disk: written whole, audited, shuffled, or not at all."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import statveil as sv
from statveil.cli.app import app
from statveil.publish import file_release as release_module
from tests.publish.safe_files import NAMES, keys, town


@pytest.mark.parametrize(
    ("ending", "settings"),
    [
        ("csv", {}),
        ("csv", {"candidates": 2}),
        ("parquet", {"rule": "recount"}),
        ("parquet", {"missing": "category"}),
        ("sav", {"candidates": 2}),
        ("sav", {"linked": [["job", "income"]]}),
        ("dta", {"rule": "recount"}),
    ],
    ids=str,
)
def test_every_format_passes_its_audit(data: sv.Microdata, tmp_path: Path, ending: str, settings: dict[str, Any]) -> None:
    if ending in ("sav", "dta"):
        pytest.importorskip("pyreadstat")
    plan = sv.plan_recoding(data, keys(**settings))
    release = sv.apply_plan(data, plan, tmp_path / f"safe.{ending}", drop=["id"])
    assert release.audit.passed
    assert release.unsafe[plan.keys.rule] == 0
    assert sv.read_microdata(release.path).columns == (*NAMES, "income")


def test_a_name_without_an_ending_is_a_folder_of_the_same_records(data: sv.Microdata, tmp_path: Path) -> None:
    plan = sv.plan_recoding(data, keys())
    one, other = (sv.apply_plan(data, plan, tmp_path / name) for name in ("safe.parquet", "safe"))
    assert [file.name for file in other.path.iterdir()] == ["part-00000.parquet"]
    assert other.audit.passed
    assert other.to_arrow().equals(one.to_arrow())
    with pytest.raises(sv.errors.InputError, match="cannot be written"):
        sv.apply_plan(data, plan, tmp_path / "safe")
    again = sv.apply_plan(data, plan, tmp_path / "again.csv", earlier=[other.path])
    assert [check.checked for check in again.audit.checks if check.name == "earlier"] == [1]
    (other.path / "part-00001.parquet").write_bytes(one.path.read_bytes())
    with pytest.raises(sv.errors.AuditFailed, match="is not the file that was audited"):
        other.to_arrow()


def test_types_of_other_columns_stay(data: sv.Microdata, tmp_path: Path) -> None:
    release = sv.apply_plan(data, sv.plan_recoding(data, keys()), tmp_path / "safe.parquet")
    assert pq.read_schema(release.path).field("income").type == pa.int64()


def test_labels_of_values_are_kept(tmp_path: Path) -> None:
    pyreadstat = pytest.importorskip("pyreadstat")
    frame = pq.read_table(town(tmp_path / "town.parquet")).to_pandas()
    frame["sex"] = (frame["sex"] == "v1") + 1
    pyreadstat.write_sav(
        frame, str(tmp_path / "town.sav"), column_labels={"sex": "Sex"}, variable_value_labels={"sex": {1: "man", 2: "woman"}}
    )
    data = sv.read_microdata(tmp_path / "town.sav")
    release = sv.apply_plan(data, sv.plan_recoding(data, sv.KeyVariables(fields={"sex": None, "job": None})), tmp_path / "safe.sav")
    _, facts = pyreadstat.read_sav(str(release.path), metadataonly=True)
    assert facts.variable_value_labels["sex"] == {1.0: "man", 2.0: "woman"}
    assert facts.column_names_to_labels["sex"] == "Sex"


def test_the_order_of_the_original_is_gone_and_the_bytes_repeat(tmp_path: Path) -> None:
    data = sv.read_microdata(town(tmp_path / "town.parquet", records=4000))
    table = pq.read_table(tmp_path / "town.parquet")
    pq.write_table(table.take(np.random.default_rng(5).permutation(4000)), tmp_path / "other.parquet")
    plan = sv.plan_recoding(data, keys(candidates=2), seed=3)
    first = sv.apply_plan(data, plan, tmp_path / "a.csv")
    other = sv.read_microdata(tmp_path / "other.parquet")
    second = sv.apply_plan(other, sv.plan_recoding(other, keys(candidates=2), seed=3), tmp_path / "b.csv")
    assert first.path.read_bytes() == second.path.read_bytes()
    ids = np.array([int(line.rsplit(",", 1)[1]) for line in first.path.read_text().splitlines()[1:]])
    assert abs(np.corrcoef(ids, np.arange(4000))[0, 1]) < 0.05
    third = sv.apply_plan(data, plan, tmp_path / "c.csv", key="another secret")
    assert first.file_hash != third.file_hash


def test_a_fault_in_the_written_file_releases_nothing(data: sv.Microdata, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = sv.plan_recoding(data, keys())
    write = release_module.write_safe_file

    def careless(source: sv.Microdata, given: Any, path: Path, **rest: Any) -> None:
        write(source, given, path, **rest)
        lines = path.read_text().splitlines()
        path.write_text("\n".join([*lines[:-1], lines[-2]]) + "\n")

    monkeypatch.setattr(release_module, "write_safe_file", careless)
    before = sorted(tmp_path.iterdir())
    with pytest.raises(sv.AuditFailed):
        sv.apply_plan(data, plan, tmp_path / "safe.csv")
    assert sorted(tmp_path.iterdir()) == before


def test_a_key_cannot_be_dropped_and_the_original_not_overwritten(data: sv.Microdata, tmp_path: Path) -> None:
    plan = sv.plan_recoding(data, keys())
    for wrong in ({"to": tmp_path / "safe.csv", "drop": ["job"]}, {"to": tmp_path / "town.parquet"}, {"to": tmp_path / "safe.xyz"}):
        with pytest.raises(sv.InputError):
            sv.apply_plan(data, plan, **wrong)  # type: ignore[arg-type]


@pytest.mark.slow
def test_a_second_release_that_fills_the_blanks_of_the_first_is_refused(data: sv.Microdata, tmp_path: Path) -> None:
    first = sv.apply_plan(data, sv.plan_recoding(data, keys(ties={"region": 1.0, "job": 2.0, "sex": 3.0})), tmp_path / "first.csv")
    assert first.plan.suppression.total > 0
    same = sv.apply_plan(data, first.plan, tmp_path / "same.csv", earlier=[first.path])
    assert same.audit.passed
    other = sv.plan_recoding(data, keys(ties={"region": 3.0, "job": 1.0, "sex": 2.0}, costs={"region": 1.0, "job": 1.0, "sex": 0.5}))
    with pytest.raises(sv.AuditFailed):
        sv.apply_plan(data, other, tmp_path / "other.csv", earlier=[first.path])
    earlier = sv.recode.EarlierReleases([first.path], waiver="agreed with the board, minute 12")
    waived = sv.apply_plan(data, other, tmp_path / "other.csv", earlier=earlier)
    told = [check["findings"] for check in waived.certificate()["audit"]["checks"] if check["name"] == "earlier"]
    assert "minute 12" in told[0][0]


def test_releases_that_nothing_joins_are_said_to_be_unchecked(data: sv.Microdata, tmp_path: Path) -> None:
    plan = sv.plan_recoding(data, keys())
    sv.apply_plan(data, plan, tmp_path / "first.csv", drop=["id", "income"])
    second = sv.apply_plan(data, plan, tmp_path / "second.csv", drop=["id", "income"], earlier=[tmp_path / "first.csv"])
    [check] = [each for each in second.audit.checks if each.name == "earlier"]
    assert (check.checked, check.faults) == (0, 0)
    assert check.words.endswith("(not checked)")
    assert check.findings == ("first.csv: not checked, no other columns tell which records are the same",)


def test_weights_may_be_dropped_unless_the_rule_recounts_them(data: sv.Microdata, tmp_path: Path) -> None:
    counted = {"counting": "weights", "weight": "income", "threshold": 2000}
    release = sv.apply_plan(data, sv.plan_recoding(data, keys(**counted)), tmp_path / "safe.csv", drop=["income"])
    assert release.unsafe == {"original": 0, "recount": None, "wildcard": None}
    with pytest.raises(sv.InputError, match="weights cannot be dropped"):
        sv.apply_plan(data, sv.plan_recoding(data, keys(**counted, rule="recount")), tmp_path / "no.csv", drop=["income"])


def test_no_rank_of_the_original_order_is_left(tmp_path: Path) -> None:
    records = 120_000
    rng = np.random.default_rng(2)
    table = {"region": [f"r{code}" for code in rng.integers(0, 9, records)], "id": np.arange(records)}
    data = sv.read_microdata(pa.table(table))
    release = sv.apply_plan(data, sv.plan_recoding(data, sv.KeyVariables(fields={"region": None})), tmp_path / "safe.parquet")
    assert abs(np.corrcoef(pq.read_table(release.path)["id"].to_numpy(), np.arange(records))[0, 1]) < 0.01


JOB = """
[data]
file = "town.parquet"
[fields]
region = { own = { half = { v0 = "h0", v1 = "h0", v2 = "h0", v3 = "h1", v4 = "h1", v5 = "h1" } } }
job = {}
sex = {}
[safety]
threshold = 3
order = 3
[output]
file = "safe.csv"
drop = ["id"]
"""


def test_the_command_writes_a_folder_or_nothing(tmp_path: Path) -> None:
    town(tmp_path / "town.parquet")
    (tmp_path / "job.toml").write_text(JOB)
    run = CliRunner().invoke(app, ["anonymise", str(tmp_path / "job.toml"), "--json"])
    assert run.exit_code == 0, run.output
    folder = tmp_path / "job-release"
    assert sorted(entry.name for entry in folder.iterdir()) == ["certificate.json", "internal", "job.toml", "public", "run.json"]
    again = CliRunner().invoke(app, ["anonymise", str(tmp_path / "job.toml")])
    assert again.exit_code == 2
    (tmp_path / "job.toml").write_text(JOB.replace("order = 3", "order = 3\nrule = 'none'"))
    wrong = CliRunner().invoke(app, ["anonymise", str(tmp_path / "job.toml"), "--out", str(tmp_path / "other")])
    assert wrong.exit_code == 2
    assert "safety.rule" in wrong.output
    assert not (tmp_path / "other").exists()


def test_the_command_says_what_of_a_recoding_it_does_not_use(tmp_path: Path) -> None:
    town(tmp_path / "town.parquet")
    (tmp_path / "job.grc").write_text("1: v0-v2\n2: v3-\n<MISSING> 8\n")
    (tmp_path / "job.toml").write_text(JOB.replace("job = {}", 'job = { grc = ["job.grc"] }'))
    run = CliRunner().invoke(app, ["anonymise", str(tmp_path / "job.toml"), "--json"])
    assert run.exit_code == 0, run.output
    assert "missing codes 8" in json.loads(run.stdout)["warnings"][0]
    again = CliRunner().invoke(app, ["anonymise", str(tmp_path / "job.toml"), "--force"])
    assert "Warning: " in again.stderr


def test_the_risk_command_counts(tmp_path: Path) -> None:
    town(tmp_path / "town.parquet")
    run = CliRunner().invoke(app, ["risk", str(tmp_path / "town.parquet"), "--keys", "region,job,sex", "--json"])
    found = json.loads(run.output)
    assert found["records"] == 400
    assert found["unsafe_records"] == sv.find_unsafe(sv.read_microdata(tmp_path / "town.parquet"), keys()).records
    assert CliRunner().invoke(app, ["risk", str(tmp_path / "town.parquet"), "--keys", "nothing"]).exit_code == 2


def test_the_risk_command_reads_a_file_as_it_is_told(tmp_path: Path) -> None:
    rows = [f"{'Köln' if n % 3 else 'Ulm'}#{n % 2}#1,5" for n in range(12)]
    (tmp_path / "town.txt").write_bytes("\n".join(["town#sex#weight", *rows]).encode("latin-1") + b"\n")
    asked = ["risk", str(tmp_path / "town.txt"), "--keys", "town,sex", "--weight", "weight", "--json"]
    run = CliRunner().invoke(app, [*asked, "--delimiter", "#", "--encoding", "latin-1", "--decimal", ","])
    assert run.exit_code == 0, run.output
    assert json.loads(run.output)["unsafe_records"] == 4
    assert CliRunner().invoke(app, [*asked, "--delimiter", "#", "--decimal", ";"]).exit_code == 2


@pytest.mark.parametrize("ending", ["sav", "dta"])
def test_the_clock_leaves_no_trace_in_a_file(data: sv.Microdata, tmp_path: Path, ending: str) -> None:
    pytest.importorskip("pyreadstat")
    plan = sv.plan_recoding(data, keys())
    release = sv.apply_plan(data, plan, tmp_path / f"safe.{ending}")
    start = release.path.read_bytes()[:4096]
    assert start[92:109] == b"01 Jan 7000:00:00" if ending == "sav" else b"01 Jan 1970 00:00" in start


@pytest.mark.parametrize("ending", ["csv", "parquet", "sav", "dta"])
def test_other_columns_stay_what_they_are_in_every_format(tmp_path: Path, ending: str) -> None:
    """Long identifiers, short floats, empty texts, trailing blanks and texts of many lengths: none may be changed or stop the release."""
    if ending in ("sav", "dta"):
        pytest.importorskip("pyreadstat")
    rows = 60
    records = {
        "sex": ["m", "f"] * 30,
        "id": [2**60 + each for each in range(rows)],
        "share": pa.array([0.1 * each for each in range(rows)], pa.float32()),
        "large": [1e300, 2.0**60] * 30,
        "note": ["x ", "", None] * 20,
        "letter": ["ä" * each * 40 for each in range(rows)],
    }
    data = sv.read_microdata(pa.table(records))
    plan = sv.plan_recoding(data, sv.KeyVariables(fields={"sex": None}))
    first, second = (sv.apply_plan(data, plan, tmp_path / f"{name}.{ending}") for name in ("a", "b"))
    assert first.file_hash == second.file_hash
    released = sv.read_microdata(first.path)
    with released.engine.session() as session:
        found = session.query("SELECT CAST(c1 AS VARCHAR) AS id, strlen(c5) AS length FROM records").to_pydict()
    assert sorted(found["id"]) == [str(2**60 + each) for each in range(rows)]
    assert sorted(length or 0 for length in found["length"]) == [each * 80 for each in range(rows)]


def test_labels_are_kept_beside_missing_values_and_dropped_where_values_were_recoded(tmp_path: Path) -> None:
    pyreadstat, pandas = pytest.importorskip("pyreadstat"), pytest.importorskip("pandas")
    frame = pandas.DataFrame({"sex": [1.0, 2.0, None] * 20, "job": ["v", "f", "v"] * 20, "town": ["u", "e", "e"] * 20})
    labels = {"sex": {1: "man", 2: "woman"}, "job": {"v": "vet", "f": "farmer"}, "town": {"u": "Urk", "e": "Ede"}}
    pyreadstat.write_sav(frame, str(tmp_path / "people.sav"), variable_value_labels=labels)
    data = sv.read_microdata(tmp_path / "people.sav")
    town = sv.recode.Menu.own({"all": {"u": "x", "e": "x"}})
    plan = sv.plan_recoding(data, sv.KeyVariables(fields={"sex": None, "job": None, "town": town}), recoding={"town": "all"})
    kept = {"sex": labels["sex"], "job": labels["job"]}
    for ending, read in (("sav", pyreadstat.read_sav), ("dta", pyreadstat.read_dta)):
        release = sv.apply_plan(data, plan, tmp_path / f"safe.{ending}")
        _, facts = read(str(release.path))
        assert facts.variable_value_labels == (kept if ending == "sav" else {"sex": labels["sex"]})


@pytest.mark.parametrize("ending", ["sav", "dta"])
def test_a_name_that_the_format_does_not_know_is_told_before_anything_is_done(tmp_path: Path, ending: str) -> None:
    pytest.importorskip("pyreadstat")
    data = sv.read_microdata(pa.table({"sex": ["m"] * 9, "home town": ["Urk"] * 9}))
    plan = sv.plan_recoding(data, sv.KeyVariables(fields={"sex": None}))
    with pytest.raises(sv.InputError, match="'home town' cannot be the name"):
        sv.apply_plan(data, plan, tmp_path / f"safe.{ending}")
    assert sv.apply_plan(data, plan, tmp_path / f"safe.{ending}", drop=["home town"]).audit.passed


def test_attacks_are_told_and_refused_on_demand(data: sv.Microdata, tmp_path: Path) -> None:
    plan = sv.plan_recoding(data, keys())
    release = sv.apply_plan(data, plan, tmp_path / "safe.csv")
    told = {each["name"]: each["passed"] for each in release.certificate()["attacks"]}
    assert set(told) == {"M03 guessing", "M03 pinned", "M04", "M05"}
    assert not all(told.values())
    with pytest.raises(sv.AuditFailed, match="knows the method"):
        sv.apply_plan(data, plan, tmp_path / "other.csv", attacks="refuse")
    assert not (tmp_path / "other.csv").exists()
    with pytest.raises(sv.InputError):
        sv.apply_plan(data, plan, tmp_path / "other.csv", attacks="ignore")
