"""The desk as a stranger starts it: the command, a real server, a real browser, and only clicks from raw records to a release."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from statveil.core.errors import InputError
from statveil.desk.people import invite
from statveil.desk.start import DeskAddress, run_desk
from statveil.jobs.table_job import read_job
from statveil.jobs.tables.folder import protect_to_folder
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
    page.focus("td.sensitive a")
    page.keyboard.press("ArrowLeft")
    assert page.evaluate("document.activeElement.closest('td, th').cellIndex") == page.evaluate(
        "document.querySelector('td.sensitive').cellIndex - 1"
    )
    page.keyboard.press("s")
    assert page.evaluate("document.activeElement.closest('td').className") == "sensitive"


@pytest.mark.slow
def test_raw_records_become_an_approved_release_with_nothing_but_clicks(page: Any, address: str, tmp_path: Path) -> None:
    clicks = 0

    def click(what: str) -> None:
        nonlocal clicks
        clicks += 1
        page.click(what)
        page.wait_for_load_state("load")

    (tmp_path / "shops.csv").write_text(SHOPS.replace("S1,wood,31\n", "S1,wood,NA\n"))
    (tmp_path / "regions.csv").write_text(REGIONS)
    page.goto(address)
    for name in ("shops.csv", "regions.csv"):
        page.set_input_files("#file", tmp_path / name)
        click("text=Add >> nth=-1")
    page.select_option("#name", "data/shops.csv")
    click("button:has-text('Open')")
    assert page.inner_text("tr:has(th:has-text('turnover')) td >> nth=2") == "1", "NA among numbers is missing"
    page.fill("#where", "turnover is not missing")
    click("text=Use these records")
    click("text=Next: the table")
    page.select_option("[name='tree region']", "file")
    page.select_option("[name='file region']", "data/regions.csv")
    click("text=Make this table")
    assert page.inner_text("h1") == "Risk", page.inner_text("main")
    click("[aria-label='Open North']")
    before = page.inner_text("#counts")
    page.fill("#p-0", "60")
    page.wait_for_function("before => document.getElementById('counts').innerText !== before", arg=before)
    walk_by_keys(page)
    click("text=Next: protect")
    click("text=Protect the table")
    page.wait_for_selector("h1:has-text('Run 0001: done')", timeout=300_000)
    page.goto("/runs/0001/report")
    page.wait_for_selector("svg", timeout=60_000)
    page.goto("/runs/0001")
    click("text=Sign out")
    page.fill("#token", invite(tmp_path / "project", "Ben", "approver"))
    click("button:has-text('Sign in')")
    click("nav >> text=Protect")
    click("th >> text=0001")
    page.fill("#reason", "report read, nothing odd")
    click("button:has-text('Approve')")
    click("text=Publish: write the folder release")
    with page.expect_download() as coming:
        page.click("text=turnover.csv")
    again = protect_to_folder(read_job(tmp_path / "project" / "job.toml"), tmp_path / "again").folder / "public"
    assert Path(coming.value.path()).read_bytes() == (again / "turnover.csv").read_bytes()
    assert contents(tmp_path / "project" / "release" / "public") == contents(again)
    assert page.complaints == []
    assert clicks <= 20


@pytest.mark.slow
@pytest.mark.parametrize("width", [390, 1280])
def test_no_screen_is_wider_than_its_window_and_every_field_has_a_name(page: Any, address: str, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    page.goto(address)
    page.click("text=Begin with the example")
    page.wait_for_load_state("load")
    for path in ("/", "/table", "/risk?cell=9", "/protect", "/log", "/nothing"):
        page.goto(path)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, path
        nameless = page.evaluate(
            "[...document.querySelectorAll('input:not([type=hidden]), select')]"
            ".filter(e => !e.labels.length && !e.ariaLabel).map(e => e.outerHTML)"
        )
        assert nameless == [], path
        assert page.locator("h1").count() == 1
    allowed = {"Failed to load resource: the server responded with a status of 404 (Not Found)"}
    assert set(page.complaints) <= allowed
