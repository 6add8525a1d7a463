"""What the tests of publishing share: a few firms, and the type of the fixture that releases the village."""

from __future__ import annotations

import re
from collections.abc import Callable
from html import unescape
from typing import Any

import pandas as pd

import statveil as sv

MakeRelease = Callable[..., Any]
FIRMS = pd.DataFrame(
    {
        "region": ["north", "north", "north", "south", "south", "south", "south"],
        "trade": ["vet", "baker", "baker", "vet", "vet", "vet", "baker"],
        "turnover": ["90125.5", "4011.0", "3977.0", "2503.0", "2604.0", "2705.0", "1801.0"],
    }
)


def protected(data: object, decimals: int = 1) -> sv.Release:
    spec = sv.TableSpec(dimensions={"region": None, "trade": None}, measure="turnover", name="turnover", decimals=decimals)
    return sv.protect_table(data, spec, rules=[sv.MinimumFrequency(2), sv.PPercent(10)], limits=sv.Limits(seconds=60))


def section_of(html: str, name: str) -> str:
    found = re.search(rf'<section id="{name}">(.*?)</section>', html, re.DOTALL)
    assert found is not None
    return unescape(found[1])
