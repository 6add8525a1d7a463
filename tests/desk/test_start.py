"""The desk as a stranger starts it: the command, a real server, a real browser, and only clicks from raw records to a release."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from statveil.core.errors import InputError
from statveil.desk.people import invite
from statveil.desk.start import DeskAddress, run_desk
from tests.desk.conftest import COMMAND, browser_page, desk_process
from tests.desk.screens.test_keys import PEOPLE
from tests.desk.stories import REGIONS, SHOPS


@pytest.mark.parametrize("host", ["0.0.0.0", "192.0.2.1", "::"])
def test_beyond_this_machine_only_with_tls(host: str) -> None:
    with pytest.raises(InputError, match="in the clear"):
        DeskAddress(host=host)
    assert host not in DeskAddress(host="0.0.0.0", plain=True, names=("desk.example",)).hosts
    assert "desk.example" in DeskAddress(host="0.0.0.0", plain=True, names=("Desk.example",)).hosts


def test_a_certificate_needs_its_key() -> None:
    with pytest.raises(InputError, match="belong together"):
        DeskAddress(certificate=Path("cert.pem"))


def test_a_desk_for_a_team_without_people_does_not_start(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="Nobody is invited"):
        run_desk(tmp_path, DeskAddress(), person=None, say=print, open_browser=False)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def walk_by_keys(page: Any) -> None:
    """From a sensitive cell one to the left, and on to the next sensitive one."""
    page.focus("td.sensitive button")
    page.keyboard.press("ArrowLeft")
    assert page.evaluate("document.activeElement.closest('td, th').cellIndex") == page.evaluate(
        "document.querySelector('td.sensitive').cellIndex - 1"
    )
    page.keyboard.press("s")
    assert page.evaluate("document.activeElement.closest('td').className") == "sensitive"


class Officer:
    """Somebody at the page, who does nothing but click, choose and type; every act is counted."""

    def __init__(self, page: Any) -> None:
        self.page, self.acts = page, 0

    def click(self, what: str) -> None:
        self.acts += 1
        self.page.click(what)
        self.page.wait_for_load_state("load")

    def choose(self, where: str, what: str) -> None:
        self.acts += 1
        self.page.select_option(where, what)

    def type(self, where: str, what: str) -> None:
        self.acts += 1
        self.page.fill(where, what)

    def add(self, path: Path) -> None:
        self.acts += 1
        self.page.set_input_files("#file", path)
        self.click("button:has-text('Add')")

    def sign_in(self, token: str) -> None:
        self.click("text=Sign out")
        self.type("#token", token)
        self.click("button:has-text('Sign in')")

    def protect(self, button: str) -> None:
        """With a limit that does not end the search: else a busy machine gives other bytes. Then the time until the run has ended."""
        self.type("#seconds", "600")
        self.click(button)
        self.page.wait_for_selector("h1:has-text('Run 0001: done')", timeout=1_500_000)

    def approve_and_publish(self, token: str) -> None:
        self.sign_in(token)
        self.click("nav >> text=Protect")
        self.click("th >> text=0001")
        self.type("#reason", "report read, nothing odd")
        self.click("button:has-text('Approve')")
        self.click("text=Publish: write the folder release")


def by_the_command_line(job: Path, out: Path) -> dict[str, bytes]:
    """What `statveil protect` makes of the job that the desk saved, started as a stranger would."""
    subprocess.run([*COMMAND[:-1], "protect", str(job), "--out", str(out)], check=True, capture_output=True)
    return contents(out / "public")


@pytest.mark.slow
def test_raw_records_become_an_approved_release_with_nothing_but_clicks(page: Any, address: str, tmp_path: Path) -> None:
    officer = Officer(page)
    (tmp_path / "shops.csv").write_text(SHOPS.replace("S1,wood,31\n", "S1,wood,NA\n"))
    (tmp_path / "regions.csv").write_text(REGIONS)
    page.goto(address)
    officer.add(tmp_path / "shops.csv")
    officer.add(tmp_path / "regions.csv")
    officer.choose("#name", "data/shops.csv")
    officer.click("button:has-text('Open')")
    assert page.input_value("#where") == "turnover is not missing", "NA among numbers is missing, and its record is left out"
    assert "turnover: 1 value was a missing word" in page.inner_text("main")
    officer.click("text=Next: the table")
    officer.choose("[name='tree region']", "file")
    officer.choose("[name='file region']", "data/regions.csv")
    officer.click("text=Make this table")
    assert page.inner_text("h1") == "Risk", page.inner_text("main")
    officer.click("[aria-label='Open North']")
    before = page.inner_text("#counts")
    officer.type("#p-0", "60")
    page.wait_for_function("before => document.getElementById('counts').innerText !== before", arg=before)
    walk_by_keys(page)
    officer.click("text=Next: protect")
    officer.protect("text=Protect the table")
    page.goto("/runs/0001/report")
    page.wait_for_selector("svg")
    page.goto("/runs/0001")
    officer.approve_and_publish(invite(tmp_path / "project", "Ben", "approver"))
    with page.expect_download() as coming:
        officer.click("text=turnover.csv")
    again = by_the_command_line(tmp_path / "project" / "job.toml", tmp_path / "again")
    assert Path(coming.value.path()).read_bytes() == again["turnover.csv"]
    assert contents(tmp_path / "project" / "release" / "public") == again
    assert page.complaints == []
    assert officer.acts <= 24


@pytest.mark.slow
def test_persons_become_a_published_safe_file_though_the_desk_is_killed_on_the_way(tmp_path: Path) -> None:
    """With a tree in another file and NA words; killed after the keys are set, and started anew: nothing is lost, and undo still works."""
    folder, acts = tmp_path / "project", 0
    (tmp_path / "people.csv").write_text(PEOPLE.replace("P7,27,", "P7,NA,"))
    (tmp_path / "villages.csv").write_text("code,parent,label\nAll,,\nPolder,All,\nUrk,Polder,\nEns,Polder,\n")
    with desk_process(folder) as (address, process), browser_page(address) as page:
        officer = Officer(page)
        page.goto(address)
        officer.add(tmp_path / "people.csv")
        officer.add(tmp_path / "villages.csv")
        officer.choose("#name", "data/people.csv")
        officer.choose("#kind", "records")
        officer.click("button:has-text('Open')")
        officer.click("text=Next: the keys")
        officer.choose("[name='menu age']", "widths")
        officer.type("[name='widths age']", "10 20")
        officer.choose("[name='menu village']", "file")
        officer.choose("[name='file village']", "data/villages.csv")
        if not page.is_checked("[aria-label='Leave out name']"):
            officer.click("[aria-label='Leave out name']")
        officer.click("text=Use these keys")
        assert page.inner_text("h1") == "Keys", page.inner_text("main")
        process.kill()
        acts = officer.acts
    job = (folder / "job.toml").read_bytes()
    with desk_process(folder) as (address, _), browser_page(address) as page:
        officer = Officer(page)
        page.goto(address)
        assert (folder / "job.toml").read_bytes() == job
        page.click("text=Undo: the keys")
        page.wait_for_selector("text=Redo: the keys")
        assert (folder / "job.toml").read_bytes() != job
        page.click("text=Redo: the keys")
        page.wait_for_selector("text=Undo: the keys")
        assert (folder / "job.toml").read_bytes() == job
        officer.click("nav >> text=Protect")
        officer.protect("text=Make the safe file")
        officer.approve_and_publish(invite(folder, "Ben", "approver"))
        page.wait_for_selector("text=All files (zip)")
        assert page.complaints == []
        assert acts + officer.acts <= 25
    safe = contents(folder / "release" / "public")
    assert safe == by_the_command_line(folder / "job.toml", tmp_path / "again")
    assert not [name for name in safe.values() if b"P11," in name], "no name of a person is published"
