"""What is kept in memory is made anew when anything it depends on changes."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from statveil.core.toml import to_toml
from statveil.desk.looks import Looks
from statveil.desk.project import JobStep, Project
from tests.desk.stories import REGIONS, SHOPS, tabulated


def looks(folder: Path) -> Looks:
    tabulated(folder)
    return Looks(Project(folder))


def test_another_rule_uses_the_same_table(tmp_path: Path) -> None:
    found = looks(tmp_path)
    content = dict(Project(tmp_path).content)
    stricter = {**content, "rule": [{"type": "p-percent", "p": 90}]}
    assert found.assessed(stricter).table is found.assessed().table
    assert found.assessed(stricter).found.sensitive.sum() > found.assessed().found.sensitive.sum()


def test_a_rule_that_asks_for_more_contributions_gets_them(tmp_path: Path) -> None:
    found = looks(tmp_path)
    wide = {**Project(tmp_path).content, "rule": [{"type": "dominance", "n": 9, "k": 85}]}
    assert found.assessed().table.top.shape[1] < 9
    assert found.assessed(wide).table.top.shape[1] >= 9


def test_a_tree_that_was_written_anew_is_read_anew(tmp_path: Path) -> None:
    found = looks(tmp_path)
    before = found.assessed().table
    (tmp_path / "data" / "regions.csv").write_text(REGIONS.replace("N2,N,", "N2,S,"))
    after = found.assessed().table
    assert after is not before
    assert not np.array_equal(np.sort(after.value), np.sort(before.value)), "the North has lost a part"


def test_records_that_were_written_anew_are_read_anew_though_size_and_time_are_the_same(tmp_path: Path) -> None:
    found = looks(tmp_path)
    path = tmp_path / "data" / "shops.csv"
    before, facts = found.assessed().table, path.stat()
    fresh = tmp_path / "fresh.csv"
    fresh.write_text(SHOPS.replace("N1,food,900", "N1,food,901"))
    os.utime(fresh, ns=(facts.st_atime_ns, facts.st_mtime_ns))
    fresh.replace(path)
    assert found.assessed().table.value.max() == before.value.max() + 1


def test_what_the_rules_find_is_kept_until_a_rule_or_its_list_changes(tmp_path: Path) -> None:
    found, project = looks(tmp_path), Project(tmp_path)
    assert found.assessed().found is found.assessed().found
    cells = tmp_path / "data" / "cells.csv"
    cells.write_text("region,trade,status\nS1,food,frozen\n")
    content = {**project.content, "rule": [*project.content["rule"], {"type": "manual", "file": "data/cells.csv"}]}
    project.replace(to_toml(content), JobStep("a list", "Ada", project.state))
    before = int(found.assessed().found.frozen.sum())
    cells.write_text("region,trade,status\nS1,food,safe\n")
    os.utime(cells, ns=(1, 1))
    assert before > int(found.assessed().found.frozen.sum()) == 0
