"""Small tables through the public call; whatever comes out is checked, slowly and plainly."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd

import statveil as sv

LIMITS = sv.Limits(seconds=60)
FIVE = {"area": list("ppqqq"), "trade": list("uvuvv"), "sales": [7, 3, 1, 50, 20]}
"""p: u 7, v 3; q: u 1, v 50 + 20."""


def protect(data: Any, spec: Any, *rules: Any, **further: Any) -> sv.Release:
    frame = pd.DataFrame(data) if isinstance(data, dict) else data
    release = sv.protect_table(frame, spec, rules=rules, **{"limits": LIMITS, **further})
    assert_safe(release)
    return release


def table(*dimensions: str, **further: Any) -> sv.TableSpec:
    return sv.TableSpec(**{"dimensions": dict.fromkeys(dimensions), "measure": "sales", **further})


def assert_safe(release: sv.Release) -> None:
    """The plain slow check: every sensitive cell far enough away, every total the sum of its parts."""
    assert release.audit.passed
    true, level = Fraction(1, 10**release.table.scale), release.sensitivity
    published = Fraction(10) ** -release.protected.decimals
    for cell in np.flatnonzero(level.sensitive):
        a, x = int(release.table.value[cell]) * true, int(release.protected.value[cell]) * published
        assert x <= a - int(level.lower_level[cell]) * true or x >= a + int(level.upper_level[cell]) * true
    for view in range(len(release.protected.views)):
        assert_adds_up(release, view)


def assert_adds_up(release: sv.Release, view: int) -> None:
    numbers, dimensions = released(release, view), release.protected.views[view].dimensions
    for codes in itertools.product(*(dimension.codes for dimension in dimensions)):
        for axis, dimension in enumerate(dimensions):
            for tree in dimension.trees:
                parts = [numbers.get((*codes[:axis], code, *codes[axis + 1 :]), 0) for code in tree.children.get(codes[axis], ())]
                assert not parts or numbers.get(codes, 0) == sum(parts)


def released(release: sv.Release, view: int = 0) -> Mapping[tuple[str, ...], int]:
    """Published numbers by their codes."""
    return by_codes(release, release.protected.value, view)


def original(release: sv.Release, view: int = 0) -> Mapping[tuple[str, ...], int]:
    return by_codes(release, release.table.value, view)


def sensitive(release: sv.Release, view: int = 0) -> set[tuple[str, ...]]:
    return {codes for codes, found in by_codes(release, release.sensitivity.sensitive, view).items() if found}


def by_codes(release: sv.Release, values: np.ndarray, view: int) -> dict[tuple[str, ...], int]:
    shown = release.protected.views[view]
    codes = [tuple(d.codes[i] for d, i in zip(shown.dimensions, at, strict=True)) for at in shown.coordinates]
    return dict(zip(codes, values[shown.cell].tolist(), strict=True))
