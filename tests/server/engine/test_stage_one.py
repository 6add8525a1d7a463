from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from statveil.core.errors import InputError
from statveil.core.secret import SecretKey
from statveil.server.dataset.dataset import ServedData, load_dataset
from statveil.server.dataset.layout import resolve
from statveil.server.engine.stage_one import ServedCells, tabulate_cells
from tests.reference.served_cells import cells as cells_by_hand
from tests.server.village import VILLAGE, Record, ask, key_of, village_config

PARENTS = [
    {"N1": "N", "N2": "N", "S1": "S", "S2": "S", "N": "Total", "S": "Total"},
    {"food": "Total", "metal": "Total"},
]


def load(folder: Path, records: tuple[Record, ...] = VILLAGE, **changes: Any) -> ServedData:
    config = village_config(folder, records, **changes)
    return load_dataset(config, config.datasets[0], key_of())


def cells_of(data: ServedData, *dimensions: str, measure: str = "turnover", key: SecretKey | None = None) -> ServedCells:
    _, layout = resolve(ask(*dimensions, measure=measure), data.dimensions, cells=10**6)
    ids = [dimension.id for dimension in data.dimensions]
    return tabulate_cells(key or key_of(), data.block(measure), layout, [ids.index(each.id) for each in layout.dimensions])


def by_labels(cells: ServedCells) -> dict[tuple[str, ...], int]:
    """The number of the cell at each position."""
    dimensions = cells.view.dimensions
    return {
        tuple(dimension.codes[place] for dimension, place in zip(dimensions, row, strict=True)): int(cell)
        for row, cell in zip(cells.view.coordinates, cells.view.cell, strict=True)
    }


def test_the_village_by_hand(tmp_path: Path) -> None:
    cells = cells_of(load(tmp_path), "region", "trade")
    at = by_labels(cells)
    steel = at["S1", "metal"]
    assert cells.table.value[steel] == 700 + 650 + 620
    assert not cells.sensitivity.sensitive[steel]
    metal_north = at["N", "metal"]  # smith 900, tinner 120, steel 500: the second can tell the first to within 120
    assert cells.table.value[metal_north] == 1520
    assert not cells.sensitivity.sensitive[metal_north]
    assert cells.sensitivity.upper_level[at["N1", "metal"]] == 90  # the smith is alone
    assert cells.sensitivity.upper_level[at["N2", "food"]] == 86  # two of them: 10% of 860


def test_the_shut_inn_is_in_no_cell(tmp_path: Path) -> None:
    """T05: a contributor of zero changes neither value nor identity nor sensitivity."""
    cells = cells_of(load(tmp_path), "region", "trade")
    without = cells_of(load(tmp_path, tuple(record for record in VILLAGE if record[-1])), "region", "trade")
    assert cells.ids == without.ids
    assert cells.table.respondents.tolist() == without.table.respondents.tolist()


def test_a_total_of_one_part_is_that_part(tmp_path: Path) -> None:
    """Identity is the set of contributors, not the labels."""
    at = by_labels(cells_of(load(tmp_path), "region", "trade"))
    assert at["S2", "food"] == at["S2", "Total"]
    assert at["N1", "food"] != at["N1", "Total"]


def test_the_same_cell_has_the_same_id_in_every_table_of_its_measure(tmp_path: Path) -> None:
    data = load(tmp_path)
    wide, narrow = cells_of(data, "region", "trade"), cells_of(data, "trade")
    north = cells_of(data, "region:part")
    ids = {wide.ids[by_labels(wide)["Total", "food"]], narrow.ids[by_labels(narrow)["food",]]}
    assert len(ids) == 1
    assert wide.ids[by_labels(wide)["N", "Total"]] == north.ids[by_labels(north)["N",]]
    counts = cells_of(data, "trade", measure="units")
    assert not set(counts.ids) & set(wide.ids)


records = st.lists(
    st.tuples(
        st.sampled_from(["h1", "h2", "h3", "h4", "h5"]), st.sampled_from(["N1", "N2", "S1", "S2"]), st.sampled_from(["food", "metal"]),
        st.one_of(st.integers(0, 20), st.integers(0, 10**6)),
    ),
    min_size=1, max_size=25,
)  # fmt: skip


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(records)
def test_cells_are_what_brute_force_finds(tmp_path: Path, drawn: list[tuple[str, str, str, int]]) -> None:
    """T13, T15: values, sets and levels at holding level, for every position."""
    rows: tuple[Record, ...] = tuple((f"u{number}", *row) for number, row in enumerate(drawn))
    if {row[3] for row in rows} != {"food", "metal"}:
        rows += (("x1", "h1", "N1", "food", 1), ("x2", "h1", "N1", "metal", 1))
    cells = cells_of(load(tmp_path, rows), "region", "trade")
    expected = cells_by_hand(
        [(unit, holding, (region, trade), value) for unit, holding, region, trade, value in rows], PARENTS, p=10, n=3, percent=10
    )
    at = by_labels(cells)
    assert at.keys() == expected.keys()
    for position, cell in expected.items():
        assert cells.table.value[at[position]] == cell.value
        assert cells.sensitivity.sensitive[at[position]] == (cell.level > 0)
        assert cells.sensitivity.upper_level[at[position]] == cell.level
    sets = {position: cell.members for position, cell in expected.items()}
    for one, members in sets.items():
        for two, others in sets.items():
            assert (at[one] == at[two]) == (members == others)


def test_the_order_of_the_file_decides_nothing(tmp_path: Path) -> None:
    one, two = cells_of(load(tmp_path), "region", "trade"), cells_of(load(tmp_path, VILLAGE[::-1]), "region", "trade")
    assert one.ids == two.ids
    assert (one.table.value == two.table.value).all()
    assert (one.sensitivity.upper_level == two.sensitivity.upper_level).all()


def test_records_need_ids_of_their_own_and_numbers_that_can_be_added_up(tmp_path: Path) -> None:
    for records, words in (
        ((*VILLAGE, VILLAGE[0]), "several records have the same id"),
        ((*VILLAGE, ("whale", "whale", "N1", "food", 2**60)), "too large"),
    ):
        with pytest.raises(InputError, match=words):
            load(tmp_path, records)


def test_a_version_is_of_records_rules_and_trees_and_not_of_labels(tmp_path: Path) -> None:
    config = village_config(tmp_path)
    version = load_dataset(config, config.datasets[0], key_of()).version
    relabelled = village_config(tmp_path, label="Another name", filters=[])
    assert load_dataset(relabelled, relabelled.datasets[0], key_of()).version == version
    others = [village_config(tmp_path, mode="section4"), village_config(tmp_path, rule=[{"type": "p-percent", "p": 11}])]
    versions = {load_dataset(each, each.datasets[0], key_of()).version for each in others}
    changed = village_config(tmp_path, (*VILLAGE[:-1], ("wine", "wine", "S2", "food", 206)))
    versions |= {load_dataset(changed, changed.datasets[0], key_of()).version, load_dataset(config, config.datasets[0], key_of(2)).version}
    assert len(versions | {version}) == 5


def test_counts_judge_by_frequency_alone(tmp_path: Path) -> None:
    """T24: a holding of many records dominates no count."""
    data = load(tmp_path)
    block = data.block("units")
    assert block.smallest == 3
    assert [type(rule).__name__ for rule in block.rules] == ["MinimumFrequency"]
    assert np.unique(replace(block).value).tolist() == [1]
