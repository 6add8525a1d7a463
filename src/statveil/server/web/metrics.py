"""Counts for Prometheus, added up over all processes.

Labels come from the list of routes and from status codes, never from a request's own words; nothing here is about cells.
"""

from __future__ import annotations

import os
from pathlib import Path

FOLDER = "PROMETHEUS_MULTIPROC_DIR"
"""The library looks for this when it is first imported, so it must be set before."""


def share_between_processes(folder: Path) -> None:
    """Let all processes started from here count into one folder; what an earlier server left there is cleared."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for old in folder.glob("*.db"):
        old.unlink()
    os.environ[FOLDER] = str(folder)


def forget_process(process: int | None) -> None:
    """What a dead process had in work is no longer counted."""
    if FOLDER in os.environ:
        from prometheus_client.multiprocess import mark_process_dead

        mark_process_dead(process)  # type: ignore[no-untyped-call]


class Metrics:
    """One per process; the numbers go to the shared folder."""

    def __init__(self) -> None:
        from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

        registry = CollectorRegistry()
        self._own = registry
        self.requests = Counter("statveil_requests_total", "Requests answered", ["route", "method", "status"], registry=registry)
        self.seconds = Histogram(
            "statveil_request_seconds",
            "Time to answer; fresh tables are answered at whole quarters of a second",
            ["route"],
            buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 30),
            registry=registry,
        )
        self.tables = Counter("statveil_tables_total", "Tables given out", ["how"], registry=registry)
        self.refused = Counter("statveil_turned_away_total", "Requests turned away before any work", ["why"], registry=registry)
        self.waiting = Gauge("statveil_tables_in_work", "Tables being made or waiting", registry=registry, multiprocess_mode="livesum")

    def text(self) -> bytes:
        from prometheus_client import CollectorRegistry, generate_latest
        from prometheus_client.multiprocess import MultiProcessCollector

        if FOLDER not in os.environ:
            return generate_latest(self._own)
        registry = CollectorRegistry()
        MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        return generate_latest(registry)
