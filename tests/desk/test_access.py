"""Who is let in, and from where."""

from __future__ import annotations

from pathlib import Path

import pytest

from statveil.desk.access import COOKIE
from statveil.desk.app import LARGEST
from statveil.desk.people import invite
from tests.desk.stories import TOKEN, client

PAGES = ("/", "/table", "/risk", "/protect", "/log", "/runs/0001", "/runs/0001/release.zip", "/nothing")


@pytest.mark.parametrize("page", PAGES)
def test_without_the_token_every_address_leads_to_the_same_door(tmp_path: Path, page: str) -> None:
    answer = client(tmp_path, token="").get(page)
    assert (answer.status_code, answer.headers["location"], answer.text) == (303, "/sign-in", "")


@pytest.mark.parametrize("path", ["/undo", "/runs", "/data/add", "/runs/0001/publish", "/nothing"])
def test_without_the_token_no_form_is_taken(tmp_path: Path, path: str) -> None:
    assert client(tmp_path, token="").post(path, data={"state": "x"}).status_code == 403


@pytest.mark.parametrize("token", ["", "wrong", TOKEN[:-1], TOKEN + "x", "ä"])
def test_a_wrong_token_is_refused(tmp_path: Path, token: str) -> None:
    desk = client(tmp_path, token="")
    assert desk.get(f"/t/{token}").status_code == 403
    assert desk.get("/", headers={"cookie": f"{COOKIE}={token}".encode()}).status_code == 303
    assert desk.post("/sign-in", data={"token": token}).status_code == 403


def test_the_token_becomes_a_cookie_that_no_script_and_no_other_site_can_use(tmp_path: Path) -> None:
    desk = client(tmp_path, token="")
    for answer in (desk.get(f"/t/{TOKEN}"), desk.post("/sign-in", data={"token": TOKEN})):
        assert (answer.status_code, answer.headers["location"]) == (303, "/")
        assert "HttpOnly; SameSite=Strict" in answer.headers["set-cookie"]
        desk.cookies.clear()


@pytest.mark.parametrize("host", ["evil.example:8000", "127.0.0.1.evil.example", "", "[", "10.0.0.1"])
def test_another_name_of_this_machine_is_refused(tmp_path: Path, host: str) -> None:
    assert client(tmp_path).get("/", headers={"host": host}).status_code == 403
    assert client(tmp_path, token="").get("/sign-in", headers={"host": host}).status_code == 403


@pytest.mark.parametrize(
    "headers", [{"origin": "http://evil.example"}, {"origin": "null"}, {"sec-fetch-site": "cross-site"}, {"sec-fetch-site": "same-site"}]
)
def test_a_form_of_another_site_is_refused(tmp_path: Path, headers: dict[str, str]) -> None:
    assert client(tmp_path).post("/undo", data={"state": "x"}, headers=headers).status_code == 403


def test_a_file_beyond_the_limit_is_refused_whatever_length_it_declares(tmp_path: Path) -> None:
    desk = client(tmp_path, largest=1000)
    assert desk.post("/data/add", files={"file": ("a.csv", "x" * 2000)}).status_code == 413
    head = b'--b\r\nContent-Disposition: form-data; name="file"; filename="a.csv"\r\n\r\n'
    for stream in ((b"x" * 100 for _ in range(50)), iter([head, *(b"x" * 100 for _ in range(50))])):
        answer = desk.post("/data/add", content=stream, headers={"content-type": "multipart/form-data; boundary=b"})
        assert answer.status_code in (400, 413)
    assert list((tmp_path / "data").iterdir()) == []


def test_a_gigabyte_is_refused_before_a_byte_of_it_is_read(tmp_path: Path) -> None:
    desk = client(tmp_path, largest=LARGEST)
    headers = {"content-length": str(1 << 30), "content-type": "multipart/form-data; boundary=b"}
    answer = desk.post("/data/add", content=b"x", headers=headers)
    assert answer.status_code == 413
    assert "too large" in answer.text
    assert list((tmp_path / "data").iterdir()) == []


@pytest.mark.parametrize(
    "path", ["/static/../../job.toml", "/static/%2e%2e/job.toml", "/runs/0001/files/..%2f..%2fjob.toml", "/runs/%00/report"]
)
def test_no_address_leads_out_of_what_is_given_out(tmp_path: Path, path: str) -> None:
    (tmp_path / "job.toml").write_text("[data]\nfile = 'secret-name.csv'\n")
    answer = client(tmp_path).get(path)
    assert answer.status_code in (404, 422)
    assert "secret-name" not in answer.text.partition("The job as text")[0]


def test_a_stream_without_an_end_is_cut_with_the_same_words(tmp_path: Path) -> None:
    head = b'--b\r\nContent-Disposition: form-data; name="file"; filename="a.csv"\r\n\r\n'
    stream = iter([head, *(b"x" * 100 for _ in range(50))])
    answer = client(tmp_path, largest=1000).post("/data/add", content=stream, headers={"content-type": "multipart/form-data; boundary=b"})
    assert answer.status_code == 413
    assert "too large" in answer.text


def test_every_answer_forbids_foreign_scripts_frames_and_keeping(tmp_path: Path) -> None:
    for page in ("/", "/sign-in", "/static/desk.js", "/nothing"):
        headers = client(tmp_path).get(page).headers
        assert "default-src 'none'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["cache-control"] == "no-store"
        assert headers["x-frame-options"] == "DENY"


@pytest.mark.parametrize(
    ("role", "allowed", "refused"),
    [
        ("reader", (), ("/undo", "/table", "/runs", "/runs/0001/approve", "/runs/0001/publish")),
        ("approver", ("/runs/0001/approve", "/runs/0001/publish"), ("/undo", "/rules", "/decisions", "/runs", "/runs/0001/stop")),
        ("author", ("/undo", "/runs/0001/stop", "/runs/0001/publish"), ("/runs/0001/approve",)),
    ],
)
def test_each_role_has_its_own_forms(tmp_path: Path, role: str, allowed: tuple[str, ...], refused: tuple[str, ...]) -> None:
    desk = client(tmp_path, token=invite(tmp_path, "Ben", role))
    assert desk.get("/log").status_code == 200
    for path in refused:
        answer = desk.post(path, data={"state": "x", "reason": "seen"})
        assert (answer.status_code, answer.text) == (403, f"Who is {role} here cannot do this.")
    for path in allowed:
        assert "cannot do this" not in desk.post(path, data={"state": "x", "reason": "seen"}).text
