"""Headline totals that stay as they are: held exactly or within a share, told where they moved, refused where they must move."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pyarrow as pa
import pytest

import statveil as sv
from statveil.core.errors import InfeasibleProblem, InputError
from statveil.core.floors import Floors
from statveil.jobs.schema import check_job
from statveil.tables.headlines import headlines, moved_in_words

AREAS = {"p": [70, 3, 30, 90], "q": [9, 60, 20, 44], "r": [80, 80, 12, 36]}
"""Sales of one shop each by area and trade, but for trade 3, which has two."""
SPEC = sv.TableSpec(dimensions={"area": None, "trade": None}, measure="sales")
RULES = [sv.MinimumFrequency(2, level=30)]
SOON = sv.Limits(seconds=60)


def shops() -> pa.Table:
    """Every cell of trade 3 has two shops and is safe; the others are sensitive, but no total is."""
    rows = [(area, str(trade), sales) for area, all_sales in AREAS.items() for trade, sales in enumerate(all_sales)]
    rows += [(area, "3", all_sales[3]) for area, all_sales in AREAS.items()]
    return pa.table({name: [row[place] for row in rows] for place, name in enumerate(("area", "trade", "sales"))})


def released(**options: object) -> sv.Release:
    exact = Floors(scheme="exact", tiny=False, coalitions=False)
    return sv.protect_table(shops(), SPEC, rules=RULES, options=sv.Options(floors=exact, **options), limits=SOON)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def held() -> sv.Release:
    return released(hold=["total"])


def at(release: sv.Release, area: str, trade: str) -> tuple[int, int]:
    """(true, released) value of a cell."""
    view = release.table.views[0]
    place = [view.dimensions[0].position[area], view.dimensions[1].position[trade]]
    cell = int(view.cell[(view.coordinates == place).all(axis=1)][0])
    return int(release.table.value[cell]), int(release.protected.value[cell])


def test_the_grand_total_is_held(held: sv.Release) -> None:
    before, after = at(held, "Total", "Total")
    assert before == after
    assert any(check.name == "frozen" and check.checked == 1 for check in held.audit.checks)
    assert held.provenance.parameters["options"]["hold"] == ["total"]


@pytest.mark.slow
def test_the_totals_of_a_dimension_are_held_and_those_of_a_code() -> None:
    release = released(hold=["area", {"trade": "3"}])
    for area, trade in (("p", "Total"), ("q", "Total"), ("r", "Total"), ("Total", "Total"), ("Total", "3")):
        before, after = at(release, area, trade)
        assert before == after


@pytest.mark.slow
def test_a_total_moves_by_no_more_than_its_share() -> None:
    release = released(hold=["trade"], hold_within=0.02)
    for trade in "0123":
        before, after = at(release, "Total", trade)
        assert abs(after - before) <= 0.02 * before
    assert any(at(release, area, "0")[0] != at(release, area, "0")[1] for area in "pqr")


def test_a_sensitive_total_is_not_held() -> None:
    alone = pa.table({"area": ["p", "q"], "trade": ["0", "1"], "sales": [7, 9]})
    with pytest.raises(InfeasibleProblem, match="the total area p is sensitive itself and must move"):
        sv.protect_table(alone, SPEC, rules=RULES, options=sv.Options(hold=["area"]), limits=SOON)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"hold": "total"}, "list of totals"),
        ({"hold": [3]}, "list of totals"),
        ({"hold": ["total"], "hold_within": 1.0}, "share"),
        ({"hold_within": 0.01}, "share"),
    ],
)
def test_what_is_no_hold_is_refused_at_the_door(options: dict[str, object], words: str) -> None:
    with pytest.raises(InputError, match=words):
        sv.Options(**options)  # type: ignore[arg-type]


@pytest.mark.parametrize("hold", ["sector", {"area": "z"}, {"sector": "p"}])
def test_a_total_that_the_table_lacks_is_named(hold: object) -> None:
    with pytest.raises(InputError, match="there is no total"):
        released(hold=[hold])


def test_headlines_are_the_grand_total_and_one_step_below() -> None:
    table = sv.tabulate(sv.read_microdata(shops()), SPEC)
    found = [(each.words, each.hold) for each in headlines(table)]
    assert found[0] == ("the grand total", "total")
    assert ("the total area p", "area") in found
    assert len(found) == 1 + 3 + 4


def test_a_headline_total_that_moved_far_is_told_with_its_remedy_to_the_office_alone(held: sv.Release, tmp_path: Path) -> None:
    """All cells of the table up by a tenth, as if it had been scaled."""
    value = held.table.value + held.table.value // 10
    told = moved_in_words(held.table, dataclasses.replace(held.protected, value=value))
    assert told[0].startswith("The grand total moved by 9.")
    assert 'hold = ["total"]' in told[0]
    assert "2 more of its kind" in told[1]
    kept = moved_in_words(held.table, held.protected)
    assert kept
    assert not any("grand total" in words for words in kept)
    internal = held.to_report(tmp_path / "internal.html", edition="internal").read_text(encoding="utf-8")
    public = held.to_report(tmp_path / "public.html").read_text(encoding="utf-8")
    assert "To hold it" in internal
    assert "To hold it" not in public


def test_a_job_says_hold_in_one_word(tmp_path: Path) -> None:
    content = {
        "data": {"file": "shops.csv"},
        "table": [{"measure": "sales", "dimensions": {"area": "flat"}}],
        "rule": [{"type": "minimum-frequency", "n": 2}],
        "protection": {"hold": ["total", {"area": "p"}], "hold_within": 0.001},
    }
    part = check_job(content).protection
    assert part.hold == ["total", {"area": "p"}]
    assert part.hold_within == 0.001
