"""What was asked is written down."""

from __future__ import annotations

import json
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import statveil as sv
from tests.jobs.tables.stories import FIVE, protect, table

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("number", [10, 10.5, "10.5", Decimal("10.5"), Fraction(21, 2), np.float64(10.5), np.int64(10)])
def test_every_kind_of_number_is_a_parameter_and_is_written_down(number: Any) -> None:
    release = protect(FIVE, table("area"), sv.PPercent(number), method=sv.Method(seed=np.int64(3)))
    parameters = json.loads(release.provenance.to_json())["parameters"]
    assert Fraction(str(parameters["rules"][0]["p"])) == Fraction(str(number))
    assert parameters["seed"] == 3
