"""Dimensions, codes and slices in words, wherever the dataset has words for them."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pandas as pd
import pyreadstat
import pytest

from statveil.core.errors import InputError
from statveil.jobs.server_config import check_config
from statveil.server.engine.answer import full_title, title
from statveil.server.engine.service import TableService
from statveil.server.web.formats import BY_NAME
from tests.server.village import VILLAGE, ask, village_content, write_village

REGIONS = (
    "code,parent,label\nTotal,,Whole country\nN,Total,North\nS,Total,South\n"
    "N1,N,Upper north\nN2,N,Lower north\nS1,S,Upper south\nS2,S,Lower south\n"
)
DIMENSIONS: dict[str, Any] = {
    "region": {"hierarchy": "regions.csv", "label": "Region of the seat", "levels": ["part", "region"]},
    "trade": {"label": "Trade", "labels": {"food": "Food and drink"}},
}


def labelled_village(folder: Path, **changes: Any) -> TableService:
    write_village(folder)
    (folder / "regions.csv").write_text(REGIONS, encoding="utf-8")
    config = check_config(village_content(**{"dimensions": DIMENSIONS, **changes}), base=folder)
    return TableService.open(config, config.key())


def test_json_stat_has_labels_of_dimensions_and_codes(tmp_path: Path) -> None:
    answer = labelled_village(tmp_path).answer(ask("region:part", "trade"))
    region, trade = (json.loads(BY_NAME["json"].write(answer))["dimension"][name] for name in ("region", "trade"))
    assert region["label"] == "Region of the seat"
    assert region["category"]["label"] == {"Total": "Whole country", "N": "North", "S": "South"}
    assert trade["label"] == "Trade"
    assert trade["category"]["label"] == {"Total": "Total", "food": "Food and drink", "metal": "metal"}
    assert trade["category"]["index"] == ["Total", "food", "metal"]


def test_files_and_pages_have_them_too(tmp_path: Path) -> None:
    answer = labelled_village(tmp_path).answer(ask("region:part", "trade"))
    rows = list(csv.DictReader(io.StringIO(BY_NAME["csv"].write(answer).decode())))
    assert {row["region"]: row["region_label"] for row in rows} == {"Total": "Whole country", "N": "North", "S": "South"}
    assert {row["trade_label"] for row in rows} == {"Total", "Food and drink", "metal"}
    page = BY_NAME["html"].write(answer).decode()
    assert "Region of the seat" in page
    assert "Food and drink" in page
    assert 'VALUES("trade")="Total","Food and drink","metal";' in BY_NAME["px"].write(answer).decode()


def test_the_title_tells_slices_and_populations_in_words(tmp_path: Path) -> None:
    service = labelled_village(tmp_path)
    sliced = service.answer(ask("region:part", filters={"trade": ("food",)}))
    assert title(sliced) == "turnover; Trade: Food and drink"
    assert sliced.filters == (("trade", ("food",)),)
    some = service.answer(ask("trade", filters={"region": ("N1", "S2")}))
    assert full_title(some) == "turnover by Trade; Region of the seat: Upper north, Lower south"
    assert json.loads(BY_NAME["json"].write(some))["label"] == "turnover; Region of the seat: Upper north, Lower south"


def test_readers_see_the_labels_before_they_ask(tmp_path: Path) -> None:
    region, trade = labelled_village(tmp_path).datasets["village"].dimensions
    assert region.labels["S1"] == "Upper south"
    assert trade.labels == {"Total": "Total", "food": "Food and drink", "metal": "metal"}


def test_the_files_of_statistical_packages_bring_their_own(tmp_path: Path) -> None:
    write_village(tmp_path)
    trades = {"food": 1, "metal": 2}
    columns = {
        "unit": [record[0] for record in VILLAGE],
        "region": [record[2] for record in VILLAGE],
        "trade": [trades[record[3]] for record in VILLAGE],
        "turnover": [record[4] for record in VILLAGE],
    }
    pyreadstat.write_sav(
        pd.DataFrame(columns), str(tmp_path / "records.sav"), column_labels={"trade": "Branch of trade"},
        variable_value_labels={"trade": {1: "Food", 2: "Metal"}, "region": {"N1": "First north"}},
    )  # fmt: skip
    content = village_content(file="records.sav", dimensions={**DIMENSIONS, "trade": {}}, holding=None)
    del content["dataset"][0]["holding"]
    config = check_config(content, base=tmp_path)
    region, trade = TableService.open(config, config.key()).datasets["village"].dimensions
    assert trade.label == "Branch of trade"
    assert sorted(trade.labels.values()) == ["Food", "Metal", "Total"]
    assert region.labels["N1"] == "First north"


def test_a_corrected_label_changes_no_number_and_takes_no_answer_away(tmp_path: Path) -> None:
    service = labelled_village(tmp_path)
    answers = [service.answer(ask("region:part", "trade")), service.answer(ask("region", filters={"trade": ("food",)}))]
    corrected = {**DIMENSIONS, "trade": {"label": "Trade of the owner", "labels": {"food": "Food, drink"}}}
    service = labelled_village(tmp_path, dimensions=corrected)
    for answer in answers:
        stored = service.stored(answer.hash)
        assert stored is not None
        assert stored.values.tobytes() == answer.values.tobytes()
    assert service.answer(ask("region:part", "trade")).dimensions[1].labels[1] == "Food, drink"


def test_other_names_of_levels_are_refused_at_the_start(tmp_path: Path) -> None:
    """They are in the addresses of tables that were published."""
    labelled_village(tmp_path).answer(ask("region:part"))
    renamed = {**DIMENSIONS, "region": {**DIMENSIONS["region"], "levels": ["half", "region"]}}
    with pytest.raises(InputError, match="levels have other names"):
        labelled_village(tmp_path, dimensions=renamed)
    labelled_village(tmp_path)


def test_a_label_for_no_code_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no code of it"):
        labelled_village(tmp_path, dimensions={**DIMENSIONS, "trade": {"labels": {"fod": "Food"}}})
