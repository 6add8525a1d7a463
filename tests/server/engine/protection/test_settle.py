from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from statveil.core.secret import SecretKey
from statveil.server.engine.dataset import ServedData, load_dataset
from statveil.server.engine.protection import settle as settle_module
from statveil.server.engine.protection.settle import settle, settled
from statveil.server.engine.protection.stage_two import StageTwoTask, no_fences, reference_if_safe
from tests.server.engine.protection.test_stage_one import by_labels, cells_of, load, records
from tests.server.village import REGIONS, VILLAGE, Record, key_of, no_pins, village_config

TWINS: tuple[Record, ...] = tuple((f"t{n}{side}", f"t{n}{side}", region, trade, 1000 + 7 * n)
    for n, (region, trade) in enumerate([("N1", "food"), ("N1", "metal"), ("N2", "food"), ("N2", "metal"), ("S1", "food"), ("S2", "metal")])
    for side in "ab")  # fmt: skip
"""Six cells of two respondents each, as large as each other: in about half of them the changes point against each other."""


def unsafe(data: ServedData) -> int:
    cells = cells_of(data, "region", "trade")
    moved = np.abs(cells.reference - cells.table.value)
    return int((cells.sensitivity.sensitive & (moved < cells.sensitivity.upper_level)).sum())


def test_changes_that_cancel_are_settled(tmp_path: Path) -> None:
    data = load(tmp_path, TWINS)
    assert unsafe(data) > 0
    assert unsafe(settled(data)) == 0


def test_a_settled_change_keeps_its_direction_and_is_never_smaller(tmp_path: Path) -> None:
    """T21: what is permanent stays so."""
    before = load(tmp_path, TWINS)
    block, after = before.block("turnover"), settled(before).block("turnover")
    change, now = block.reference - block.value, after.reference - after.value
    assert (np.sign(change) == np.sign(now)).all()
    assert (np.abs(now) >= np.abs(change)).all()
    assert (np.abs(now) <= np.ceil(0.5 * block.value)).all()
    assert (now != change).any()


def test_what_needs_no_settling_is_left_alone(tmp_path: Path) -> None:
    data = load(tmp_path)
    paper = load(tmp_path, VILLAGE, mode="section4")
    assert settled(paper) is paper
    for measure in ("turnover", "units"):
        once = settled(data).block(measure)
        again = settle(once, data.dimensions, cap=2.0)
        assert (again.reference == once.reference).all()


TABLES = (("region", "trade"), ("region",), ("trade",), ("region:part", "trade"), ("region:part",))


def needs_repair(data: ServedData) -> list[tuple[str, ...]]:
    """The tables of both measures whose references are not safe as they are."""
    found = []
    for measure in ("turnover", "units"):
        for dimensions in TABLES:
            cells = cells_of(data, *dimensions, measure=measure)
            nothing = {"pins": no_pins(cells.size), "fences": no_fences(cells.size)}
            if reference_if_safe(StageTwoTask(cells, data.block(measure), mode="anchored", cap=2.0, **nothing)) is None:
                found.append((measure, *dimensions))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("largest", [10**6, 8])
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(drawn=records)
def test_no_table_of_a_settled_village_needs_repair(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, largest: int, drawn: list[tuple[str, str, str, int]]
) -> None:
    """Whatever the records are; and where the whole table is too large, none of the smaller ones that are settled by themselves."""
    monkeypatch.setattr(settle_module, "TUNING", settle_module.TUNING._replace(largest=largest))
    rows: tuple[Record, ...] = tuple((f"u{number}", *row) for number, row in enumerate(drawn))
    rows += (("x1", "x1", "N1", "food", 70), ("x2", "x2", "N1", "metal", 1))
    repaired = needs_repair(settled(load(tmp_path, rows)))
    assert [each for each in repaired if largest == 10**6 or len(each) == 2] == []


