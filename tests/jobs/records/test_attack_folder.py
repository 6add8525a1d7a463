"""The folder of a safe file attacked anew: the same figures as when it was made, by all words of the command line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from statveil.cli.app import app
from statveil.core.errors import InputError
from statveil.jobs.folders.records import FileFolder, anonymise_to_folder
from statveil.jobs.record_job import read_file_job
from statveil.jobs.records.attack_folder import attack_file_folder

DICE = np.random.Generator(np.random.PCG64(3))
PEOPLE = "region,job,age,income\n" + "".join(
    f"{DICE.choice(list('NSEW'))},{DICE.choice(['cook', 'vet', 'smith', 'clerk', 'clerk'])},{DICE.integers(18, 80)},{1000 + number}\n"
    for number in range(150)
)
JOB = """
[data]
file = "people.csv"
[fields]
region = {{}}
job = {{}}
age = {{ intervals = [10, 20] }}
[safety]
threshold = {threshold}
order = 2
{safety}
[limits]
seconds = 60
[output]
{output}
"""


def made(folder: Path, name: str, *, threshold: int = 3, safety: str = "", output: str = "") -> FileFolder:
    (folder / "people.csv").write_text(PEOPLE, encoding="utf-8")
    (folder / f"{name}.toml").write_text(JOB.format(threshold=threshold, safety=safety, output=output), encoding="utf-8")
    return anonymise_to_folder(read_file_job(folder / f"{name}.toml"), folder / name)


@pytest.fixture(scope="module")
def weak(tmp_path_factory: pytest.TempPathFactory) -> FileFolder:
    """Rare combinations are blanked, and those who know that only those are can often tell what was there."""
    return made(tmp_path_factory.mktemp("weak"), "weak", threshold=4)


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> FileFolder:
    """Everything coarse enough that nothing is blank."""
    folder = tmp_path_factory.mktemp("good")
    return made(folder, "good", threshold=1)


def test_the_figures_are_those_found_when_the_file_was_made(weak: FileFolder) -> None:
    report = attack_file_folder(weak.folder)
    first = {each.name: each.value for each in weak.release.attacks}
    assert weak.release.plan.suppression.total > 0
    assert report["M03"].figures["Blanks that can hide one value only, for somebody who knows the method"] == pytest.approx(
        first["M03 pinned"]
    )
    assert next(iter(report["M04"].figures.values())) == pytest.approx(first["M04"])
    assert next(iter(report["M05"].figures.values())) == pytest.approx(first["M05"])
    assert report["M01"].passed
    assert report["M08"].passed


def test_some_attacks_on_request_and_no_unknown_ones(weak: FileFolder) -> None:
    assert [each.threat.id for each in attack_file_folder(weak.folder, only=["M08"]).verdicts] == ["M08"]
    with pytest.raises(InputError, match="T11"):
        attack_file_folder(weak.folder, only=["T11"])


def test_an_earlier_release_is_compared(tmp_path: Path, weak: FileFolder) -> None:
    (tmp_path / "earlier.csv").write_bytes(weak.files["safe file"].read_bytes())
    later = made(tmp_path, "later", threshold=4, output='earlier = ["earlier.csv"]')
    assert attack_file_folder(later.folder, only=["M07"])["M07"].passed


def run(*words: object) -> tuple[int, str]:
    found = CliRunner().invoke(app, [str(word) for word in words])
    return found.exit_code, found.stdout + found.stderr


@pytest.mark.slow
def test_exit_codes_of_all_words(weak: FileFolder, good: FileFolder, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    assert run("audit", weak.folder)[0] == 0
    assert run("check", weak.folder)[0] == 5
    assert run("attack", weak.folder, "--out", page)[0] == 5
    assert run("check", weak.folder, "--no-attacks")[0] == 0
    assert run("check", good.folder)[0] == 0
    assert run("attack", good.folder, "--out", page)[0] == 0
    assert page.is_file()
    code, told = run("check", good.folder, weak.folder)
    assert code == 2
    assert "Several folders" in told


def test_a_changed_file_fails_the_audit(weak: FileFolder, tmp_path: Path) -> None:
    later = made(tmp_path, "changed", threshold=4)
    file = later.files["safe file"]
    lines = file.read_text(encoding="utf-8").splitlines()
    file.write_text("\n".join([lines[0], *sorted(lines[1:])]) + "\n", encoding="utf-8")
    assert run("check", later.folder)[0] == 5
    assert run("audit", later.folder)[0] == 5
