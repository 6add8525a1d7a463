"""What a recoding costs, worked out from scratch and step by step."""

from __future__ import annotations

import numpy as np
import pytest

import statveil as sv
from statveil.records.coding import code_file
from statveil.records.recode.evaluate import Evaluator
from tests.records.planned_files import random_story
from tests.records.stories import halves, microdata


def test_incremental_costs_equal_those_from_scratch() -> None:
    data, keys = random_story(3, order=3)
    coded = code_file(data, keys)
    walked, rng = Evaluator(coded=coded), np.random.default_rng(0)
    for _ in range(60):
        levels = tuple(int(rng.integers(size)) for size in walked.menu)
        assert walked.cost(levels) == pytest.approx(Evaluator(coded=coded).cost(levels))


@pytest.mark.slow
def test_caps_are_priced_when_recodings_are_compared() -> None:
    """Blanks alone would need field a five times; with a cap the recoding that makes them needless is worth its price."""
    rows = [(f"v{n}", "x") for n in range(5)] + [("v5", "y")] * 3
    keys = sv.KeyVariables(fields={"a": halves(6), "b": None}, threshold=2, order=1, recoding_weight=2.0)
    assert sv.plan_recoding(microdata(rows), keys).recoding["a"] == "as it is"
    capped = sv.KeyVariables(fields=keys.fields, threshold=2, order=1, recoding_weight=2.0, caps={"a": 1})
    plan = sv.plan_recoding(microdata(rows), capped)
    assert plan.recoding["a"] != "as it is"
    assert plan.suppression.blanks["a"] <= 1
    assert plan.gap == 0
