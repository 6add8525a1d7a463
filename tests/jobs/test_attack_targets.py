"""Release folders and files of linear systems as cases: what is read, and what is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from statveil.audit.attacks.attacker import Effort
from statveil.audit.attacks.case import Case, ReverseSolver
from statveil.audit.attacks.suite import THREAT_BY_ID, attack_all, attack_system
from statveil.audit.attacks.verdict import SuiteReport, VerdictStatus
from statveil.core.errors import InputError
from statveil.formats.rcta import Solution, write_solution
from statveil.formats.system import read_system
from statveil.jobs import attack_targets
from statveil.jobs.adjust import adjust
from statveil.jobs.attack_targets import attack_folders, read_release, releases_case, system_case
from statveil.jobs.folders.tables import protect_to_folder
from statveil.jobs.reverse import reverse_by_adjustment
from statveil.jobs.table_job import read_job

DICE = np.random.Generator(np.random.PCG64(5))
RECORDS = "street,trade,owner,income,hours\n" + "".join(
    f"{street},{trade},{street}{trade}{number % 4},{int(DICE.lognormal(5, 1.5)) * 10},{number + 1}\n"
    for street in ("N1", "N2", "S1", "S2")
    for trade in ("vet", "baker", "smith")
    for number in range(int(DICE.integers(1, 9)))
)
JOB = """
[data]
file = "village.csv"
[table]
name = "{name}"
measure = "income"
holding = "owner"
{more}
[table.dimensions]
{dimensions}
{rules}
[[rule]]
type = "minimum-frequency"
n = 3
level = 10
[protection]
{protection}
[limits]
seconds = 60
"""
P_PERCENT = '[[rule]]\ntype = "p-percent"\np = 10\n'
BOTH = 'street = { hierarchy = "streets.csv" }\ntrade = "flat"'
PAPERS = 'method = "exact"\nfloors = "exact"\ntiny = false\ncoalitions = false'
"""As the papers have it, so that there is something to find out."""
FAST = f'{PAPERS}\nattacks = "report"'


@pytest.fixture(scope="module")
def village(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("village")
    (folder / "village.csv").write_text(RECORDS, encoding="utf-8")
    (folder / "streets.csv").write_text("code,parent\nN,\nS,\nN1,N\nN2,N\nS1,S\nS2,S\n", encoding="utf-8")
    (folder / "other.csv").write_text("code,parent\nE,\nW,\nN1,E\nN2,W\nS1,E\nS2,W\n", encoding="utf-8")
    return folder


def release(village: Path, name: str, *, dimensions: str = BOTH, more: str = "", rules: str = P_PERCENT, protection: str = FAST) -> Path:
    path = village / f"{name}.toml"
    path.write_text(JOB.format(name=name, dimensions=dimensions, more=more, rules=rules, protection=protection), encoding="utf-8")
    folder = village / name
    if not folder.exists():
        protect_to_folder(read_job(path), folder)
    return folder


def folder_case(*folders: Path, effort: Effort, reverse: ReverseSolver | None = None) -> Case:
    """What an attacker can do who has all these releases of the same records."""
    return releases_case([read_release(folder) for folder in folders], effort=effort, reverse=reverse)


def attacked(*folders: Path, only: tuple[str, ...] = ()) -> SuiteReport:
    reverse = reverse_by_adjustment(seconds=60, method="exact")
    return attack_all(folder_case(*folders, effort=Effort(cells=20), reverse=reverse), target="village", only=only)


@pytest.mark.slow
def test_a_release_is_safe_by_itself_and_guessable(village: Path) -> None:
    report = attacked(release(village, "income"))
    assert report["T01"].passed
    assert report["T01"].number == "0 faults in 1 table"
    assert report["T18"].passed
    assert report["T11"].status is VerdictStatus.FAILED  # L1 leaves sensitive cells at their level
    assert report["T20"].reason == "A release at rest has no times and no headers."
    assert report.facts["records"] == RECORDS.count("\n") - 1


def test_two_releases_of_the_same_records_are_compared(village: Path) -> None:
    """By streets and by trades: the grand total is in both, and whoever has both may compare."""
    one = release(village, "by-street", dimensions='street = { hierarchy = "streets.csv" }')
    other = release(village, "by-trade", dimensions='trade = "flat"')
    report = attacked(one, other, only=("T01", "T03", "T08"))
    assert report["T01"].figures["tables"] == 2
    assert report["T08"].figures["tables"] == 2


@pytest.mark.slow
def test_bounds_and_cap_of_the_job_are_known_to_the_attacker(village: Path) -> None:
    bounded = release(village, "bounded", protection=f"{FAST}\ncap = 3\nbounds = {{ percent_down = 80, percent_up = 90 }}")
    case = folder_case(bounded, effort=Effort())
    assert case.attacker.catalogue.most_change == 0.9
    assert case.attacker.catalogue.cap == 3
    assert case.attacker.catalogue.percent == 10


@pytest.mark.slow
def test_counts_of_records_are_a_measure(village: Path) -> None:
    path = release(village, "heads", rules="")
    text = (path / "job.toml").read_text().replace('measure = "income"\n', "")
    counted = village / "heads-counted.toml"
    counted.write_text(text, encoding="utf-8")
    protect_to_folder(read_job(counted, base=village), village / "counted")
    case = folder_case(village / "counted", effort=Effort())
    assert case.attacker.catalogue.counts == "count"
    assert case.attacker.catalogue.percent == 10


MANUAL = P_PERCENT + '[[rule]]\ntype = "manual"\nfile = "cells.csv"\n'


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("weighted", {"more": 'weight = "hours"'}),
        ("contributed", {"more": 'weight = "hours"\nweight_policy = "contribution"\nweight_decimals = 0\nshadow = "hours"'}),
        ("rounded", {"more": "decimals = -1"}),
        ("manual", {"rules": MANUAL}),
    ],
)
def test_every_kind_of_release_is_attacked(village: Path, name: str, settings: dict[str, str]) -> None:
    (village / "cells.csv").write_text("street,trade,status\nN1,vet,sensitive\n", encoding="utf-8")
    folder = release(village, name, **settings)
    report = attacked_folders(folder)
    assert report["T01"].passed
    assert report["T11"].status is VerdictStatus.FAILED
    assert report["T15"].threat.id == "T15"
    assert report["T18"].passed
    assert len(report.verdicts) == len(THREAT_BY_ID)


def attacked_folders(*folders: Path, only: tuple[str, ...] = ()) -> SuiteReport:
    return attack_folders(folders, effort=Effort(cells=20), reverse=reverse_by_adjustment(seconds=60, method="exact"), only=only)


@pytest.mark.slow
def test_weighted_records_add_up_to_the_cells(village: Path) -> None:
    """What the attacker of many tables is scored by is the office's own table, to the unit."""
    case = folder_case(release(village, "weighted", more='weight = "hours"'), effort=Effort())
    answered, register = case.attacker.journal.answers[0], case.attacker.register
    assert (case.truth_of(0).value == register.sums(answered.request, answered.table, case.truth.values["income"])).all()
    assert case.truth_of(0).sensitive.any()


