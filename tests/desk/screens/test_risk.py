"""The map, the rules under the hand, and decisions on cells."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from statveil.jobs.table_job import read_job
from statveil.jobs.tables.assess import assess_records
from statveil.risk.sensitivity import Sensitivity
from statveil.tables.table import Table, find_cell
from tests.desk.stories import post, state, tabulated


def by_the_library(folder: Path) -> tuple[Table, Sensitivity]:
    job = read_job(folder / "job.toml")
    return assess_records(job.microdata, job.linked(), job.rules())


def test_the_counts_are_those_of_the_library(tmp_path: Path) -> None:
    page = tabulated(tmp_path).get("/risk").text
    _, found = by_the_library(tmp_path)
    assert f"<dt>sensitive in all</dt><dd>{int(found.sensitive.sum())}</dd>" in page


def test_a_closed_branch_opens_to_its_parts(tmp_path: Path) -> None:
    desk = tabulated(tmp_path)
    assert "N1" not in desk.get("/risk").text.partition('<div id="map">')[2].partition("</tbody>")[0]
    assert "N1" in desk.get("/risk", params={"open_rows": '["All", "N"]'}).text.partition('<div id="map">')[2].partition("</tbody>")[0]


def test_a_closed_branch_tells_how_many_sensitive_cells_are_in_it(tmp_path: Path) -> None:
    desk = tabulated(tmp_path)
    table, found = by_the_library(tmp_path)
    (view,) = table.views
    region = [view.dimensions[0].codes[code] for code in view.coordinates[:, 0]]
    hidden = len({cell for code, cell in zip(region, view.cell, strict=True) if code in ("N1", "N2") and found.sensitive[cell]})
    assert hidden == 1, "food in N1 is nearly all of one shop's"
    assert f'Open North">+</a><span class="name">North <span class="below">{hidden} below</span>' in desk.get("/risk").text


def test_the_cards_of_all_cells_tell_what_the_table_holds(tmp_path: Path) -> None:
    desk = tabulated(tmp_path)
    table, found = by_the_library(tmp_path)
    for cell in range(table.size):
        page = desk.get(f"/risk?cell={cell}").text
        assert f"<dt>value</dt><dd>{int(table.value[cell]):,}</dd>" in page
        assert f"<dt>respondents</dt><dd>{int(table.respondents[cell])}</dd>" in page
        assert f"<dt>status</dt><dd>{'sensitive' if found.sensitive[cell] else 'safe'}</dd>" in page


@pytest.mark.parametrize(
    "query",
    ["rows=nothing", "rows=trade&columns=trade", "open_rows=[", "open_rows={}", "open_rows=[[1]]", "first_row=99999999", "first_row=-1",
     "cell=999999", "cell=-1", "cell=²", "at trade=nothing", "view=nothing", "try type=x", "try type=p-percent&try p=x",
     "try type=p-percent&try place=9&try p=5"],
)  # fmt: skip
def test_no_address_breaks_the_map(tmp_path: Path, query: str) -> None:
    assert tabulated(tmp_path).get(f"/risk?{query}").status_code in (200, 422)


@pytest.mark.parametrize("p", [1, 10, 40, 90])
def test_a_rule_under_the_hand_shows_its_counts_and_changes_nothing(tmp_path: Path, p: int) -> None:
    desk = tabulated(tmp_path)
    before = (tmp_path / "job.toml").read_bytes()
    page = desk.get("/risk", params={"try place": "0", "try type": "p-percent", "try p": str(p)}).text
    assert (tmp_path / "job.toml").read_bytes() == before
    assert post(desk, "/rules", place="0", type="p-percent", p=str(p)) == 303
    _, found = by_the_library(tmp_path)
    assert f"<dt>sensitive in all</dt><dd>{int(found.sensitive.sum())}</dd>" in page


def test_another_rule_changes_the_map_and_undo_brings_it_back(tmp_path: Path) -> None:
    desk = tabulated(tmp_path)
    before, job = desk.get("/risk").text, (tmp_path / "job.toml").read_bytes()
    assert post(desk, "/rules", type="minimum-frequency", place="1", n="6", level="20") == 303
    assert desk.get("/risk").text.count('class="sensitive"') > before.count('class="sensitive"')
    assert post(desk, "/undo") == 303
    assert (tmp_path / "job.toml").read_bytes() == job


def test_a_rule_that_cannot_be_is_refused_and_the_job_stays(tmp_path: Path) -> None:
    desk = tabulated(tmp_path)
    before = (tmp_path / "job.toml").read_bytes()
    assert post(desk, "/rules", place="0", type="p-percent", p="-5") == 422
    assert (tmp_path / "job.toml").read_bytes() == before


def cell_of(folder: Path, **labels: str) -> int:
    return find_cell(by_the_library(folder)[0], labels, None)


def test_a_frozen_cell_is_a_line_of_the_list_and_a_rule_of_the_job(tmp_path: Path) -> None:
    desk = tabulated(tmp_path)
    before, cell = (tmp_path / "job.toml").read_bytes(), cell_of(tmp_path, region="N2", trade="food")
    assert post(desk, "/decisions", cell=str(cell), status="frozen", reason="published last month") == 303
    _, found = by_the_library(tmp_path)
    assert np.flatnonzero(found.frozen).tolist() == [cell]
    page = desk.get("/risk").text
    assert "N2 / food: frozen, Ada: published last month" in page
    assert "published last month" in desk.get("/log").text
    assert post(desk, "/undo") == 303
    assert (tmp_path / "job.toml").read_bytes() == before
    assert post(desk, "/redo") == 303
    assert by_the_library(tmp_path)[1].frozen[cell]


def test_a_decision_is_replaced_and_taken_back(tmp_path: Path) -> None:
    desk = tabulated(tmp_path)
    before, cell = (tmp_path / "job.toml").read_bytes(), cell_of(tmp_path, region="N2", trade="food")
    for status in ("frozen", "sensitive"):
        assert post(desk, "/decisions", cell=str(cell), status=status, reason="why") == 303
    _, found = by_the_library(tmp_path)
    assert (bool(found.frozen[cell]), bool(found.sensitive[cell])) == (False, True)
    assert post(desk, "/decisions", cell=str(cell), status="", reason="a mistake") == 303
    assert (tmp_path / "job.toml").read_bytes() == before


@pytest.mark.parametrize("wrong", [{"reason": " "}, {"status": "gone"}, {"cell": "9999"}, {"cell": "x"}])
def test_a_decision_without_reason_status_or_cell_is_refused(tmp_path: Path, wrong: dict[str, str]) -> None:
    desk = tabulated(tmp_path)
    before = (tmp_path / "job.toml").read_bytes()
    assert post(desk, "/decisions", **{"cell": "1", "status": "frozen", "reason": "why", **wrong}) == 422
    assert (tmp_path / "job.toml").read_bytes() == before


def test_a_second_window_is_told_that_the_job_moved_on(tmp_path: Path) -> None:
    desk = tabulated(tmp_path)
    old = state(desk)
    post(desk, "/rules", place="0", type="p-percent", p="11")
    answer = desk.post("/rules", data={"state": old, "place": "0", "type": "p-percent", "p": "5"})
    assert answer.status_code == 409
    assert "changed meanwhile" in answer.text


def test_a_card_tells_the_figure_of_every_rule_and_the_sums_the_cell_is_in(tmp_path: Path) -> None:
    """900 of 970 is one shop's; the two others have 70, of which the larger knows its own 40."""
    desk = tabulated(tmp_path)
    page = desk.get("/risk", params={"cell": cell_of(tmp_path, region="N1", trade="food")}).text.partition('id="card"')[2]
    assert "<dt>p% rule, p = 10</dt><dd>finds it: the rest is 3.33% of the target; at least 10% asked</dd>" in page
    assert "<dt>minimum frequency rule, n = 3</dt><dd>does not: 3 of at least 3 respondents</dd>" in page
    assert ">region: one of 2 parts of North</a>" in page
    assert ">trade: one of 2 parts of Total</a>" in page
    above = desk.get("/risk", params={"cell": cell_of(tmp_path, region="N", trade="food")}).text.partition('id="card"')[2]
    assert "<dt>region</dt><dd>N: North</dd>" in above
    assert "region: the sum of N1, N2" in above


