"""The best of all recodings is proved by boxes."""

from __future__ import annotations

from itertools import product

import pytest

import statveil as sv
from statveil.records.coding import code_file
from statveil.records.recode.evaluate import Evaluator
from tests.records.planned_files import RANDOM_FILES, random_story
from tests.records.stories import microdata, random_records


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(RANDOM_FILES))
def test_boxes_prove_the_best_of_all_recodings(seed: int) -> None:
    """Listing every recoding finds nothing better than the exact method, and no bound lies above it."""
    data, keys = random_story(seed)
    coded = code_file(data, keys)
    evaluator = Evaluator(coded=coded)
    best = min(evaluator.cost(levels) for levels in product(*(range(size) for size in evaluator.menu)))
    plan = sv.plan_recoding(coded, method="exact")
    assert plan.cost == pytest.approx(best)
    assert str(plan.ending) == "optimal"
    assert max(sv.plan_recoding(coded, method=method).bound for method in ("lagrangean", "dual-cuts")) <= best + 1e-6


def test_menus_that_are_not_nested_are_proved_too() -> None:
    codes = [f"v{code}" for code in range(6)]
    crossing = sv.recode.Menu.own({"pairs": {c: f"p{int(c[1:]) // 2}" for c in codes}, "odd": {c: f"o{int(c[1:]) % 2}" for c in codes},
                            "thirds": {c: f"t{int(c[1:]) % 3}" for c in codes}})  # fmt: skip
    rows = random_records(5, records=40, sizes=(6, 6))
    keys = sv.KeyVariables(fields={"a": crossing, "b": crossing}, threshold=3, order=2, recoding_weight=0.1)
    coded = code_file(microdata(rows), keys)
    evaluator = Evaluator(coded=coded)
    best = min(evaluator.cost(levels) for levels in product(range(4), repeat=2))
    assert sv.plan_recoding(coded).cost == pytest.approx(best)