def test_a_record_that_cannot_fall_is_turned(tmp_path: Path) -> None:
    """T18: each tinker has one crown; down they would be nothing. Others keep their direction, and nobody comes nearer to the truth."""
    before = load(tmp_path, (*VILLAGE, *((f"tinker{n}", f"tinker{n}", "S2", "metal", 1) for n in range(2))))
    block, after = before.block("turnover"), settled(before).block("turnover")
    change, now = block.reference - block.value, after.reference - after.value
    turned = np.sign(change) != np.sign(now)
    assert set(block.value[turned].tolist()) <= {1}
    assert (np.abs(now) >= np.abs(change)).all()
    cells = cells_of(settled(before), "region", "trade")
    assert cells.reference[by_labels(cells)["S2", "metal"]] >= 3


@pytest.mark.parametrize("key", range(40, 60))
def test_who_is_alone_moves_the_same_way_whoever_else_comes(tmp_path: Path, key: int) -> None:
    """T21: a carpenter of eight, and in the next edition another elsewhere who has one crown and must rise. The first keeps his side."""
    carpenter: Record = ("u9", "u9", "S1", "wood", 8)
    sides = set()
    for number, rows in enumerate(((carpenter,), (carpenter, ("b2", "b2", "S2", "wood", 1)))):
        folder = tmp_path / str(number)
        folder.mkdir()
        config = village_config(folder, rows)
        data = settled(load_dataset(config, config.datasets[0], SecretKey(bytes.fromhex(f"{key:064x}"))))
        cells = cells_of(data, "region", "trade")
        sides.add(int(np.sign(cells.reference[by_labels(cells)["S1", "wood"]] - 8)))
    assert len(sides) == 1


def test_the_order_of_codes_in_a_tree_decides_nothing(tmp_path: Path) -> None:
    """Six pairs as large as each other: ties everywhere."""
    found = []
    for regions in (REGIONS, "code,parent\n" + "\n".join(reversed(REGIONS.splitlines()[1:])) + "\n"):
        config = village_config(tmp_path, TWINS)
        (tmp_path / "regions.csv").write_text(regions, encoding="utf-8")
        data = load_dataset(config, config.datasets[0], key_of())
        order = np.argsort(data.block("turnover").low)
        found.append((data.version, settled(data).block("turnover").reference[order].tolist()))
    assert found[0] == found[1]


def test_a_measure_of_nothing_is_settled(tmp_path: Path) -> None:
    data = load(tmp_path, (("a", "a", "N1", "food", 0),))
    assert settled(data).block("turnover").reference.size == 0


def test_small_counts_are_zero_or_three_and_right_on_average(tmp_path: Path) -> None:
    """T24: 300 cells of one, 300 of two: as many threes as make the sum right, within four deviations of chance (1.41 a cell)."""
    trades = [f"t{n}" for n in range(600)]
    rows: tuple[Record, ...] = tuple(
        (f"{trade}{n}", f"{trade}{n}", "N1", trade, 5) for place, trade in enumerate(trades) for n in range(1 + place % 2)
    )
    data = settled(load(tmp_path, rows))
    cells = cells_of(data, "trade", measure="units")
    leaves = cells.reference[[number for (code,), number in by_labels(cells).items() if code != "Total"]]
    assert set(leaves.tolist()) == {0, 3}
    assert abs(int(leaves.sum()) - 900) < 4 * 1.41 * 600**0.5
    assert int(cells.reference[by_labels(cells)["Total",]]) == int(leaves.sum())


def test_a_small_count_is_drawn_by_its_holdings_in_every_edition(tmp_path: Path) -> None:
    """T21: other records elsewhere, another name of the dataset: the same number."""
    more: tuple[Record, ...] = (*VILLAGE, *((f"new{n}", f"new{n}", "S2", "food", 50) for n in range(7)))
    published = set()
    for rows, name in ((VILLAGE, "village"), (more, "later")):
        data = settled(load(tmp_path, rows, id=name))
        cells = cells_of(data, "region", "trade", measure="units")
        published.add(int(cells.reference[by_labels(cells)["N1", "metal"]]))
    assert len(published) == 1
    assert published <= {0, 3}
