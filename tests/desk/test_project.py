"""A project: history, undo and redo, and what is found after a restart."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from statveil.core.audit_log import verify
from statveil.core.errors import InputError
from statveil.desk.project import Conflict, JobStep, Project


def numbered(project: Project, number: int, person: str = "Ada") -> None:
    project.change(lambda content: {**content, "seed": number}, JobStep(f"seed {number}", person, project.state))


def move(project: Project, by: int) -> None:
    project.move(by, person="Ada", state=project.state)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(0, 3), max_size=12))
def test_undo_and_redo_go_through_the_same_bytes(tmp_path_factory: pytest.TempPathFactory, seeds: list[int]) -> None:
    project = Project(tmp_path_factory.mktemp("project"))
    texts = [project.text]
    for seed in seeds:
        numbered(project, seed)
        if project.text != texts[-1]:
            texts.append(project.text)
    for text in reversed(texts[:-1]):
        move(project, -1)
        assert project.text == text
    for text in texts[1:]:
        move(project, 1)
        assert project.text == text
    with pytest.raises(Conflict, match="nothing to redo"):
        move(project, 1)


def test_a_restart_loses_nothing(tmp_path: Path) -> None:
    project = Project(tmp_path)
    numbered(project, 1)
    numbered(project, 2)
    again = Project(tmp_path)
    assert again.text == "seed = 2\n"
    move(again, -1)
    assert again.text == "seed = 1\n"


def test_a_kill_between_history_and_job_loses_nothing(tmp_path: Path) -> None:
    project = Project(tmp_path)
    numbered(project, 1)
    before = (tmp_path / "job.toml").read_bytes()
    numbered(project, 2)
    (tmp_path / "job.toml").write_bytes(before)  # the history was written, the job was not
    again = Project(tmp_path)
    assert again.text == "seed = 1\n"
    move(again, -1)
    assert again.text == "seed = 2\n"


@pytest.mark.parametrize("text", ["seed = 7  # by hand\n", "seed = 7\r\n", "# ä\nseed = 7"])
def test_a_job_that_was_changed_by_hand_is_a_step_of_its_own_byte_for_byte(tmp_path: Path, text: str) -> None:
    project = Project(tmp_path)
    numbered(project, 1)
    (tmp_path / "job.toml").write_bytes(text.encode())
    numbered(project, 8)
    move(project, -1)
    assert (tmp_path / "job.toml").read_bytes() == text.encode()
    move(project, -1)
    assert project.text == "seed = 1\n"


def test_a_job_that_was_there_before_the_desk_stays_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "job.toml").write_bytes(b"# mine\r\nseed = 3\r\n")
    project = Project(tmp_path)
    assert (tmp_path / "job.toml").read_bytes() == b"# mine\r\nseed = 3\r\n"
    assert project.stack.authors == []


def test_a_job_that_is_no_text_is_said_to_be_so(tmp_path: Path) -> None:
    (tmp_path / "job.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="UTF-8"):
        Project(tmp_path)


def test_the_history_knows_who_had_a_part_in_the_job_as_it_is(tmp_path: Path) -> None:
    project = Project(tmp_path)
    numbered(project, 1, "Ada")
    numbered(project, 2, "Ben")
    assert project.stack.authors == ["Ada", "Ben"]
    move(project, -1)
    assert project.stack.authors == ["Ada"]


def test_a_step_after_an_undo_leaves_the_old_state_in_the_history(tmp_path: Path) -> None:
    project = Project(tmp_path)
    numbered(project, 1)
    move(project, -1)
    numbered(project, 2)
    assert project.stack.redo_words is None
    assert (tmp_path / "history" / "000001.toml").read_text() == "seed = 1\n"
    assert verify(tmp_path / "log.jsonl").lines == 3


def test_two_processes_on_a_folder_do_not_contradict_each_other(tmp_path: Path) -> None:
    one, other = Project(tmp_path), Project(tmp_path)
    old = other.state
    numbered(one, 1)
    with pytest.raises(Conflict):
        other.change(lambda content: {"seed": 9}, JobStep("x", "Ben", old))
    numbered(other, 2)
    assert one.text == "seed = 2\n"
    assert [entry.person for entry in one.stack.states[1:]] == ["Ada", "Ada"]


def test_a_name_with_a_folder_in_it_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError):
        Project(tmp_path).plain_file("data", "../x.csv")


def test_files_that_lead_out_of_the_folder_are_not_offered(tmp_path: Path) -> None:
    (tmp_path / "secret.csv").write_text("a\n1\n")
    project = Project(tmp_path / "project")
    (tmp_path / "project" / "data" / "own.csv").write_text("a\n1\n")
    (tmp_path / "project" / "data" / "link.csv").symlink_to(tmp_path / "secret.csv")
    assert project.data_files() == ["data/own.csv"]
