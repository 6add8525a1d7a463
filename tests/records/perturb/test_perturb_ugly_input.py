"""Columns as bad as files have them: every step is refused in our words, or passes its audit."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

import statveil as sv
from statveil.core.errors import StatveilError
from statveil.publish.file_release import audit_of
from tests.records.perturb.stories import KEY

Draw = Callable[[random.Random], Any]
KINDS: dict[str, tuple[pa.DataType, Draw]] = {
    "whole": (pa.int16(), lambda dice: dice.randint(-50, 99)),
    "decimals": (pa.string(), lambda dice: f"{dice.uniform(-5, 5):.3f}"),
    "short floats": (pa.float32(), lambda dice: dice.gauss(0, 1)),
    "commas": (pa.string(), lambda dice: f"{dice.uniform(0, 9):.1f}".replace(".", ",")),
    "large": (pa.string(), lambda dice: str(dice.randint(0, 10**15))),
    "tiny": (pa.string(), lambda dice: f"{dice.uniform(0, 1e-6):.12f}"),
    "one value": (pa.string(), lambda _: "7"),
    "mostly zero": (pa.string(), lambda dice: dice.choice("00000005")),
    "nothing": (pa.string(), lambda _: None),
    "words": (pa.string(), lambda dice: dice.choice(["1", "NA", "", " 3 ", "+4", "-0", "1e400"])),
    "truth values": (pa.bool_(), lambda dice: dice.random() < 0.5),
}
STEPS: tuple[Any, ...] = (
    sv.perturb.Noise(["a", "b"], level=0.3),
    sv.perturb.Noise(["a"], level=2, minimum=0, decimals=4),
    sv.perturb.RankSwapping(["a", "b"], percent=5),
    sv.perturb.Microaggregation(["a"], k=3),
    sv.perturb.Microaggregation(["a", "b"], k=2),
    sv.perturb.Pram(["a"], keep=0.5),
    sv.perturb.QuantileCoding(["a"], bottom=0.1, top=0.8),
)


def column(dice: random.Random, kind: str, size: int) -> pa.Array:
    type_, draw = KINDS[kind]
    return pa.array([None if dice.random() < 0.1 else draw(dice) for _ in range(size)], type_)


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.words)
def test_every_step_is_refused_or_passes(step: Any) -> None:
    """Four kinds of columns, and one that every step takes."""
    dice, passed = random.Random(step.words), 0
    for kind in ("decimals", *dice.sample([*KINDS], 4)):
        size = 150 if kind == "decimals" else dice.choice([0, 1, 2, 5, 40, 150])
        other = "decimals" if kind == "decimals" else dice.choice([*KINDS])
        data = sv.read_microdata(pa.table({"a": column(dice, kind, size), "b": column(dice, other, size)}))
        try:
            perturbed = sv.perturb.perturb_records(data, [step], key=KEY)
        except StatveilError:
            continue
        assert [check for check in audit_of(perturbed) if not check.passed] == []
        assert len(perturbed.figures) == len(step.columns)
        passed += 1
    assert passed
