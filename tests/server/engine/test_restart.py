"""A dataset that was prepared is served again without its records being read; what changed is read, and refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from statveil.core.errors import InputError
from statveil.server.dataset.dataset import load_dataset
from statveil.server.engine import service as service_module
from statveil.server.engine.restart import described_before
from statveil.server.store.sql import open_store
from tests.server.village import VILLAGE, ask, open_village, village_config, write_village

QUERIES = [ask("region", "trade"), ask("region:part", measure="units"), ask("trade", filters={"region": ("N1", "S1")})]
COUNTIES = "code,parent\nC1,Total\nC2,Total\nN1,C1\nS1,C1\nN2,C2\nS2,C2\n"


def unread(*given: Any) -> None:
    raise AssertionError("the records were read")


def test_a_dataset_that_was_prepared_is_served_without_reading_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = open_village(tmp_path)
    answers = [first.answer(query).to_bytes() for query in QUERIES]
    monkeypatch.setattr(service_module, "load_dataset", unread)
    again = open_village(tmp_path, label="The village")
    assert [again.answer(query).to_bytes() for query in QUERIES] == answers
    assert again.datasets["village"].label == "The village"
    assert again.datasets["village"].accuracy == first.datasets["village"].accuracy
    with pytest.raises(AssertionError):
        open_village(tmp_path, VILLAGE[::-1])


def test_changed_records_are_read_and_refused(tmp_path: Path) -> None:
    open_village(tmp_path)
    with pytest.raises(InputError, match="is not the one"):
        open_village(tmp_path, VILLAGE[:-1])


def test_levels_of_several_trees_come_back_with_their_names(tmp_path: Path) -> None:
    write_village(tmp_path)
    (tmp_path / "counties.csv").write_text(COUNTIES, encoding="utf-8")
    two = {"hierarchies": ["regions.csv", "counties.csv"], "levels": [["part", "region"], ["county", "region"]]}
    changes: dict[str, Any] = {"dimensions": {"region": two, "trade": {}}}
    open_village(tmp_path, **changes).close()
    config = village_config(tmp_path, **changes)
    key = config.key()
    again = described_before(config, config.datasets[0], key, open_store(config))
    read = load_dataset(config, config.datasets[0], key)
    assert again is not None
    assert again.level_names == read.level_names
    assert again.version == read.version
    for one, other in zip(again.dimensions, read.dimensions, strict=True):
        assert (one.codes, one.labels, one.parents, one.filter) == (other.codes, other.labels, other.parents, other.filter)


def test_the_paper_s_mode_reads_its_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    open_village(tmp_path, mode="section4").close()
    monkeypatch.setattr(service_module, "load_dataset", unread)
    with pytest.raises(AssertionError):
        open_village(tmp_path, mode="section4")
