"""Recodings tried by hand, step by step, with undo."""

from __future__ import annotations

import pytest

import statveil as sv
from tests.records.planned_files import random_story


def test_the_explorer_changes_undoes_and_plans() -> None:
    data, keys = random_story(21)
    name = next(name for name, menu in keys.fields.items() if menu is not None)
    explorer = sv.recode.explore_recoding(data, keys)
    first = explorer.look()
    records = explorer._coded.records
    assert repr(explorer).startswith(
        f"RecodingExplorer(nothing recoded; {first.unsafe_records:,} of {records:,} records unsafe; recoding 0 + "
    )
    changed = explorer.recode(**{name: "all"})
    assert changed.unsafe_records <= first.unsafe_records
    assert changed.recoding_cost > 0
    assert f"({name}: all; " in repr(explorer)
    assert repr(explorer).endswith("; 1 step)")
    assert explorer.change_costs(recoding_weight=0.0).recoding_cost == 0
    assert explorer.undo() == changed
    assert explorer.undo() == first
    best = explorer.improve()
    assert best.cost == pytest.approx(sv.plan_recoding(data, keys).cost)
    assert min(glance.cost for glance in explorer.neighbours()) >= best.cost - 1e-9
    assert explorer.plan().recoding == explorer.recoding
    with pytest.raises(sv.InputError):
        explorer.change_costs(rule="wildcard")


def test_what_was_forced_stays_until_it_is_freed() -> None:
    data, keys = random_story(21)
    name = next(name for name, menu in keys.fields.items() if menu is not None)
    explorer = sv.recode.explore_recoding(data, keys)
    explorer.recode(**{name: "all"})
    assert explorer.forced == {name}
    explorer.improve()
    assert explorer.recoding[name] == "all"
    explorer.free()
    assert not explorer.forced
    assert explorer.improve().cost == pytest.approx(sv.plan_recoding(data, keys).cost)
