"""Every screen in a real browser, wide and narrow, light and dark: axe-core finds nothing, nothing is wider than its window.

With STATVEIL_SCREENSHOTS=FOLDER the screens are also kept there as pictures; those of the documentation are made so:
STATVEIL_SCREENSHOTS=docs/images/desk pytest tests/desk/test_start_every_screen.py
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from statveil.core.audit_log import AuditLog
from statveil.desk.people import invite
from statveil.jobs.server_config import read_config
from tests.desk.conftest import browser_page, desk_process, faults
from tests.desk.screens.test_keys import village
from tests.desk.screens.test_server import valley
from tests.desk.stories import client, ended, post

pytestmark = pytest.mark.slow

LOOKS = [(1280, "light"), (1280, "dark"), (390, "light"), (390, "dark")]
PICTURED = (1280, "light")
SECONDS = "240" if "STATVEIL_SCREENSHOTS" in os.environ else "20"
"""Of the search: what is shown in the documentation is not cut short where other work goes on."""
OPEN = "[%22Total%22,%22N%22,%22N1%22,%22N2%22,%22C%22,%22C1%22,%22C2%22,%22S%22,%22S1%22,%22S2%22]"
"""Every region open: more columns than a window holds."""
TABLE_SCREENS = {
    "data": "/",
    "table": "/table",
    "linked": "/table?at=new",
    "tree": "/tree?of=region",
    "risk": "/risk",
    "cell": "/risk?only=sensitive",
    "branches": "/risk?rows=industry&columns=region",
    "wide": f"/risk?rows=industry&columns=region&open_columns={OPEN}",
    "list": "/risk?only=sensitive&cell=9",
    "protect": "/protect",
    "before-after": "/runs/0001/map?only=sensitive",
    "run": "/runs/0001",
    "compare": "/runs/0002",
    "approve": "/runs/0003",
    "log": "/log",
    "problem": "/nothing",
}
OF_A_LISTED_CELL = ("cell", "before-after")
"""Screens of the cell that the list leads to."""
SERVER_SCREENS = {
    "server-data": "/",
    "server-dataset": "/dataset",
    "server-evaluate": "/protect",
    "server-evaluation": "/runs/0001",
    "server-keys": "/server-keys",
    "server-alarms": "/alarms",
}
FILE_SCREENS = {
    "file-data": "/",
    "file-keys": "/keys",
    "file-risk": "/record-risk",
    "file-protect": "/protect",
    "file-run": "/runs/0001",
    "file-front": "/runs/0002",
    "file-log": "/log",
}


@pytest.fixture(scope="module")
def table_project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example, protected and approved, with a decision."""
    folder = tmp_path_factory.mktemp("table") / "enterprises"
    desk = client(folder)
    assert post(desk, "/data/example") == 303
    assert post(desk, "/decisions", cell="5", status="frozen", reason="published last month") == 303
    assert post(desk, "/protect/settings", seconds=SECONDS) == 303
    _approved(folder)
    assert post(desk, "/compare", method="cell-key") == 303
    assert "methods side by side" in ended(desk, folder, "0002")
    assert post(desk, "/protect/settings", seconds="5") == 303
    assert post(desk, "/runs") == 303
    assert "Run 0003: done" in ended(desk, folder, "0003")
    return folder


@pytest.fixture(scope="module")
def file_project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("file") / "village"
    desk = village(folder)
    _approved(folder)
    assert post(desk, "/front") == 303
    assert "Run 0002: frontier" in ended(desk, folder, "0002")
    return folder


