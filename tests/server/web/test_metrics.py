"""Counts by route and status, in words that Prometheus reads; processes share a folder that a new start clears."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from statveil.server.web.metrics import FOLDER, Metrics, share_between_processes


def test_requests_are_counted_by_route_method_and_status(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(FOLDER, raising=False)
    metrics = Metrics()
    metrics.requests.labels(route="/v1/datasets", method="GET", status="200").inc()
    metrics.refused.labels(why="rate").inc(2)
    text = metrics.text().decode()
    assert 'statveil_requests_total{method="GET",route="/v1/datasets",status="200"} 1.0' in text
    assert 'statveil_turned_away_total{why="rate"} 2.0' in text


def test_what_an_earlier_server_counted_is_cleared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(FOLDER, "")
    (tmp_path / "metrics").mkdir()
    (tmp_path / "metrics" / "counter_7.db").touch()
    share_between_processes(tmp_path / "metrics")
    assert list((tmp_path / "metrics").iterdir()) == []
    assert Path(os.environ[FOLDER]) == tmp_path / "metrics"
