"""A job written as TOML is read back the same."""

from __future__ import annotations

import tomllib
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from statveil.core.toml import to_toml

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
