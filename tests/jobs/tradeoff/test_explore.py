"""Looking for a front: what is heard is checked, and told from start to end."""

from __future__ import annotations

import numpy as np
import pytest

import statveil as sv
from statveil.core.limits import Progress
from statveil.jobs.tradeoff import run
from statveil.jobs.tradeoff.page import front_csv, sentences, tradeoff_html
from statveil.protect.keep.wishes import Keep
from statveil.solve.processes import Halt
from tests.jobs.tradeoff.market_fronts import LIMITS, scripted
from tests.jobs.tradeoff.stories import market


@pytest.mark.slow
def test_a_stopped_search_shows_what_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = market()
    monkeypatch.setattr(run, "run_isolated", scripted(problem, [], Halt.INTERRUPTED))
    found = sv.keep.tradeoff(problem, limits=LIMITS)
    assert not found.complete
    assert len(found.points) == 1
    assert "stopped before its end" in " ".join(sentences(found))
    assert "no table was found with less distortion than the plain one" in " ".join(sentences(found))


@pytest.mark.slow
def test_an_unsafe_table_is_not_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = market()
    monkeypatch.setattr(run, "run_isolated", scripted(problem, [np.zeros(problem.size, dtype=np.int64)], Halt.FINISHED))
    found = sv.keep.tradeoff(problem, limits=LIMITS)
    assert found.tried == 1
    assert [point.by for point in found.points] == ["plain"]


@pytest.mark.slow
def test_progress_is_told_from_start_to_end() -> None:
    heard: list[Progress] = []
    sv.keep.tradeoff(market(), points=1, limits=LIMITS, on_progress=heard.append)
    stages = [progress.stage for progress in heard]
    assert stages[0].startswith("plain: ")
    assert "least distortion" in stages
    assert "polishing the front" in stages
    assert stages[-1] == "auditing the front"


@pytest.mark.slow
def test_another_set_of_cells_and_other_criteria() -> None:
    found = sv.keep.tradeoff(market(), keep=Keep(slope=["all", "sensitive"]), points=1, limits=LIMITS)
    assert found.words == ("slope of all cells", "slope of the sensitive cells")
    assert all(len(point.outcomes) == 2 for point in found.points)
    head, *lines = front_csv(found).splitlines()
    assert head.endswith("mean_off_2,correlation_2,slope_2,variance_ratio_2")
    assert all(len(line.split(",")) >= len(head.split(",")) for line in lines)
    assert "slope of all cells" in tradeoff_html(found, title="x")
