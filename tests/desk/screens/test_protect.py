"""Runs in processes of their own, approval by a second person, publication, and the same bytes as the command line."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import signal
import time
import zipfile
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from statveil.desk.people import invite
from statveil.desk.screens.protect import attacks_that_succeed
from statveil.jobs.folders.tables import protect_to_folder
from statveil.jobs.kinds import kind_of
from statveil.jobs.recheck import audit_folder
from statveil.jobs.table_job import read_job
from tests.desk.stories import client, ended, post, tabulated

pytestmark = pytest.mark.slow


def files_of(folder: Path) -> dict[str, bytes]:
    """All but the run's own notes, which hold times."""
    paths = [path for path in folder.rglob("*") if path.is_file() and path.name != "run.json"]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def alive(pid: int) -> bool:
    """Whether a child of ours still runs; one that has ended is buried."""
    for _ in range(100):
        with contextlib.suppress(ChildProcessError):
            if os.waitpid(pid, os.WNOHANG) != (0, 0):
                return False
            time.sleep(0.1)
            continue
        return False
    return True


def test_from_records_to_a_release_that_the_command_line_gives_byte_for_byte(protected: TestClient, tmp_path: Path) -> None:
    second = client(tmp_path, token=invite(tmp_path, "Ben", "approver"))
    assert "Approve" in second.get("/runs/0001").text
    assert second.post("/runs/0001/publish").status_code == 403, "not approved yet"
    assert second.post("/runs/0001/approve", data={"reason": "report read"}).status_code == 303
    assert protected.post("/runs/0001/publish").status_code == 303
    outcome = protect_to_folder(read_job(tmp_path / "job.toml"), tmp_path.parent / f"{tmp_path.name}-again")
    assert files_of(tmp_path / "release") == files_of(outcome.folder)
    with zipfile.ZipFile(BytesIO(protected.get("/runs/0001/release.zip").content)) as archive:
        assert {f"public/{name}": archive.read(name) for name in archive.namelist()} == {
            name: content for name, content in files_of(outcome.folder).items() if name.startswith("public/")
        }
    one = protected.get("/runs/0001/files/turnover.csv")
    assert one.content == (outcome.folder / "public" / "turnover.csv").read_bytes()
    assert one.headers["content-disposition"] == 'attachment; filename="turnover.csv"'
    assert kind_of(tmp_path / "release") == "release"
    assert audit_folder(tmp_path / "release").passed


def test_a_run_that_goes_on_tells_its_gap_as_one_that_has_ended(tmp_path: Path) -> None:
    """In parts of the bound, as `statveil protect` does."""
    desk, folder = tabulated(tmp_path), tmp_path / "results" / "0001.run"
    folder.mkdir()
    (folder / "asked.json").write_text(json.dumps({"state": 1}))
    (folder / "progress.json").write_text(json.dumps({"stage": "search", "seconds": 2, "objective": 150.0, "bound": 100.0}))
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert "<dt>gap</dt><dd>50.00%</dd>" in desk.get("/runs/0001").text


def test_who_approves_reads_how_the_attacks_ended(protected: TestClient) -> None:
    page = protected.get("/runs/0001").text
    assert re.search(r"<dt>attacks tried</dt><dd>\d+, none of them succeeds</dd>", page)
    assert "Attacks succeed" not in page


@pytest.mark.parametrize(
    ("found", "ended"),
    [
        ({}, (0, [])),
        ({"verdicts": [{"id": "T11", "verdict": "failed"}, {"id": "T12", "verdict": "not applicable"}]}, (1, ["T11"])),
        ({"M03": {"passed": False}, "M04": {"passed": True}}, (2, ["M03"])),
    ],
)
def test_attacks_on_a_table_and_on_a_file_are_counted(found: dict[str, Any], ended: tuple[int, list[str]]) -> None:
    assert attacks_that_succeed(found) == ended


def test_who_had_a_part_in_it_cannot_approve_it(protected: TestClient, tmp_path: Path) -> None:
    assert protected.post("/runs/0001/approve", data={"reason": "fine"}).status_code == 403
    asked = tmp_path / "results" / "0001.run" / "asked.json"
    asked.write_text(json.dumps({**json.loads(asked.read_text()), "authors": ["Ada", "Ben"]}))
    second = client(tmp_path, token=invite(tmp_path, "BEN", "approver"))
    answer = second.post("/runs/0001/approve", data={"reason": "fine"})
    assert answer.status_code == 403
    assert "had a part" in answer.text
    assert not (tmp_path / "approvals" / "0001.json").exists()


@pytest.mark.parametrize("name", ["public/turnover.csv", "internal/report-internal.html", "job.toml", "provenance.json"])
def test_a_byte_changed_after_the_run_stops_report_and_approval(protected: TestClient, tmp_path: Path, name: str) -> None:
    path = tmp_path / "results" / "0001" / name
    path.write_bytes(path.read_bytes() + b" ")
    second = client(tmp_path, token=invite(tmp_path, "Ben", "approver"))
    assert second.post("/runs/0001/approve", data={"reason": "fine"}).status_code == 403
    assert protected.get("/runs/0001/report").status_code == 403


