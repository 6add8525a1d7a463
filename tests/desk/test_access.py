"""Who is let in, and from where."""

from __future__ import annotations

from pathlib import Path

import pytest

from statveil.desk.access import COOKIE
from tests.desk.stories import TOKEN, client

PAGES = ("/", "/table", "/risk", "/protect", "/log", "/static/page.css", "/nothing")


@pytest.mark.parametrize("page", PAGES)
def test_without_the_token_every_address_is_refused_alike(tmp_path: Path, page: str) -> None:
    answer = client(tmp_path, signed_in=False).get(page)
    assert answer.status_code == 403
    assert tmp_path.name not in answer.text


@pytest.mark.parametrize("token", ["", "wrong", TOKEN[:-1], TOKEN + "x", "ä"])
def test_a_wrong_token_is_refused(tmp_path: Path, token: str) -> None:
    desk = client(tmp_path, signed_in=False)
    assert desk.get(f"/t/{token}").status_code == 403
    assert desk.get("/", headers={"cookie": f"{COOKIE}={token}".encode()}).status_code == 403


def test_the_token_becomes_a_cookie_that_no_script_and_no_other_site_can_use(tmp_path: Path) -> None:
    answer = client(tmp_path, signed_in=False).get(f"/t/{TOKEN}")
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    assert "HttpOnly; SameSite=Strict" in answer.headers["set-cookie"]


def test_another_name_of_this_machine_is_refused(tmp_path: Path) -> None:
    assert client(tmp_path).get("/", headers={"host": "evil.example:8000"}).status_code == 403


@pytest.mark.parametrize("headers", [{"origin": "http://evil.example"}, {"origin": "null"}, {"sec-fetch-site": "cross-site"}])
def test_a_form_of_another_site_is_refused(tmp_path: Path, headers: dict[str, str]) -> None:
    assert client(tmp_path).post("/undo", data={"state": "x"}, headers=headers).status_code == 403


def test_a_file_beyond_the_limit_is_refused_whatever_length_it_declares(tmp_path: Path) -> None:
    desk = client(tmp_path, largest=1000)
    assert desk.post("/data/drop", files={"file": ("a.csv", "x" * 2000)}).status_code == 413
    stream = (b"x" * 100 for _ in range(50))
    answer = desk.post("/data/drop", content=stream, headers={"content-type": "multipart/form-data; boundary=b"})
    assert answer.status_code in (400, 413)
    assert list((tmp_path / "data").iterdir()) == []


def test_every_answer_forbids_scripts_frames_and_keeping(tmp_path: Path) -> None:
    headers = client(tmp_path).get("/").headers
    assert "default-src 'none'" in headers["content-security-policy"]
    assert headers["cache-control"] == "no-store"
    assert headers["x-frame-options"] == "DENY"
