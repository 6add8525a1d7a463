"""The page on the server tells every key and every status."""

from __future__ import annotations

from pathlib import Path

import pytest

from statveil.jobs.server_config import DatasetPart, KeyPart, LimitsPart, StorePart, WebPart
from statveil.server.web.formats import FORMATS

PAGE = (Path(__file__).parents[2] / "docs" / "server.md").read_text(encoding="utf-8")
PARTS = {"web": WebPart, "limits": LimitsPart, "store": StorePart, "key": KeyPart}


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