@pytest.fixture(scope="module")
def server_project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A server that was measured, with a key, and with a log that has an alarm."""
    folder = tmp_path_factory.mktemp("server") / "valley"
    desk = valley(folder)
    assert post(desk, "/server/evaluate") == 303
    assert "Run 0001: evaluation" in ended(desk, folder)
    assert desk.post("/server-keys", data={"name": "Research desk", "role": "user"}).status_code == 200
    log = AuditLog(read_config(folder / "job.toml").audit_log_file)
    log.write("server started", version="1", processes=2)
    log.write("wrong key", address="ab12cd34")
    log.write("table given", dataset="firms", table="f00d", form="csv", key="0a1b2c3d4e5f")
    return folder


def _approved(folder: Path) -> Path:
    desk = client(folder)
    assert post(desk, "/runs") == 303
    assert "Run 0001: done" in ended(desk, folder)
    second = client(folder, token=invite(folder, "Ben", "approver"))
    assert second.post("/runs/0001/approve", data={"reason": "report read"}).status_code == 303
    assert second.post("/runs/0001/publish").status_code == 303
    return folder


def look_at(page: Any, screens: dict[str, str]) -> dict[str, list[str]]:
    """Each screen is loaded once, and turned through all widths and colours."""
    found = dict[str, list[str]]()
    for name, path in screens.items():
        page.goto(path)
        if name in OF_A_LISTED_CELL:
            page.click("#found + div tbody a >> nth=2")
            page.wait_for_load_state("load")
        assert page.locator("h1").count() == 1, path
        for width, colours in LOOKS:
            page.set_viewport_size({"width": width, "height": 860})
            page.emulate_media(color_scheme=colours)
            found[f"{name}, {width}, {colours}"] = faults(page)
            keep_picture(page, name, (width, colours))
    return {name: words for name, words in found.items() if words}


def keep_picture(page: Any, name: str, look: tuple[int, str]) -> None:
    folder = os.environ.get("STATVEIL_SCREENSHOTS")
    page.evaluate("scrollTo(0, 0)")
    if folder and look == PICTURED:
        page.screenshot(path=Path(folder) / f"{name}.png")
    if folder and os.environ.get("STATVEIL_SCREENSHOTS_ALL"):
        page.screenshot(path=Path(folder) / f"{name}-{look[0]}-{look[1]}.png", full_page=True)


def seen(page: Any, folder: Path, screens: dict[str, str], **others: dict[str, str]) -> dict[str, list[str]]:
    """As the author sees them; `others`: by role the screens that somebody else sees, who signs in."""
    found = look_at(page, screens)
    page.click("text=Sign out")
    found |= look_at(page, {"sign-in": "/sign-in"})
    for role, theirs in others.items():
        page.fill("#token", invite(folder, f"A {role}", role))
        page.click("button:has-text('Sign in')")
        found |= look_at(page, theirs)
        page.click("text=Sign out")
    allowed = {"Failed to load resource: the server responded with a status of 404 (Not Found)"}
    assert set(page.complaints) <= allowed
    return found


def reports_seen(page: Any, *names: str) -> dict[str, list[str]]:
    """What opens by a click is a button, what scrolls is reached by keys, nothing is wider than its window."""
    found = dict[str, list[str]]()
    for width in (1280, 390):
        page.set_viewport_size({"width": width, "height": 860})
        for name in names:
            page.goto(f"/runs/0001/{name}")  # anew: what scrolls is found when a report is opened
            page.wait_for_load_state("networkidle")
            found[f"{name}, {width}"] = faults(page)
    return {name: words for name, words in found.items() if words}


def printed(page: Any) -> None:
    """On paper a screen says that it is confidential, and holds no forms."""
    page.emulate_media(media="print")
    for path in ("/risk?cell=9", "/runs/0001", "/protect"):
        page.goto(path)
        assert page.is_visible("footer >> text=Confidential")
        assert page.locator("main button:visible:not(.map button)").count() == 0, path
        assert page.locator("section h3").count() == page.locator("section h3:visible").count(), path
    page.emulate_media(media="screen")


def one_line_a_word(page: Any) -> None:
    """No word in a heading of the map is broken."""
    page.goto(f"/risk?rows=industry&columns=region&open_columns={OPEN}")
    height = "each => { each.textContent = 'Manufacturing'; return each.getClientRects()[0].height }"
    assert page.eval_on_selector(".map th.number .name", height) < 30


def a_comparison_that_ends(page: Any, folder: Path) -> None:
    """Its page while it runs, its lock held as its process holds it, becomes that of its figures."""
    with (folder / "results" / "0002.run" / "lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        page.goto("/runs/0002")
        assert page.inner_text("h1") == "Run 0002: running"
    page.wait_for_selector("h1:has-text('methods side by side')")


@contextmanager
def opened_desk(folder: Path) -> Iterator[Any]:
    with (
        desk_process(folder) as (address, _),
        browser_page(address, viewport={"width": 1280, "height": 860}, reduced_motion="reduce") as page,
    ):
        page.goto(address)
        yield page


def test_no_screen_of_a_table_has_a_fault(table_project: Path) -> None:
    theirs = {"approver-runs": "/protect", "approver-run": "/runs/0003"}
    with opened_desk(table_project) as page:
        a_comparison_that_ends(page, table_project)
        one_line_a_word(page)
        printed(page)
        assert reports_seen(page, "report", "public-report") == {}
        found = seen(page, table_project, TABLE_SCREENS, approver=theirs, reader={"reader-risk": "/risk?cell=9", "reader-data": "/"})
        assert found == {}


def test_no_screen_of_a_safe_file_has_a_fault(file_project: Path) -> None:
    with opened_desk(file_project) as page:
        assert reports_seen(page, "report") == {}
        assert seen(page, file_project, FILE_SCREENS) == {}


def test_no_screen_of_a_server_has_a_fault(server_project: Path) -> None:
    with opened_desk(server_project) as page:
        assert seen(page, server_project, SERVER_SCREENS) == {}


def test_an_empty_desk_has_no_fault(tmp_path: Path) -> None:
    with opened_desk(tmp_path / "new") as page:
        assert seen(page, tmp_path / "new", {"empty": "/"}) == {}
