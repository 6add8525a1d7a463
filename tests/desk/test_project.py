"""A project: history, undo and redo, and what is found after a restart."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from statveil.core.errors import InputError
from statveil.desk.project import Conflict, Project


def numbered(project: Project, number: int) -> None:
    project.change(lambda content: {**content, "seed": number}, f"seed {number}", state=project.state)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(0, 3), max_size=12))
def test_undo_and_redo_go_through_the_same_bytes(tmp_path_factory: pytest.TempPathFactory, seeds: list[int]) -> None:
    project = Project(tmp_path_factory.mktemp("project"), "Ada")
    texts = [project.text]
    for seed in seeds:
        numbered(project, seed)
        if project.text != texts[-1]:
            texts.append(project.text)
    for text in reversed(texts[:-1]):
        project.move(-1, state=project.state)
        assert project.text == text
    for text in texts[1:]:
        project.move(1, state=project.state)
        assert project.text == text
    with pytest.raises(Conflict, match="nothing to redo"):
        project.move(1, state=project.state)


def test_a_restart_loses_nothing(tmp_path: Path) -> None:
    project = Project(tmp_path, "Ada")
    numbered(project, 1)
    numbered(project, 2)
    again = Project(tmp_path, "Ada")
    assert again.text == "seed = 2\n"
    again.move(-1, state=again.state)
    assert again.text == "seed = 1\n"


def test_a_job_that_was_changed_by_hand_is_a_step_of_its_own(tmp_path: Path) -> None:
    numbered(Project(tmp_path, "Ada"), 1)
    (tmp_path / "job.toml").write_text("seed = 7  # by hand\n")
    project = Project(tmp_path, "Ada")
    assert project.text == "seed = 7  # by hand\n"
    project.move(-1, state=project.state)
    assert project.text == "seed = 1\n"


def test_a_step_after_an_undo_leaves_the_old_state_in_the_history(tmp_path: Path) -> None:
    project = Project(tmp_path, "Ada")
    numbered(project, 1)
    project.move(-1, state=project.state)
    numbered(project, 2)
    assert project.stack.redo_words is None
    assert (tmp_path / "history" / "000001.toml").read_text() == "seed = 1\n"


def test_a_name_with_a_folder_in_it_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError):
        Project(tmp_path, "Ada").plain_file("data", "../x.csv")
