"""What was asked is written down."""

from __future__ import annotations

import dataclasses
import json
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import statveil as sv
from statveil.audit.tables import release_hash
from statveil.jobs.tables.released import require_kept
from statveil.protect.adjust import adjust_problem
from statveil.protect.build import build_problem
from statveil.protect.options import Options
from tests.jobs.tables.stories import FIVE, protect, table

pytestmark = pytest.mark.slow

SHOPS = pa.table({"area": list("ppppqqqq"), "trade": list("uvvvuuvv"), "sales": [70, 30, 40, 20, 10, 90, 50, 20]})
SPEC = sv.TableSpec(dimensions={"area": None, "trade": None}, measure="sales")


@pytest.mark.parametrize("number", [10, 10.5, "10.5", Decimal("10.5"), Fraction(21, 2), np.float64(10.5), np.int64(10)])
def test_every_kind_of_number_is_a_parameter_and_is_written_down(number: Any) -> None:
    release = protect(FIVE, table("area"), sv.PPercent(number), method=sv.Method(seed=np.int64(3)))
    parameters = json.loads(release.provenance.to_json())["parameters"]
    assert Fraction(str(parameters["rules"][0]["p"])) == Fraction(str(number))
    assert parameters["seed"] == 3


def test_a_release_that_keeps_statistics_is_held_to_them_by_its_own_audit() -> None:
    """A shift of one unit between two rows leaves all sums but that which was to be kept."""
    keep = sv.keep.Keep(mean=[{"area": "p"}], slope="all", within=0.3, by="programs")
    release = sv.protect_table(SHOPS, SPEC, rules=[sv.MinimumFrequency(2)], keep=keep, limits=sv.Limits(seconds=60))
    assert [(each.what, each.words, each.within) for each in release.requirements.kept] == [
        ("mean", "the cells of area p", 0),
        ("slope", "all cells", Fraction("0.3")),
    ]
    assert {"means", "statistics"} <= {check.name for check in release.audit.checks}
    view, value = release.protected.views[0], release.protected.value.copy()
    for area, by in (("p", 1), ("q", -1)):
        for trade in ("Total", "u"):
            at = (view.dimensions[0].position[area], view.dimensions[1].position[trade])
            value[view.cell[(view.coordinates == at).all(axis=1)]] += by
    protected = dataclasses.replace(release.protected, value=value)
    provenance = dataclasses.replace(release.provenance, release_hash=release_hash(protected))
    with pytest.raises(sv.AuditFailed, match="FAILED  Every mean that is said to be kept"):
        dataclasses.replace(release, protected=protected, provenance=provenance)


def test_a_linear_system_that_does_not_keep_its_statistic_is_not_written() -> None:
    shops = sv.tabulate(sv.read_microdata(SHOPS), SPEC)
    problem = build_problem(shops, sv.rules.assess(shops, [sv.MinimumFrequency(2)]), Options())
    adjustment = adjust_problem(problem, limits=sv.Limits(seconds=60))
    assert [check.name for check in require_kept(problem, sv.keep.Keep(slope="all", within=0.9), adjustment)] == ["statistics"]
    with pytest.raises(sv.AuditFailed, match="A statistic that was to be kept is not"):
        require_kept(problem, sv.keep.Keep(slope="all", within=0), adjustment)
