"""The page of a front: figures, dashes where a statistic is none, nothing loaded."""

from __future__ import annotations

import dataclasses
import json
import re

import numpy as np
import pytest

import statveil as sv
from statveil.jobs.tradeoff import run
from statveil.jobs.tradeoff.page import front_csv, front_json, key_figures, sentences, tradeoff_html
from statveil.solve.processes import Halt
from tests.jobs.tradeoff.market_fronts import LIMITS, scripted
from tests.jobs.tradeoff.stories import market


@pytest.mark.slow
def test_a_front_of_one_table_has_nothing_to_trade(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = market()
    monkeypatch.setattr(run, "run_isolated", scripted(problem, [], Halt.FINISHED))
    assert "there is nothing to trade" in sentences(sv.keep.tradeoff(problem, limits=LIMITS))[0]


def test_where_nothing_is_sensitive_there_is_one_table_and_nothing_to_trade() -> None:
    found = sv.keep.tradeoff(dataclasses.replace(market(), sensitive=np.zeros(25, dtype=np.bool_)), limits=LIMITS)
    assert [(point.change, point.distortion) for point in found.points] == [(0.0, 0.0)]
    assert "there is nothing to trade" in sentences(found)[0]
    assert "nothing to trade" in tradeoff_html(found, title="x")
    assert len(front_csv(found).splitlines()) == 2


@pytest.mark.slow
def test_one_sensitive_cell_has_a_mean_to_trade_and_dashes_for_the_rest() -> None:
    found = sv.keep.tradeoff(dataclasses.replace(market(), sensitive=np.arange(25) == 6), points=1, limits=LIMITS)
    assert found.words == ("mean of the sensitive cells",)
    assert {point.outcomes[0].slope for point in found.points} == {None}
    assert ("Correlation", "-", "slope -") in key_figures(found)
    assert front_csv(found).splitlines()[1].endswith(",,,")
    assert json.loads(front_json(found))["points"][0]["sets"][0]["correlation"] is None
    assert '<td class="number">-</td>' in tradeoff_html(found, title="x")


def test_the_page_is_confidential_whole_and_loads_nothing(front: sv.keep.Tradeoff) -> None:
    html = tradeoff_html(front, title="</script><b>market")
    assert html.count("CONFIDENTIAL") >= 2
    assert "<b>market" not in html
    assert "Publish one of these tables, never two" in html
    assert not re.search(r"""<[a-z][^>]*\s(src|href)\s*=""", html.split("<script>")[0])
    data = json.loads(re.search(r'id="page-data">(.*?)</script>', html, re.DOTALL)[1])  # type: ignore[index]
    assert set(data["charts"]) == {"front", "statistics", "caps"}
    kinds = [row["kind"] for row in data["charts"]["front"]["data"]["values"]]
    assert kinds.count("recommended") == 1
    assert "nan" not in html.split('id="page-data"')[0].lower().replace("provenance", "")
