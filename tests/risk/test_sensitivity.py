"""Short displays of verdicts on cells: counts by reason, and nothing of a cell's value."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

import statveil as sv
from statveil.risk.assess import assess


def test_frozen_cells_are_counted_in_the_display() -> None:
    shops = sv.read_microdata(pd.DataFrame({"town": ["Urk", "Urk", "Ens"], "sales": [5, 6, 7]}))
    table = sv.tabulate(shops, sv.TableSpec(dimensions={"town": None}, measure="sales"))
    found = assess(table, [sv.MinimumFrequency(2)])
    frozen = np.zeros(table.size, dtype=np.bool_)
    frozen[np.flatnonzero(~found.sensitive)[0]] = True
    told = repr(replace(found, frozen=frozen))
    assert "frozen: 1 cell" in told
    assert "1 of 3 cells sensitive" in told
