"""A second release of a table by another key would tell, with the first, what both hide: it is refused before any search."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any, NoReturn

import pytest

import statveil.jobs.tables.protect
import statveil.jobs.tradeoff.tradeoff
from statveil.core.errors import DisclosureRefused
from statveil.core.secret import SecretKey
from statveil.jobs.folders.tables import protect_to_folder
from statveil.jobs.folders.tradeoff import tradeoff_job_to_folder
from statveil.jobs.staging import RUN_FILE
from statveil.jobs.table_job import read_job
from statveil.jobs.tables.assess import assess_records
from statveil.jobs.tables.earlier import refuse_other_key, table_print
from tests.cli.stories import JOB, VILLAGE, run, told, village_in

OTHER = "77" * 32
EXACT = JOB.replace("[limits]", '[protection]\nfloors = "exact"\n[limits]')
TRADEOFF = JOB + "[tradeoff]\npoints = 1\n"


@pytest.fixture(scope="module")
def _first(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = village_in(tmp_path_factory.mktemp("village"))
    protect_to_folder(read_job(folder / "job.toml"), folder / "first")
    return folder


@pytest.fixture
def village(_first: Path, tmp_path: Path) -> Path:
    """A village with a release in `first`."""
    return Path(shutil.copytree(_first, tmp_path / "village"))


@pytest.fixture
def _no_search(monkeypatch: pytest.MonkeyPatch) -> None:
    def searched(*_: Any, **__: Any) -> NoReturn:
        raise AssertionError("A search was begun.")

    monkeypatch.setattr(statveil.jobs.tables.protect, "adjust_problem", searched)
    monkeypatch.setattr(statveil.jobs.tradeoff.tradeoff, "plain_in_time", searched)


def files_of(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def check(village: Path, *, job: str = JOB, folder: str = "second") -> None:
    """What stands between the table and the search."""
    (village / "job.toml").write_text(job, encoding="utf-8")
    read = read_job(village / "job.toml")
    table, _ = assess_records(read.microdata, read.linked(), read.rules())
    refuse_other_key(village / folder, read, table)


def is_refused(village: Path, *, job: str = JOB) -> bool:
    try:
        check(village, job=job)
    except DisclosureRefused:
        return True
    return False


@pytest.mark.slow
@pytest.mark.usefixtures("_no_search")
@pytest.mark.parametrize("where", [["second"], ["first", "--force"]])
def test_another_key_is_refused_before_any_search_and_nothing_changes(
    village: Path, where: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = files_of(village)
    monkeypatch.setenv("STATVEIL_KEY", OTHER)
    result = run("protect", village / "job.toml", "--out", village / where[0], *where[1:])
    assert result.exit_code == DisclosureRefused.exit_code == 7
    assert "released before by another key, in first" in " ".join(told(result).split())
    assert OTHER not in result.output
    assert files_of(village) == before


@pytest.mark.slow
def test_the_same_key_may_release_the_same_table_again(village: Path) -> None:
    first = (village / "first" / "public" / "income.csv").read_bytes()
    assert run("protect", village / "job.toml", "--out", village / "second").exit_code == 0
    assert run("protect", village / "job.toml", "--out", village / "first", "--force").exit_code == 0
    assert (village / "second" / "public" / "income.csv").read_bytes() == first
    assert (village / "first" / "public" / "income.csv").read_bytes() == first


@pytest.mark.slow
def test_exact_levels_after_drawn_ones_and_drawn_ones_after_exact_are_refused(village: Path) -> None:
    with pytest.raises(DisclosureRefused):
        check(village, job=EXACT)
    run_file = village / "first" / RUN_FILE
    content = json.loads(run_file.read_text(encoding="utf-8"))
    run_file.write_text(json.dumps({**content, "floors": {**content["floors"], "scheme": "exact", "key": None}}), encoding="utf-8")
    check(village, job=EXACT)
    with pytest.raises(DisclosureRefused):
        check(village)


@pytest.mark.slow
@pytest.mark.parametrize(
    "job",
    [
        JOB.replace('name = "income"', 'name = "revenue"'),
        JOB.replace('measure = "income"', 'measure = "income"\ndecimals = -1'),
        JOB.replace("p = 10", "p = 20"),
        JOB.replace("[limits]", "[protection]\nfloor_cap = 2\n[limits]"),
    ],
    ids=["another name", "rounded", "another rule", "another cap"],
)
def test_the_same_table_by_another_name_or_rule_is_the_same_table(village: Path, job: str, monkeypatch: pytest.MonkeyPatch) -> None:
    check(village, job=job)
    monkeypatch.setenv("STATVEIL_KEY", OTHER)
    with pytest.raises(DisclosureRefused, match="by another key, in first"):
        check(village, job=job)


@pytest.mark.slow
def test_other_records_and_another_table_are_no_second_release(village: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STATVEIL_KEY", OTHER)
    assert is_refused(village)
    assert not is_refused(village, job=JOB.replace('trade = "flat"\n', ""))
    (village / "village.csv").write_text(VILLAGE + "C,vet,155\n", encoding="utf-8")
    assert not is_refused(village)


@pytest.mark.slow
def test_shuffled_records_are_the_same_table(village: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    head, *records = VILLAGE.splitlines()
    (village / "village.csv").write_text("\n".join([head, *records[::-1]]) + "\n", encoding="utf-8")
    check(village)
    monkeypatch.setenv("STATVEIL_KEY", OTHER)
    with pytest.raises(DisclosureRefused):
        check(village)


@pytest.mark.slow
@pytest.mark.parametrize("damage", [b"{", b"[]", b"\xff\xfe", b'"text"', b"{}"])
def test_a_damaged_run_file_is_passed_over(village: Path, damage: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STATVEIL_KEY", OTHER)
    assert is_refused(village)
    (village / "first" / RUN_FILE).write_bytes(damage)
    assert not is_refused(village)
    (village / "first" / RUN_FILE).unlink()
    (village / "first" / RUN_FILE).mkdir()
    assert not is_refused(village)


@pytest.mark.slow
@pytest.mark.parametrize("floors", [None, [], "drawn", {}])
def test_a_release_whose_key_is_not_known_is_one_by_another_key(village: Path, floors: Any) -> None:
    run_file = village / "first" / RUN_FILE
    content = json.loads(run_file.read_text(encoding="utf-8"))
    run_file.write_text(json.dumps({**content, "floors": floors}), encoding="utf-8")
    with pytest.raises(DisclosureRefused):
        check(village)


@pytest.mark.slow
@pytest.mark.usefixtures("_no_search")
def test_a_point_of_a_front_is_a_second_release_too(village: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STATVEIL_KEY", OTHER)
    (village / "job.toml").write_text(TRADEOFF, encoding="utf-8")
    assert run("protect", village / "job.toml", "--out", village / "second").exit_code == 7
    assert run("tradeoff", village / "job.toml", "--out", village / "front", "--publish", "recommended").exit_code == 7
    assert not (village / "front").exists()
    with pytest.raises(AssertionError, match="A search was begun"):  # nothing is published of this one
        tradeoff_job_to_folder(read_job(village / "job.toml"), village / "front")


@pytest.mark.slow
def test_the_release_of_a_front_is_seen_from_beside_it(village: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (village / "front").mkdir()
    (village / "first").rename(village / "front" / "release")
    check(village)
    monkeypatch.setenv("STATVEIL_KEY", OTHER)
    with pytest.raises(DisclosureRefused, match="in front/release:"):
        check(village)
    check(village, folder="elsewhere/second")


@pytest.mark.slow
def test_the_run_file_names_the_table_and_the_key(village: Path) -> None:
    content = json.loads((village / "first" / RUN_FILE).read_text(encoding="utf-8"))
    job = read_job(village / "job.toml")
    table, _ = assess_records(job.microdata, job.linked(), job.rules())
    assert content["table"] == table_print(table, job)
    assert content["floors"]["key"] == SecretKey(bytes.fromhex("5e" * 32)).fingerprint
