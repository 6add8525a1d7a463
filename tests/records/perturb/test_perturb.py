"""Perturbed records: drawn by the key and by what records hold, whatever their order; figures of risk and use."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import statveil as sv
from statveil.core.errors import InputError, UnknownColumn
from tests.records.perturb.stories import KEY, OTHER, records, shown, workers

DRAWN = (sv.perturb.Noise(["wage"], level=0.3), sv.perturb.RankSwapping(["tax"], percent=10), sv.perturb.Pram(["degree"], keep=0.5))


def test_the_same_key_draws_the_same_and_another_key_does_not() -> None:
    data = records(workers())
    first = shown(data, *DRAWN)
    assert shown(data, *DRAWN) == first
    other = shown(data, *DRAWN, key=OTHER)
    assert all(other[name] != first[name] for name in first)


def test_the_order_of_the_file_plays_no_part() -> None:
    columns = workers()
    order = np.random.default_rng(5).permutation(len(columns["id"]))
    shuffled: dict[str, Any] = {name: [values[place] for place in order] for name, values in columns.items()}
    every = (*DRAWN[:1], sv.perturb.Microaggregation(["tax"], k=4), *DRAWN[2:])
    assert shown(records(shuffled), *every) == shown(records(columns), *every)


def test_a_record_is_drawn_the_same_whoever_else_is_in_the_file() -> None:
    columns = workers()
    fewer = {name: values[:-1] for name, values in columns.items()}
    whole, less = (shown(records(each), DRAWN[2])["degree"] for each in (columns, fewer))
    assert np.mean([one == two for one, two in zip(whole, less, strict=False)]) > 0.98  # the frequencies differ by one record


def test_equal_records_are_drawn_apart() -> None:
    found = shown(records({"id": [1] * 50 + [2] * 50, "degree": ["a"] * 50 + ["b"] * 50}), sv.perturb.Pram(["degree"], keep=0.2))["degree"]
    assert 0 < found[:50].count("b") < 50


@pytest.mark.parametrize("text", ["about 7", "1.2.3", "n/a"])
def test_words_among_numbers_are_refused_and_not_repeated(text: str) -> None:
    with pytest.raises(InputError, match=r"'wage': 1 value is no number, the first at row 2") as raised:
        shown(records({"id": range(3), "wage": ["1", text, "3"]}), sv.perturb.Noise(["wage"]))
    assert text not in str(raised.value)


def test_a_column_is_perturbed_once() -> None:
    with pytest.raises(InputError, match="'wage' is perturbed twice"):
        shown(records(workers(10)), sv.perturb.Noise(["wage"]), sv.perturb.RankSwapping(["wage"]))
    with pytest.raises(InputError, match="No perturbation"):
        shown(records(workers(10)))
    with pytest.raises(UnknownColumn):
        shown(records(workers(10)), sv.perturb.Noise(["salary"]))


def test_numbers_that_look_like_identifiers_are_refused() -> None:
    with pytest.raises(InputError, match="too large"):
        shown(records({"id": range(3), "serial": [2**60, 1, 5]}), sv.perturb.RankSwapping(["serial"]))


def test_nothing_confidential_in_its_name() -> None:
    perturbed = sv.perturb.perturb_records(records(workers(20)), DRAWN[:1], key=KEY)
    assert repr(perturbed) == "PerturbedRecords(wage: noise)"
