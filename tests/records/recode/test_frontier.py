"""The front of recoding against blanks: the same as by listing all recodings, and a claim cut short claims no more than it knows."""

from __future__ import annotations

from itertools import count, product

import numpy as np
import pytest

import statveil as sv
from statveil.records.coding import CodedFile, code_file
from statveil.records.recode.evaluate import Evaluator
from statveil.records.recode.frontier import RecodingFront
from tests.records.random_models import menus, random_model_file
from tests.records.stories import halves, microdata, random_records
from tests.reference.models import least_recounted, least_with_recoding


def random_file(seed: int) -> CodedFile:
    rng = np.random.default_rng(seed)
    rows = random_records(seed, records=int(rng.integers(10, 80)), sizes=(6, 5, 4), missing=float(rng.choice([0.0, 0.1])))
    crossing = sv.recode.Menu.own({"odd": {f"v{n}": f"o{n % 2}" for n in range(6)}}) + halves(6)
    return code_file(microdata(rows), sv.KeyVariables(fields={"a": crossing, "b": halves(5), "c": halves(4)}, threshold=3, order=2))


def all_points(coded: CodedFile) -> list[tuple[float, float]]:
    """Every recoding's pair of losses that no other's beats, by looking at all."""
    evaluator = Evaluator(coded=coded)
    pairs = {(round(evaluator.recoding(each), 6), round(evaluator.blanks(each), 6)) for each in product(*map(range, evaluator.menu))}
    return sorted(own for own in pairs if not any(other != own and other[0] <= own[0] and other[1] <= own[1] for other in pairs))


@pytest.mark.parametrize("seed", range(8))
def test_the_front_is_that_of_all_recodings(seed: int) -> None:
    coded = random_file(seed)
    front = RecodingFront(evaluator=Evaluator(coded=coded), stopped=lambda: False)
    assert front.run()
    found = front.front()
    assert [(round(each.recoding, 6), round(each.blanks, 6)) for each in found] == all_points(coded)
    assert all(each.proved for each in found)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_front_under_models_that_coarser_values_may_break_is_that_of_all_recodings(seed: int) -> None:
    data, keys, _ = random_model_file(seed, rule="original", records=40, fields=3)
    coded = code_file(data, keys)
    front = RecodingFront(evaluator=Evaluator(coded=coded), stopped=lambda: False)
    assert front.run()
    assert [(round(each.recoding, 6), round(each.blanks, 6)) for each in front.front()] == all_points(coded)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 9))
def test_a_point_proved_under_recounted_models_is_beaten_by_no_recoding(seed: int) -> None:
    data, keys, file = random_model_file(seed, rule="recount", records=4, fields=2)
    front = sv.recode.tradeoff_file(data, keys)
    assert not front.complete
    prices = [
        (sum(cost for cost, _ in levels), least_with_recoding(file, [[(0.0, way)] for _, way in levels], least_recounted))
        for levels in product(*menus(keys))
    ]
    for point in front.points:
        assert any(own == point.recoding_loss and point.blank_bound - 1e-9 <= blanks <= point.blank_cost + 1e-9 for own, blanks in prices)
        if point.proved:
            assert not any(own < point.recoding_loss - 1e-9 and blanks <= point.blank_cost + 1e-9 for own, blanks in prices)


@pytest.mark.parametrize("looks", [0, 2, 5, 9])
def test_what_is_proved_before_the_end_is_on_the_front(looks: int) -> None:
    coded, clock = random_file(3), count()
    front = RecodingFront(evaluator=Evaluator(coded=coded), stopped=lambda: next(clock) >= looks)
    front.offer((0,) * len(coded.values))
    assert not front.run()
    whole = all_points(coded)
    assert all((round(each.recoding, 6), round(each.blanks, 6)) in whole for each in front.front() if each.proved)
    assert any(not each.proved for each in front.front()) or len(front.front()) < len(whole)
