"""The minimality attack (M03) on a town, before and after extra blanks, and downcoding (M05) by trying everything."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import statveil as sv
from statveil.audit.attacks.file_attacks import attack_file
from statveil.publish.file_release import exposed
from tests.records.stories import microdata, released
from tests.reference.files import tables_up_to, unsafe


def town(records: int) -> sv.Microdata:
    rng = np.random.default_rng(1)
    region = np.minimum(rng.exponential(4, records).astype(int), 19)
    age = np.minimum(rng.gamma(4, 1.3, records).astype(int), 9)
    marital = np.where(age < 3, 0, rng.choice(4, records, p=[0.35, 0.5, 0.1, 0.05]))
    marital = np.where(rng.random(records) < 0.002, 3, marital)
    work = np.minimum((10 * rng.random(records) ** 2).astype(int), 9)
    columns = {"region": region, "age": age, "marital": marital, "work": work, "sex": rng.integers(0, 2, records)}
    return sv.read_microdata(pa.table({name: pa.array([f"{name[0]}{code}" for code in codes]) for name, codes in columns.items()}))


def measured(data: sv.Microdata, **settings: Any) -> tuple[sv.FilePlan, dict[str, float]]:
    plan = sv.plan_recoding(data, sv.KeyVariables(fields=dict.fromkeys(data.columns), threshold=3, order=3, **settings), recoding={})
    return plan, {each.name: each.value for each in attack_file(exposed(plan))}


@pytest.mark.slow
@pytest.mark.parametrize("rule", ["original", "recount"])
def test_extra_blanks_make_the_attack_no_better_than_a_plain_guess(rule: Any) -> None:
    data = town(8000)
    plain, found = measured(data, rule=rule)
    assert found["M03 guessing"] > 0.1
    assert found["M03 pinned"] > 0.01
    guarded, left = measured(data, rule=rule, candidates=3)
    assert left["M03 guessing"] <= 0.02
    assert left["M03 pinned"] <= 0.01
    assert left["M04"] <= 0.01
    assert guarded.suppression.notes["extra blanks"] == guarded.suppression.total - plain.suppression.total > 0
    assert guarded.suppression.total < 3 * plain.suppression.total
    assert guarded.gap == plain.gap == 0


@pytest.mark.slow
def test_extra_blanks_leave_the_file_safe_and_repeat_with_the_seed() -> None:
    data = town(300)
    wanted = sv.KeyVariables(fields=dict.fromkeys(data.columns), threshold=3, order=2, rule="recount", candidates=3)
    one, two, other = (sv.recode.suppress(data, wanted, seed=seed) for seed in (4, 4, 5))
    assert (one.key == two.key).all()
    assert (one.mask == two.mask).all()
    assert one.mask.size != other.mask.size or (one.mask != other.mask).any()
    assert unsafe(*released(one), tables_up_to(5, 2, 3), "recount") == 0


@pytest.mark.slow
@pytest.mark.parametrize("rule", ["original", "recount"])
def test_extra_blanks_keep_the_caps(rule: Any, tmp_path: Any) -> None:
    data = town(300)
    needed = sv.recode.suppress(data, sv.KeyVariables(fields=dict.fromkeys(data.columns), threshold=3, order=2, rule=rule)).blanks
    caps = {name: number + place for place, (name, number) in enumerate(sorted(needed.items()))}
    wanted = sv.KeyVariables(fields=dict.fromkeys(data.columns), threshold=3, order=2, rule=rule, candidates=3, caps=caps)
    plan = sv.plan_recoding(data, wanted, recoding={})
    assert all(plan.suppression.blanks[name] <= cap for name, cap in caps.items())
    assert plan.suppression.notes["extra blanks"] > 0
    assert sv.apply_plan(data, plan, tmp_path / "safe.csv").audit.passed


def test_the_level_chosen_tells_nothing_certain_about_a_single_record() -> None:
    """Downcoding (M05) on a file of five: of all finer files that the planner would have written like this, no cell is the same in all."""
    menu = sv.recode.Menu.own({"pairs": {"0": "01", "1": "01", "2": "23", "3": "23"}})
    keys = sv.KeyVariables(fields={"a": menu}, threshold=2, order=1, recoding_costs={"a": {"pairs": 1.5}})
    truth = ["0", "1", "2", "3", "3"]

    def written(values: list[str]) -> list[str | None]:
        plan = sv.plan_recoding(microdata([(value,) for value in values]), keys)
        level = plan.coded.levels[0][plan.levels[0]]
        hidden = dict(zip(plan.suppression.key.tolist(), plan.suppression.mask.tolist(), strict=True))
        codes = [plan.coded.values[0].index(value) for value in values]
        return [None if hidden[code] else level.values[level.code[code]] for code in codes]

    out = written(truth)
    assert out == ["01", "01", "23", "23", "23"]
    finer = [list(values) for values in product("01", "01", "23", "23", "23") if written(list(values)) == out]
    assert len(finer) > 1
    assert all(len({values[place] for values in finer}) == 2 for place in range(5))