def test_the_list_leads_to_cells_behind_closed_branches(tmp_path: Path) -> None:
    desk = tabulated(tmp_path)
    _, found = by_the_library(tmp_path)
    page = desk.get("/risk", params={"only": "sensitive"}).text.partition('id="found"')[2]
    assert page.startswith(f">Cells that are sensitive: {int(found.sensitive.sum())}</h2>")
    link = next(each for each in re.findall(r'href="(/risk[^"]*)#card">N1<', page))
    shown = desk.get(link.replace("&amp;", "&")).text
    assert 'class="sensitive chosen"' in shown, "the branch that leads to it is open"
    assert 'id="found"' in shown, "the list stays"


@pytest.mark.parametrize("only", ["p% rule, p = 10", "frozen", "no such rule"])
def test_a_list_holds_what_was_asked_for(tmp_path: Path, only: str) -> None:
    desk = tabulated(tmp_path)
    _, found = by_the_library(tmp_path)
    wanted = int(found.reasons[only].sum()) if only in found.reasons else 0
    assert f": {wanted}</h2>" in desk.get("/risk", params={"only": only}).text


def test_a_waived_cell_is_safe_and_released_as_it_is(tmp_path: Path) -> None:
    """Frozen alone it would be refused: a sensitive cell may leave as it is only where somebody says that it is safe."""
    desk = tabulated(tmp_path)
    cell = cell_of(tmp_path, region="N1", trade="food")
    assert post(desk, "/decisions", cell=cell, status="frozen", reason="printed") == 422
    assert post(desk, "/decisions", cell=cell, status="waived", reason="the firm agreed") == 303
    _, found = by_the_library(tmp_path)
    assert found.frozen[int(cell)]
    assert not found.sensitive[int(cell)]
    assert "waived, Ada: the firm agreed" in desk.get("/risk").text
    assert post(desk, "/decisions/drop", place="0") == 303
    _, found = by_the_library(tmp_path)
    assert found.sensitive[int(cell)]