def test_a_byte_changed_after_the_approval_stops_publication_and_download(protected: TestClient, tmp_path: Path) -> None:
    second = client(tmp_path, token=invite(tmp_path, "Ben", "approver"))
    second.post("/runs/0001/approve", data={"reason": "fine"})
    path = tmp_path / "results" / "0001" / "public" / "turnover.csv"
    before = path.read_bytes()
    path.write_bytes(before.replace(b"1", b"2", 1))
    assert protected.post("/runs/0001/publish").status_code == 403
    assert not (tmp_path / "release").exists()
    path.write_bytes(before)
    assert protected.post("/runs/0001/publish").status_code == 303
    (tmp_path / "release" / "public" / "turnover.csv").write_bytes(b"x")
    assert protected.get("/runs/0001/files/turnover.csv").status_code == 403


@pytest.mark.parametrize("name", ["job.toml", "..%2fjob.toml", "..%2f..%2fjob.toml", "report-internal.html"])
def test_only_public_files_of_the_release_are_given_out(protected: TestClient, tmp_path: Path, name: str) -> None:
    second = client(tmp_path, token=invite(tmp_path, "Ben", "approver"))
    assert second.get("/runs/0001/files/turnover.csv").status_code == 422, "not published"
    second.post("/runs/0001/approve", data={"reason": "fine"})
    second.post("/runs/0001/publish")
    assert second.get(f"/runs/0001/files/{name}").status_code in (404, 422)


def test_the_report_is_shut_off_from_the_desk(protected: TestClient) -> None:
    for page in ("/runs/0001/report", "/runs/0001/public-report"):
        answer = protected.get(page)
        policy = answer.headers["content-security-policy"]
        assert answer.status_code == 200
        assert policy.startswith("sandbox allow-scripts; default-src 'none'")
        assert "allow-same-origin" not in policy
        assert "connect-src" not in policy


def test_a_run_that_is_killed_is_lost_and_nothing_of_it_is_left(tmp_path: Path) -> None:
    desk = tabulated(tmp_path)
    post(desk, "/runs")
    os.kill(json.loads((tmp_path / "results" / "0001.run" / "pid.json").read_text())["pid"], signal.SIGKILL)
    assert "Run 0001: lost" in ended(desk, tmp_path)
    assert files_of(tmp_path / "results" / "0001") == {} or not (tmp_path / "results" / "0001" / "run.json").exists()
    assert post(desk, "/runs") == 303
    assert "Run 0002: done" in ended(desk, tmp_path, "0002")


def test_a_run_goes_on_when_the_desk_is_closed_and_another_must_wait(tmp_path: Path) -> None:
    desk = tabulated(tmp_path)
    post(desk, "/runs")
    assert post(desk, "/runs") == 409
    again = client(tmp_path)
    assert "Run 0001: done" in ended(again, tmp_path)


def test_stopping_ends_the_process_and_says_who_did_it(tmp_path: Path) -> None:
    desk = client(tmp_path)
    post(desk, "/data/example")
    post(desk, "/protect/settings", seconds="500")
    text = (tmp_path / "job.toml").read_text()
    (tmp_path / "job.toml").write_text(text.replace("gap = 0.045", "gap = 0.0"))
    post(desk, "/runs")
    pid = json.loads((tmp_path / "results" / "0001.run" / "pid.json").read_text())["pid"]
    for _ in range(1200):  # until there is a first table
        page = desk.get("/runs/0001").text
        if "best change" in page and "none yet" not in page:
            break
        time.sleep(0.1)
    assert desk.post("/runs/0001/stop").status_code == 303
    page = ended(desk, tmp_path)
    assert "Run 0001: done" in page
    assert "Stopped by Ada: the best table so far was kept." in page
    assert not alive(pid)
    assert desk.post("/runs/0001/stop").status_code == 409


def test_a_job_without_a_safe_table_says_why_in_the_words_of_the_command_line(tmp_path: Path) -> None:
    desk = tabulated(tmp_path)
    text = (tmp_path / "job.toml").read_text()
    (tmp_path / "job.toml").write_text(text + "\n[protection.bounds]\npercent_down = 0\npercent_up = 0\n")
    post(desk, "/runs")
    page = ended(desk, tmp_path)
    assert "Run 0001: failed" in page
    assert "No safe table" in page or "no safe table" in page


def test_a_run_takes_the_settings_that_stand_beside_its_button(tmp_path: Path) -> None:
    """Nobody has to set them first; those that the job has already are no step of it."""
    desk = tabulated(tmp_path)
    before = (tmp_path / "job.toml").read_bytes()
    assert post(desk, "/protect/settings", seconds="60", norm="l1", method="auto") == 303
    assert (tmp_path / "job.toml").read_bytes() == before
    assert post(desk, "/runs", seconds="7", norm="l2", weights="inverse", method="auto", attacks="refuse") == 303
    job = read_job(tmp_path / "job.toml")
    assert (job.parts.limits.seconds, job.parts.protection.norm) == (7, "l2")
    assert "norm l2" in ended(desk, tmp_path)
