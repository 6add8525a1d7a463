"""A job written as TOML is read back the same."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import statveil as sv
from statveil.core.toml import read_toml, to_toml

keys = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
plain = st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | st.text(st.characters(exclude_categories=["Cs"]))
values = st.recursive(plain, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3), max_leaves=12)


@given(st.dictionaries(keys, values, max_size=4))
def test_any_job_comes_back_as_it_was(job: dict[str, Any]) -> None:
    assert tomllib.loads(to_toml(job)) == job


def test_a_job_reads_well() -> None:
    table = {"name": "turnover", "dimensions": {"region": {"hierarchy": "nuts.csv"}}, "weight": None}
    assert to_toml({"table": table, "rule": [{"type": "zero"}, {"n": 3}]}).splitlines() == [
        "[table]",
        'name = "turnover"',
        "",
        "[table.dimensions.region]",
        'hierarchy = "nuts.csv"',
        "",
        "[[rule]]",
        'type = "zero"',
        "",
        "[[rule]]",
        "n = 3",
    ]


def test_the_order_of_dimensions_is_kept() -> None:
    """They are the columns of the release: a job that turned them round would not repeat it."""
    content = {
        "input": {"file": "a.csv"},
        "table": [{"dimensions": {"region": {"hierarchy": "r.csv"}, "industry": "flat", "size": {"labels": ["a"]}}, "measure": "turnover"}],
        "seed": 1,
    }
    again = tomllib.loads(to_toml(content))
    assert again == content
    assert list(again["table"][0]["dimensions"]) == ["region", "industry", "size"]


START = "See the page on jobs."


def test_the_text_is_kept_as_it_is_and_a_byte_order_mark_is_not(tmp_path: Path) -> None:
    (tmp_path / "job.toml").write_bytes("\ufeffa = 'ü'  # why\n".encode())
    assert read_toml(tmp_path / "job.toml", start_from=START) == ("a = 'ü'  # why\n", {"a": "ü"})


def test_what_is_no_file_no_text_or_no_toml_is_told_apart(tmp_path: Path) -> None:
    (tmp_path / "latin.toml").write_bytes("a = 'ü'".encode("latin-1"))
    (tmp_path / "broken.toml").write_text("a = x\n")
    for name, kind, words in (
        ("none.toml", sv.InputError, "There is no file"),
        (".", sv.InputError, "is a folder"),
        ("latin.toml", sv.errors.FormatError, "not UTF-8 text \\(byte 5\\)"),
        ("broken.toml", sv.errors.FormatError, "not valid TOML"),
    ):
        with pytest.raises(kind, match=words):
            read_toml(tmp_path / name, start_from=START)


def test_both_kinds_of_jobs_speak_of_their_own_page(tmp_path: Path) -> None:
    from statveil.jobs.record_job import read_file_job
    from statveil.jobs.table_job import read_job

    for reader, words in ((read_job, "statveil new"), (read_file_job, "page on files")):
        with pytest.raises(sv.InputError) as caught:
            reader(tmp_path / "none.toml")
        assert words in str(caught.value.hint)
