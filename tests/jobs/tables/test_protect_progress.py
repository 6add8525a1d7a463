"""What a run tells last is what came out."""

from __future__ import annotations

import pyarrow as pa
import pytest

import statveil as sv


@pytest.mark.slow
def test_the_last_event_of_a_run_is_true() -> None:
    shops = pa.table({"area": list("ppqqq"), "trade": list("uvuvv"), "sales": [7, 3, 1, 50, 20]})
    spec, heard = sv.TableSpec(dimensions={"area": None, "trade": None}, measure="sales"), list[sv.Progress]()
    release = sv.protect_table(shops, spec, rules=[sv.MinimumFrequency(2)], limits=sv.Limits(seconds=60), on_progress=heard.append)
    last = heard[-1]
    assert (last.stage, last.seconds_left) == ("released", 0.0)
    assert (last.objective, last.bound) == (release.adjustment.objective, release.adjustment.bound)
