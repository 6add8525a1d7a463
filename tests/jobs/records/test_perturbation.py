"""Perturbation in a job: one run from records to folder, checked again by key."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from statveil.core.errors import InputError
from statveil.core.limits import OnProgress, Progress
from statveil.core.secret import new_key_file
from statveil.jobs.folders.records import FileFolder, anonymise_to_folder
from statveil.jobs.recheck import audit_file_folder
from statveil.jobs.record_job import read_file_job
from statveil.jobs.records.attack_folder import attack_file_folder
from tests.jobs.records.test_attack_folder import PEOPLE

JOB = """
[data]
file = "people.csv"
[fields]
region = {{}}
job = {{}}
[safety]
order = 2
[perturb]
key = "office.key"
[[perturb.step]]
method = "rank-swapping"
columns = ["income"]
percent = 10
[[perturb.step]]
{step}
"""
CODED = 'method = "quantile-coding"\ncolumns = ["age"]\ntop = 0.95'


def made(folder: Path, step: str = CODED, on_progress: OnProgress | None = None) -> FileFolder:
    (folder / "people.csv").write_text(PEOPLE, encoding="utf-8")
    (folder / "job.toml").write_text(JOB.format(step=step), encoding="utf-8")
    if not (folder / "office.key").exists():
        new_key_file(folder / "office.key")
    return anonymise_to_folder(read_file_job(folder / "job.toml"), folder / "made", on_progress=on_progress)


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> FileFolder:
    return made(tmp_path_factory.mktemp("perturbed"))


@pytest.fixture
def copy(original: FileFolder, tmp_path: Path) -> Path:
    shutil.copytree(original.folder.parent, tmp_path / "office")
    return tmp_path / "office"


def test_one_run_recodes_blanks_and_perturbs(original: FileFolder) -> None:
    assert original.release.perturbed is not None
    assert [step.method for step in original.release.perturbed.steps] == ["rank-swapping", "quantile-coding"]
    again = audit_file_folder(original.folder)
    assert again.passed
    assert {"perturbed", "rank-swapping", "quantile-coding", "recount"} <= {check.name for check in again.checks}
    assert attack_file_folder(original.folder, only=["M08"])["M08"].passed


def test_a_changed_number_is_found(copy: Path) -> None:
    path = copy / "made" / "public" / "safe.csv"
    header, first, *rest = path.read_text().splitlines()
    region, job, age, income = first.split(",")
    path.write_text("\n".join([header, ",".join([region, job, age, str(int(income) + 1)]), *rest]) + "\n")
    assert not audit_file_folder(copy / "made").passed


def test_by_another_key_nothing_can_be_checked(copy: Path) -> None:
    (copy / "office.key").unlink()
    new_key_file(copy / "office.key")
    with pytest.raises(InputError, match="by another key"):
        audit_file_folder(copy / "made")


@pytest.mark.parametrize(
    ("step", "words"),
    [
        ('method = "noise"\ncolumns = ["age"]\nk = 3', "noise has no setting 'k'"),
        ('method = "noise"\ncolumns = ["age"]\nlevels = 3', "levels"),
        ('method = "pram"\ncolumns = ["job"]', "'job' is perturbed, and it is a key field"),
        ('method = "blur"\ncolumns = ["age"]', "no perturbation 'blur'"),
    ],
)
def test_what_is_not_understood_is_refused_before_anything_is_planned(tmp_path: Path, step: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        made(tmp_path, step)
    assert not (tmp_path / "made").exists()


@pytest.mark.slow
def test_progress_tells_every_stage(tmp_path: Path) -> None:
    heard: list[Progress] = []
    made(tmp_path, on_progress=heard.append)
    stages = list(dict.fromkeys(each.stage for each in heard))
    assert stages[:2] == ["perturbing: rank-swapping", "perturbing: quantile-coding"]
    assert stages[-4:] == ["attacking", "writing", "auditing", "reporting"]
