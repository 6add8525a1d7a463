"""Kinds of tables and options: each gives a safe table."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import statveil as sv
from statveil.core.floors import AS_GIVEN
from statveil.core.limits import Ending
from statveil.risk.rules import ManualCell
from tests.jobs.tables.stories import FIVE, LIMITS, assert_safe, original, protect, released, sensitive, table


def test_an_empty_file_gives_an_empty_table(tmp_path: Path) -> None:
    (tmp_path / "none.csv").write_text("area,trade,sales\n", encoding="utf-8")
    trees = {"area": sv.Hierarchy.from_dict({"north": ["p", "q"], "south": ["r"]}), "trade": sv.Hierarchy.flat("uv")}
    release = protect(tmp_path / "none.csv", table(dimensions=trees), sv.PPercent(10), sv.MinimumFrequency(3))
    assert released(release) == {}
    assert release.gap == 0
    [public] = release.to_csv(tmp_path / "public.csv")
    assert len(public.read_text(encoding="utf-8").splitlines()) >= 1


def test_an_empty_file_without_a_hierarchy_is_refused(tmp_path: Path) -> None:
    (tmp_path / "none.csv").write_text("area,sales\n", encoding="utf-8")
    with pytest.raises(sv.InputError, match="no records to take the codes of 'area' from"):
        protect(tmp_path / "none.csv", table("area"), sv.PPercent(10))


def test_one_record_is_one_cell_and_is_moved() -> None:
    """Cell, row, column and total are the same record, so the same number."""
    release = protect(
        {"area": ["p"], "trade": ["u"], "sales": [500]}, table("area", "trade"), sv.MinimumFrequency(3), options=sv.Options(floors=AS_GIVEN)
    )
    assert release.table.size == 1
    assert len(released(release)) == 4
    assert set(released(release).values()) <= {400, 600}
    assert release.adjustment.ending is Ending.OPTIMAL


def test_one_cell_of_many_records_stays() -> None:
    release = protect({"area": ["p"] * 9, "sales": [5] * 9}, table("area"), sv.PPercent(10), sv.MinimumFrequency(3))
    assert released(release) == {("Total",): 45, ("p",): 45}


def test_nothing_sensitive_changes_nothing() -> None:
    release = protect(FIVE, table("area", "trade"), sv.MinimumFrequency(1))
    assert released(release) == original(release)
    assert (release.gap, release.adjustment.objective) == (0, 0)


@pytest.mark.slow
def test_everything_sensitive_is_all_moved() -> None:
    release = protect(FIVE, table("area", "trade"), sv.MinimumFrequency(99))
    assert release.sensitivity.sensitive.all()
    assert (release.protected.value != release.table.value).all()


@pytest.mark.slow
def test_counts_with_only_a_minimum_frequency() -> None:
    data = {"area": list("ppqqqqqq"), "trade": list("uvuvvvvv")}
    release = protect(data, table("area", "trade", measure=None), sv.MinimumFrequency(3))
    assert original(release)["Total", "Total"] == 8
    assert ("p", "u") in sensitive(release)
    assert min(released(release).values()) >= 1


@pytest.mark.slow
def test_linked_tables_tell_one_story() -> None:
    """The total by area and the total by trade are one number, and so are the cells that both tables have."""
    specs = [table("area", "trade", name="both"), table("area", name="areas"), table("trade", name="trades")]
    release = protect(FIVE, specs, sv.MinimumFrequency(2))
    both, areas, trades = (released(release, view) for view in range(3))
    assert areas["Total",] == trades["Total",] == both["Total", "Total"]
    assert all(areas[code,] == both[code, "Total"] for code in "pq")
    assert all(trades[code,] == both["Total", code] for code in "uv")


def test_linked_tables_that_do_not_fit_together_are_refused() -> None:
    with pytest.raises(sv.InputError, match="differ in measure"):
        protect(FIVE, [table("area", name="a"), table("trade", name="b", measure=None)], sv.MinimumFrequency(2))


@pytest.mark.slow
def test_alternative_trees_over_the_same_towns() -> None:
    towns = [f"t{i}" for i in range(6)]
    compass = sv.Hierarchy.from_dict({"north": towns[:3], "south": towns[3:]})
    coast = sv.Hierarchy.from_dict({"sea": towns[::2], "inland": towns[1::2]})
    rng = np.random.default_rng(8)
    data = {"town": rng.choice(towns, 40), "trade": rng.choice(list("uvw"), 40), "sales": rng.integers(1, 500, 40)}
    release = protect(data, table(dimensions={"town": [compass, coast], "trade": None}), sv.PPercent(20), sv.MinimumFrequency(3))
    numbers = released(release)
    assert numbers["north", "Total"] + numbers["south", "Total"] == numbers["sea", "Total"] + numbers["inland", "Total"]
    assert sensitive(release)


@pytest.mark.slow
def test_records_of_one_holding_are_one_respondent() -> None:
    """T15: four records in p, but one owner; q has four owners."""
    data = {"area": list("ppppqqqq"), "owner": [*["acme"] * 4, *"wxyz"], "sales": [10, 11, 12, 13, 10, 11, 12, 13]}
    assert sensitive(protect(data, table("area"), sv.MinimumFrequency(3))) == set()
    assert sensitive(protect(data, table("area", holding="owner"), sv.MinimumFrequency(3))) == {("p",)}


@pytest.mark.slow
def test_a_ready_table_is_protected_by_the_offices_word() -> None:
    ready = sv.table_from_cells({"area": sv.Hierarchy.flat("pqr")}, {("p",): "10.5", ("q",): 20, ("r",): Decimal(30)}, decimals=1)
    said = sv.rules.Manual([ManualCell(cell={"area": "p"}, status="sensitive", lower=4, upper=3), ManualCell(cell={}, status="frozen")])
    release = sv.protect_table(ready, sv.rules.assess(ready, [said]), limits=LIMITS)
    assert_safe(release)
    assert released(release)["Total",] == 605


@pytest.mark.slow
def test_several_thousand_cells() -> None:
    rng = np.random.default_rng(4)
    size = 6000
    data = {
        "area": [f"{a:02}{b}" for a, b in zip(rng.integers(0, 40, size), rng.integers(0, 5, size), strict=True)],
        "trade": rng.choice([f"t{i}" for i in range(15)], size),
        "sales": rng.lognormal(5, 1.6, size).astype(int) + 1,
    }
    tree = sv.Hierarchy.from_digits(sorted(set(data["area"])), digits=[2, 1])
    limits = sv.Limits(seconds=600, gap=0.2)
    release = protect(data, table(dimensions={"area": tree, "trade": None}), sv.PPercent(15), sv.MinimumFrequency(3), limits=limits)
    assert release.table.size > 3000
    assert len(sensitive(release)) > 300


@pytest.mark.slow
def test_bounds_beyond_all_numbers_are_no_bounds() -> None:
    bounds = sv.Bounds(minimum=-1e300, maximum=1e300, percent_up=1e300, percent_down=1e300)
    release = protect(FIVE, table("area", "trade"), sv.MinimumFrequency(2), options=sv.Options(bounds=bounds, cap=1e300))
    assert release.audit.passed


@pytest.mark.slow
@pytest.mark.parametrize("variant", ["at-least", "exact"])
@pytest.mark.parametrize("norm", ["l1", "l2"])
@pytest.mark.parametrize("weights", ["unit", "inverse", "inverse-sqrt"])
def test_every_combination_of_options_gives_a_safe_table(variant: Any, norm: Any, weights: Any) -> None:
    options = sv.Options(variant=variant, norm=norm, weights=weights, floors=AS_GIVEN)
    release = protect(
        FIVE, table("area", "trade"), sv.rules.Manual([ManualCell(cell={"area": "p", "trade": "u"}, status="sensitive")]), options=options
    )
    assert released(release)["p", "u"] in ({5, 9} if variant == "exact" else {*range(1, 6), *range(9, 20)})


@pytest.mark.slow
def test_progress_is_told_stage_by_stage() -> None:
    stages: list[str] = []
    protect(FIVE, table("area", "trade"), sv.PPercent(10), on_progress=lambda progress: stages.append(progress.stage))
    assert stages[:2] == ["tabulating", "assessing"]
    assert stages[-2:] == ["audited", "released"]