@pytest.mark.slow
def test_several_releases_are_attacked_together_and_each_by_itself(village: Path) -> None:
    one = release(village, "by-street", dimensions='street = { hierarchy = "streets.csv" }')
    other = release(village, "by-trade", dimensions='trade = "flat"')
    report = attacked_folders(one, other, only=("T01", "T03", "T08", "T13", "T14"))
    assert report["T01"].number == "by-street: 0 faults; by-trade: 0 faults"
    assert report["T08"].figures["tables"] == 2
    assert report["T14"].status is VerdictStatus.NOT_APPLICABLE
    assert report.target == "by-street, by-trade"


@pytest.mark.slow
def test_of_a_huge_table_the_distinct_cells_are_attacked(village: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attack_targets, "MOST_POSITIONS", 3)
    report = attacked_folders(release(village, "income"), only=("T02", "T11"))
    assert "positions" in report["T02"].reason
    assert report["T11"].status is VerdictStatus.FAILED
    with pytest.raises(InputError, match="T99"):
        attacked_folders(release(village, "income"), only=("T99",))


@pytest.mark.slow
def test_releases_of_different_records_are_refused(village: Path, tmp_path: Path) -> None:
    (tmp_path / "village.csv").write_text(RECORDS, encoding="utf-8")
    (tmp_path / "streets.csv").write_text((village / "streets.csv").read_text(), encoding="utf-8")
    with pytest.raises(InputError, match="same records"):
        attacked(release(village, "income"), release(tmp_path, "income"))


@pytest.mark.slow
def test_one_name_for_two_trees_is_refused(village: Path) -> None:
    other = release(village, "otherwise", dimensions='street = { hierarchy = "other.csv" }\ntrade = "flat"')
    with pytest.raises(InputError, match="different trees"):
        attacked(release(village, "income"), other)


JJ = """0
4
0 300 1 u 0 600 30 30 0
1 500 1 s 0 1000 0 0 0
2 200 1 u 0 400 20 20 0
3 1000 1 s 0 2000 0 0 0
1
0 4 : 3 (-1) 0 (1) 1 (1) 2 (1)
"""


@pytest.mark.slow
def test_a_solution_file_is_attacked_with_the_bounds_of_its_system(tmp_path: Path) -> None:
    original = tmp_path / "small.jj"
    original.write_text(JJ, encoding="ascii")
    solution = adjust(original, method="exact").solution
    case = system_case(original, solution, effort=Effort(), reverse=reverse_by_adjustment(seconds=60, method="exact"))
    report = attack_system(case, target="small")
    assert case.published.known_bounds
    assert report["T01"].passed
    assert report["T08"].passed
    assert report["T11"].status is VerdictStatus.FAILED


def test_a_solution_of_another_system_is_refused(tmp_path: Path) -> None:
    original = tmp_path / "small.jj"
    original.write_text(JJ, encoding="ascii")
    value = read_system(original).value[:3]
    write_solution(Solution(value=value, released=value, sensitive=np.zeros(3, dtype=bool), decimals=0), tmp_path / "short.sol")
    with pytest.raises(InputError, match="has 3 cells"):
        system_case(original, tmp_path / "short.sol", effort=Effort(), reverse=None)
