"""Names, roles, tokens."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from statveil.core.errors import InputError
from statveil.desk.people import PEOPLE, People, Person, invite, read_people


def test_a_token_tells_who_it_is_and_its_file_does_not_hold_it(tmp_path: Path) -> None:
    token = invite(tmp_path, "Ben", "approver")
    assert People(tmp_path).person(token) == Person("Ben", "approver")
    assert People(tmp_path).person(token + "x") is None
    assert token not in (tmp_path / PEOPLE).read_text()
    assert stat.S_IMODE((tmp_path / PEOPLE).stat().st_mode) == 0o600


def test_a_new_token_ends_the_old_one_of_the_same_name(tmp_path: Path) -> None:
    old = invite(tmp_path, "Ben", "author")
    people = People(tmp_path)
    new = invite(tmp_path, "BEN", "reader")
    assert people.person(old) is None
    assert people.person(new) == Person("BEN", "reader")
    assert len(read_people(tmp_path / PEOPLE)) == 1


def test_nobody_works_under_a_name_that_was_invited(tmp_path: Path) -> None:
    invite(tmp_path, "Ben", "approver")
    with pytest.raises(InputError, match="invited"):
        People(tmp_path, starter=Person("ben ", "author"), token="t")


def test_without_a_starter_the_empty_token_is_nobody(tmp_path: Path) -> None:
    assert People(tmp_path).person("") is None


@pytest.mark.parametrize(("name", "role"), [("", "reader"), (" ", "reader"), ("a\nb", "reader"), ("x" * 81, "reader"), ("Ben", "king")])
def test_strange_names_and_roles_are_refused(tmp_path: Path, name: str, role: str) -> None:
    with pytest.raises(InputError):
        invite(tmp_path, name, role)


def test_a_list_that_others_can_read_is_refused(tmp_path: Path) -> None:
    invite(tmp_path, "Ben", "reader")
    (tmp_path / PEOPLE).chmod(0o644)
    with pytest.raises(InputError, match="chmod 600"):
        People(tmp_path).person("x")
