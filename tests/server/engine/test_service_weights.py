"""A served sample: what each record has is multiplied by what it stands for, for the cube, its rules, its counts and the attacks alike."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from statveil.core.errors import InputError
from statveil.jobs.server_config import ServerConfig, check_config
from statveil.server.attack_target import truth_of
from statveil.server.cube.depth import Depth
from statveil.server.cube.prepare import prepare_cube
from statveil.server.dataset.dataset import ServedData, load_dataset
from statveil.server.engine.service import TableService
from tests.server.cube.stories import KEY, table
from tests.server.village import VILLAGE, ask, village_content, write_village

WEIGHTS = ("1.5", "2", "1", "4.25", "1", "3", "2.5", "1", "1", "2", "2", "10", "7", "1", "1.125", "0")


def sample(folder: Path, weights: Sequence[Any] = WEIGHTS, **changes: Any) -> ServerConfig:
    write_village(folder)
    records = pq.read_table(folder / "records.parquet")
    pq.write_table(records.append_column("weight", pa.array(list(weights))), folder / "records.parquet")
    return check_config(village_content(weight="weight", **changes), base=folder)


def loaded(folder: Path, weights: Sequence[Any] = WEIGHTS, **changes: Any) -> ServedData:
    config = sample(folder, weights, **changes)
    return load_dataset(config, config.datasets[0], KEY)


def test_amounts_and_counts_are_weighted_to_the_last_decimal(tmp_path: Path) -> None:
    data = loaded(tmp_path)
    turnover, units = data.block("turnover"), data.block("units")
    wanted = sum(round(1000 * float(weight)) * record[4] for weight, record in zip(WEIGHTS, VILLAGE, strict=True))
    assert (turnover.decimals, int(turnover.value.sum())) == (3, wanted)
    assert (units.decimals, int(units.value.sum())) == (3, sum(round(1000 * float(weight)) for weight in WEIGHTS))
    assert not units.counts  # an estimate, not a number of respondents
    assert units.value.size == 15  # the wine merchant stands for nobody


def test_weights_may_be_rounded_first(tmp_path: Path) -> None:
    units = loaded(tmp_path, weight_decimals=0).block("units")
    assert (units.decimals, sorted(units.value.tolist())) == (0, [1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 3, 4, 7, 10])


def test_single_respondents_are_hidden_by_their_weighted_share(tmp_path: Path) -> None:
    data = loaded(tmp_path)
    region, trade = table(data, "turnover", "region", "trade").cuts
    smith = region.position["N1"], trade.position["metal"]
    for measure, true in (("turnover", 3_825_000), ("units", 4_250)):
        cube = prepare_cube(data, measure, depth=Depth(), key=KEY)
        assert abs(int(cube.values(table(data, measure, "region", "trade"))[smith]) - true) >= true / 10


def test_a_weight_that_makes_one_dominate_makes_the_cell_sensitive(tmp_path: Path) -> None:
    """Bakery, butcher and grocer hide each other, until the bakery stands for a hundred."""
    heavy = ["100", *("1" for _ in VILLAGE[1:])]
    data = loaded(tmp_path, heavy)
    cube = prepare_cube(data, "turnover", depth=Depth(), key=KEY)
    layout = table(data, "turnover", "region", "trade")
    found = int(cube.values(layout)[layout.cuts[0].position["N1"], layout.cuts[1].position["food"]])
    assert abs(found - 40_650) >= 4_000 - 300  # 10% of the bakery's, less what the third one has


@pytest.mark.parametrize("mode", ["cube", "section4"])
def test_tables_of_a_sample_are_answered_with_their_decimals(tmp_path: Path, mode: str) -> None:
    config = sample(tmp_path, mode=mode)
    answer = TableService.open(config, config.key()).answer(ask("region:part", "trade"))
    assert answer.decimals == 3
    by_part = answer.values.reshape(3, 3)
    assert by_part[0].tolist() == by_part[1:].sum(axis=0).tolist()


def test_an_attacked_sample_is_judged_by_the_same_amounts(tmp_path: Path) -> None:
    config = sample(tmp_path)
    service = TableService.open(config, config.key())
    truth, block = truth_of(config, config.datasets[0], service.datasets["village"]), loaded(tmp_path).block("turnover")
    assert truth.values["turnover"].sum() == block.value.sum()
    assert truth.counts is None
    assert np.array_equal(np.sort(truth.values["turnover"])[1:], np.sort(np.append(block.value, 0)))  # two have nothing


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"weights": ["-1", *WEIGHTS[1:]]}, "negative weight"),
        ({"weights": ["1.2345678", *WEIGHTS[1:]]}, "more than 6 decimals"),
        ({"weights": ["1e15", *WEIGHTS[1:]]}, "too large"),
        ({"dimensions": {"region": {}, "trade": {}, "weight": {}}}, "cannot be a dimension"),
    ],
)
def test_weights_that_cannot_be_are_refused(tmp_path: Path, changes: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        loaded(tmp_path, **changes)


def test_decimals_of_weights_need_weights(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="weight_decimals needs weight"):
        check_config(village_content(weight_decimals=2), base=tmp_path)


def test_other_weights_are_another_version(tmp_path: Path) -> None:
    assert loaded(tmp_path).version != loaded(tmp_path, weight_decimals=1).version
