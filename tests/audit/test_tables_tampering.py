"""Whoever changes a release that went through the gate is found out, whatever else is changed with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import statveil as sv
from statveil.audit.tables import audit_table
from statveil.risk.rules import ManualCell
from tests.audit.stories import failed, provenance_of

pytestmark = pytest.mark.slow

ROWS, COLUMNS = "uvw", "abcd"


@st.composite
def releases(draw: st.DrawFn) -> sv.Release:
    """Two-way tables of two or three rows and two to four columns, one to four cells sensitive, protected in earnest."""
    rows, columns = ROWS[: draw(st.integers(2, 3))], COLUMNS[: draw(st.integers(2, 4))]
    inner = {(r, c): draw(st.integers(0, 60)) for r in rows for c in columns}
    table = sv.table_from_cells({"row": sv.Hierarchy.flat(rows), "column": sv.Hierarchy.flat(columns)}, inner)
    positive = sorted(codes for codes, value in inner.items() if value)
    chosen = draw(st.lists(st.sampled_from(positive), min_size=1, max_size=4, unique=True)) if positive else []
    level = st.integers(1, 12)
    said = [ManualCell(cell={"row": r, "column": c}, status="sensitive", lower=draw(level), upper=draw(level)) for r, c in chosen]
    options = sv.Options(variant="exact" if len(said) == 1 else "at-least", weights=draw(st.sampled_from(["unit", "inverse"])))
    return sv.protect_table(table, sv.rules.assess(table, [sv.rules.Manual(said)]), options=options, limits=sv.Limits(seconds=60))


def faults(release: sv.Release, value: np.ndarray, *, hash_as_well: bool) -> set[str]:
    """The checks that fail once these numbers stand in the release; a thorough forger mends the hash too."""
    forged = replace(release.protected, value=value)
    provenance = provenance_of(release.table, forged) if hash_as_well else release.provenance
    return failed(audit_table(release.table, release.sensitivity, release.requirements, forged, provenance))


def one_unit_off(release: sv.Release) -> list[np.ndarray]:
    moved = np.eye(release.table.size, dtype=np.int64)
    return [release.protected.value + step for step in np.concatenate([moved, -moved])]


def position(release: sv.Release, row: str, column: str) -> int:
    """The cell at these codes."""
    view = release.table.views[0]
    at = [dimension.position[code] for dimension, code in zip(view.dimensions, (row, column), strict=True)]
    return int(view.cell[np.flatnonzero((view.coordinates == at).all(axis=1))[0]])


@given(releases())
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_a_table_with_one_tampered_unit_is_caught(release: sv.Release) -> None:
    assert release.audit.passed
    for value in one_unit_off(release):
        assert {"additivity", "provenance"} <= faults(release, value, hash_as_well=False)
        assert "additivity" in faults(release, value, hash_as_well=True)


def another(codes: Sequence[str], code: str, pick: int) -> str:
    others = [each for each in codes if each != code]
    return others[pick % len(others)]


@given(releases(), st.integers(0, 1000))
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_a_rectangle_of_changes_that_uncovers_a_cell_is_caught(release: sv.Release, pick: int) -> None:
    """Four corners up and down by the same amount keep every sum; the sensitive corner is back at its true value."""
    view = release.table.views[0]
    rows, columns = (dimension.trees[0].leaves for dimension in view.dimensions)
    for cell in np.flatnonzero(release.sensitivity.sensitive):
        at = view.coordinates[np.flatnonzero(view.cell == cell)[0]]
        row, column = (dimension.codes[code] for dimension, code in zip(view.dimensions, at, strict=True))
        other_row, other_column = another(rows, row, pick), another(columns, column, pick)
        back = int(release.table.value[cell] - release.protected.value[cell])
        value = release.protected.value.copy()
        for r, c, sign in ((row, column, 1), (row, other_column, -1), (other_row, column, -1), (other_row, other_column, 1)):
            value[position(release, r, c)] += sign * back
        found = faults(release, value, hash_as_well=True)
        assert "protection" in found
        assert "additivity" not in found


@given(releases())
@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_the_original_table_is_no_release(release: sv.Release) -> None:
    """It adds up, and that is all that speaks for it."""
    expected = {"protection"} if release.sensitivity.sensitive.any() else set()
    assert faults(release, release.table.value, hash_as_well=True) - {"overshoot"} == expected


@pytest.fixture(scope="module")
def deep() -> sv.Release:
    """Regions in two levels by trade, with alternative trees and a linked table, from records with weights."""
    places = [f"{region}{town}" for region in "NSW" for town in "12"]
    rng = np.random.default_rng(5)
    size = 60
    firms = pd.DataFrame(
        {
            "town": rng.choice(places, size),
            "trade": rng.choice(["vet", "baker", "smith"], size),
            "turnover": rng.lognormal(5, 1.5, size).round(0).astype(int) + 1,
            "weight": rng.choice(["1", "1.5", "2.25"], size),
        }
    )
    nested = sv.Hierarchy.from_digits(places, digits=[1, 1])
    coast = sv.Hierarchy.from_dict({"sea": places[::2], "inland": places[1::2]})
    specs = [
        sv.TableSpec(dimensions={"town": [nested, coast], "trade": None}, measure="turnover", weight="weight", decimals=0, name="full"),
        sv.TableSpec(dimensions={"trade": None}, measure="turnover", weight="weight", decimals=0, name="trades"),
    ]
    return sv.protect_table(firms, specs, rules=[sv.PPercent(15), sv.MinimumFrequency(3)], limits=sv.Limits(seconds=300, gap=0.05))


def test_every_tampered_unit_of_a_deep_table_is_caught(deep: sv.Release) -> None:
    assert deep.sensitivity.sensitive.any()
    for value in one_unit_off(deep):
        assert "additivity" in faults(deep, value, hash_as_well=True)
