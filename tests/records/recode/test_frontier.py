"""The front of recoding against blanks: the same as by listing all recodings, and a claim cut short claims no more than it knows."""

from __future__ import annotations

from itertools import count, product

import numpy as np
import pytest

import statveil as sv
from statveil.records.coding import CodedFile, code_file
from statveil.records.recode.evaluate import Evaluator
from statveil.records.recode.frontier import RecodingFront
from tests.records.stories import halves, microdata, random_records


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


@pytest.mark.parametrize("looks", [0, 2, 5, 9])
def test_what_is_proved_before_the_end_is_on_the_front(looks: int) -> None:
    coded, clock = random_file(3), count()
    front = RecodingFront(evaluator=Evaluator(coded=coded), stopped=lambda: next(clock) >= looks)
    front.offer((0,) * len(coded.values))
    assert not front.run()
    whole = all_points(coded)
    assert all((round(each.recoding, 6), round(each.blanks, 6)) in whole for each in front.front() if each.proved)
    assert any(not each.proved for each in front.front()) or len(front.front()) < len(whole)
