from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from statveil.core.errors import FormatError, InputError
from statveil.core.toml import to_toml
from statveil.jobs.server_config import DatasetPart, KeyPart, ServedLimitsPart, StorePart, WebPart, check_config, read_config
from statveil.server.web.formats import FORMATS
from tests.server.village import village_content


def refused(content: dict[str, Any]) -> str:
    with pytest.raises(InputError) as error:
        check_config(content, base=Path("."))
    return str(error.value)


def with_dataset(**changes: Any) -> dict[str, Any]:
    return village_content(**changes)


def test_the_village_can_be_written_as_toml_and_read_back(tmp_path: Path) -> None:
    (tmp_path / "server.toml").write_text(to_toml(village_content()), encoding="utf-8")
    config = read_config(tmp_path / "server.toml")
    assert config.datasets[0].mode == "cube"
    assert config.path("x") == tmp_path / "x"
    assert len(config.datasets[0].rules()) == 2


def test_an_unknown_key_is_refused_by_its_path() -> None:
    assert "dataset[1]: unknown key 'mod'. Did you mean 'mode'?" in refused(with_dataset(mod="cube"))


def test_lists_of_cells_and_zero_rules_are_no_rules_of_a_server() -> None:
    """Rules by label are not local to the cell, and a zero that must rise would split one cell into two."""
    for rule in ({"type": "manual", "file": "x.csv"}, {"type": "zero", "level": 1}, {"type": "waiver", "cells": []}):
        assert "dataset[1].rule[1]" in refused(with_dataset(rule=[rule]))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"filters": ["colour"]}, "the filter 'colour' is not one of the dimensions"),
        ({"dimensions": {"turnover": {}}}, "cannot be a dimension"),
        ({"dimensions": {"unit": {}}}, "cannot be a dimension"),
        ({"measure": [{"id": "a", "count": True}, {"id": "a", "column": "turnover"}]}, "two measures have the same id"),
        ({"measure": [{"id": "a"}]}, "needs either column or count = true"),
        ({"measure": [{"id": "a", "column": "turnover", "count": True}]}, "needs either column or count = true"),
        ({"lowest": {"colour": "red"}}, "'colour' of lowest is not one of the dimensions"),
        ({"public": [{"measure": "profit"}]}, "public: there is no measure 'profit'"),
        ({"public": [{"measure": "turnover", "codes": {"colour": "red"}}]}, "public: 'colour' is not one of the dimensions"),
        ({"depth": 0}, "must be 1 or more"),
        ({"unit": ["unit", "year"], "holding": None}, "holding must name the respondent"),
        ({"mode": "open"}, "'open' is not allowed"),
        ({"dimensions": {}}, "dimensions"),
    ],
)
def test_what_cannot_be_served_is_refused(changes: dict[str, Any], words: str) -> None:
    assert words in refused(with_dataset(**changes))


def test_one_place_for_the_key_and_one_for_the_store() -> None:
    content = village_content()
    assert "needs either file or environment" in refused({**content, "key": {}})
    assert "also needs counter" in refused({**content, "key": {"environment": "KEY"}})
    assert "needs either file (SQLite) or url" in refused({**content, "store": {}})
    assert "must begin with postgresql://" in refused({**content, "store": {"url": "mysql://x"}})
    assert "Two datasets" in refused({**content, "dataset": content["dataset"] * 2})


def test_the_key_may_be_in_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STATVEIL_TEST_KEY", "ab" * 32)
    config = check_config({**village_content(), "key": {"environment": "STATVEIL_TEST_KEY", "counter": "counter"}}, base=tmp_path)
    assert config.key().counter == tmp_path / "counter"


def test_a_file_that_is_no_toml_or_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "server.toml").write_text("dataset = [", encoding="utf-8")
    with pytest.raises(FormatError, match="not valid TOML"):
        read_config(tmp_path / "server.toml")
    with pytest.raises(InputError, match="There is no file"):
        read_config(tmp_path / "none.toml")


@pytest.mark.parametrize("key", ["populations", "noise", "cap", "guard"])
def test_keys_of_earlier_versions_are_refused_with_a_way_forward(key: str) -> None:
    words = refused(with_dataset(**{key: []}))
    assert words.startswith(f"dataset[1]: {key}: ")
    assert words.endswith("Leave it out.")


def test_the_anchored_mode_is_refused_with_a_way_forward() -> None:
    words = refused(with_dataset(mode="anchored"))
    assert "Use cube, the default." in words
    assert "a new key and an empty store" in words


def test_who_meets_a_locked_store_is_told_so_before_a_table_is_promised() -> None:
    """F05: a 503 within five seconds, not a 202."""
    assert StorePart(file="x").lock_seconds < WebPart().answer_seconds <= 5


PAGE = (Path(__file__).parents[2] / "docs" / "server.md").read_text(encoding="utf-8")
PARTS = {"web": WebPart, "limits": ServedLimitsPart, "store": StorePart, "key": KeyPart}


@pytest.mark.parametrize(("part", "key"), [(part, key) for part, model in PARTS.items() for key in model.model_fields])
def test_every_key_is_told_with_its_default(part: str, key: str):
    lines = [line for line in PAGE.splitlines() if f"`{part}.{key}`" in line]
    assert lines
    default = PARTS[part].model_fields[key].default
    if isinstance(default, bool):
        assert str(default).lower() in lines[0]
    elif isinstance(default, int | float | str):
        assert str(default) in lines[0]


def test_every_format_is_told():
    for each in FORMATS:
        assert f"| `{each.name}`" in PAGE
        assert each.media_type in PAGE


def test_every_key_of_a_dataset_is_told():
    read_like_a_job = {"delimiter", "encoding", "decimal"}
    for key in set(DatasetPart.model_fields) - read_like_a_job:
        assert f"`{key}`" in PAGE or f"\n{key} = " in PAGE, key
