"""Several files appear together or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from statveil.core.atomic import check_targets, written_together
from statveil.core.errors import InputError


def write_and_fail(targets: list[Path]) -> None:
    with written_together(targets) as places:
        places[0].write_text("new")
        raise RuntimeError


def write_and_obstruct(targets: list[Path]) -> None:
    with written_together(targets) as places:
        for place in places:
            place.write_text("new")
        targets[-1].mkdir()


def test_files_appear_when_all_is_well(tmp_path: Path) -> None:
    targets = [tmp_path / "a.sol", tmp_path / "a.json"]
    targets[0].write_text("old")
    with written_together(targets) as places:
        for place in places:
            place.write_text("new")
        assert targets[0].read_text() == "old"
    assert [target.read_text() for target in targets] == ["new", "new"]
    assert sorted(tmp_path.iterdir()) == sorted(targets)


def test_nothing_changes_when_something_fails(tmp_path: Path) -> None:
    target = tmp_path / "a.sol"
    target.write_text("old")
    with pytest.raises(RuntimeError):
        write_and_fail([target, tmp_path / "a.json"])
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_a_folder_in_the_way_stops_both(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be written"):
        write_and_obstruct([tmp_path / "a.sol", tmp_path / "a.json"])
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]


def test_targets_are_checked_before_the_work(tmp_path: Path) -> None:
    source = tmp_path / "a.jj"
    check_targets([tmp_path / "a.sol", tmp_path / "a.json"], sources=[source])
    for targets, words in [
        ([tmp_path / "nowhere" / "a.sol"], "There is no folder"),
        ([tmp_path], "cannot be written"),
        ([source], "named twice"),
        ([tmp_path / "a.sol", tmp_path / "a.sol"], "named twice"),
    ]:
        with pytest.raises(InputError, match=words):
            check_targets(targets, sources=[source])
