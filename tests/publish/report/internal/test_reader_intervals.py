"""A reader's interval: worked out by hand where sums bind, at least so wide where time is short."""

from __future__ import annotations

from typing import Any

import pytest

from statveil.core.errors import SolverFailed
from statveil.data.hierarchy import Hierarchy
from statveil.publish.report.changes import measure
from statveil.publish.report.internal import reader_intervals as module
from statveil.publish.report.internal.reader_intervals import reader_intervals
from statveil.publish.report.report import report_html
from tests.publish.stories import MakeRelease


@pytest.fixture
def trades(make_release: MakeRelease) -> Any:
    """1,000 bakers' money became 997, 10 became 13: the largest change of a part is 30%, the total (1,060) did not move."""
    values = {("baker",): 1000, ("vet",): 50, ("smith",): 10}
    return make_release(
        {"trade": Hierarchy.flat(["baker", "vet", "smith"])}, values, changes={("baker",): -3, ("smith",): 3}, sensitive=(1000, 10)
    )


def test_sums_narrow_the_interval(trades: Any) -> None:
    """vet lies in 50/1.3 to 50/0.7, smith in 13/1.3 to 13/0.7, rounded outward; so baker = 1,060 - 72 - 19 to 1,060 - 38 - 10."""
    found = reader_intervals(trades, measure(trades))
    assert sorted(found.words.values()) == ["10 to 19", "969 to 1,012"]
    assert "Of all 2 sensitive cells, 1 leave the whole protection interval open; 1 do not" in found.sentences[0]


def test_without_time_what_was_seen_is_told(trades: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "TUNING", module.ReaderTuning(seconds=-1))
    found = reader_intervals(trades, measure(trades))
    assert sorted(found.words.values()) == ["at least 1,000 to 1,000", "at least 10 to 10"]
    assert "2 were only seen to reach at least" in found.sentences[0]


def test_a_moved_zero_leaves_its_level_open(make_release: MakeRelease) -> None:
    release = make_release(
        {"trade": Hierarchy.flat(["baker", "vet"])}, {("baker",): 100, ("vet",): 0}, changes={("baker",): -5, ("vet",): 5}, sensitive=(0,)
    )
    assert list(reader_intervals(release, measure(release)).words.values()) == ["0 to 100"]


def test_large_tables_and_tables_without_sensitive_cells_have_none(trades: Any, make_release: MakeRelease, monkeypatch: Any) -> None:
    monkeypatch.setattr(module, "TUNING", module.ReaderTuning(table=3))
    assert reader_intervals(trades, measure(trades)).sentences == ("Intervals are worked out for tables of up to 3 cells.",)
    plain = make_release({"trade": Hierarchy.flat(["baker"])}, {("baker",): 1000})
    assert reader_intervals(plain, measure(plain)).words == {}


def test_a_solver_that_fails_stops_no_report(trades: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise SolverFailed("no")

    monkeypatch.setattr(module, "_possible_tables", fails)
    assert reader_intervals(trades, measure(trades)).sentences == ("The solver could not work the intervals out.",)


def test_only_the_internal_edition_tells(trades: Any) -> None:
    assert "969 to 1,012" in report_html(trades, "internal")
    assert "969" not in report_html(trades, "external")
