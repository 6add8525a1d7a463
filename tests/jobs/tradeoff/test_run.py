"""What of a front is shown, and where it is looked at next."""

from __future__ import annotations

from itertools import pairwise

import pytest

import statveil as sv
from statveil.jobs.tradeoff.explore import Candidate, LeastPossible, Polished
from statveil.jobs.tradeoff.front import DEFAULT
from statveil.jobs.tradeoff.run import FrontMonitor
from statveil.protect.keep.wishes import targets_of
from tests.reference.kept import safe_tables, small_random_table


@pytest.fixture
def monitor() -> FrontMonitor:
    problem = small_random_table(9)
    found = FrontMonitor(problem, targets_of(DEFAULT, problem), sv.Limits(seconds=60), None)
    for table in safe_tables(problem):
        found.hear(Candidate(table, "somewhere"))
    found.hear(LeastPossible(0.0))
    assert len(found.front()) > 4
    return found


def test_only_what_was_looked_at_to_the_end_is_shown(monitor: FrontMonitor) -> None:
    """A run of `keep` had beaten two points that nobody had come to."""
    changes = [each.change for each in monitor.front()]
    assert len(monitor.shown(200)) > 1, "where nothing was, all that there is"
    for change in (changes[1], changes[3] - 0.5, changes[3], changes[0] - 1):
        monitor.hear(Polished(change))
    assert [each.change for each in monitor.shown(200)] == sorted({changes[1], changes[2], changes[3]})
    assert len(monitor.shown(2)) == 2


def test_the_widest_gap_is_next_and_none_is_asked_twice(monitor: FrontMonitor) -> None:
    changes = [each.change for each in monitor.front()]
    first = monitor.between(200)
    widths = [other - one for one, other in pairwise(changes)]
    assert first[0] in [one + width / 2 for one, width in zip(changes, widths, strict=False) if width == max(widths)]
    monitor.asked.update(first)
    assert not set(first) & set(monitor.between(200))
    assert monitor.between(len(changes)) == []
