"""The public surface: few names at the top, the rest by room, nothing loaded before it is used."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import statveil as sv

ROOT = Path(__file__).resolve().parents[1]
ROOMS = ("argus", "classical", "errors", "keep", "perturb", "recode", "repair", "rules", "systems")
OF_THE_DESIGN = (
    "read_microdata Hierarchy TableSpec PPercent MinimumFrequency protect_table Limits read_jj adjust plan_recoding KeyVariables apply_plan"
)


def test_few_names_are_at_the_top() -> None:
    assert len(set(sv.__all__) - set(ROOMS)) <= 40


@pytest.mark.parametrize("name", sv.__all__)
def test_every_name_is_there(name: str) -> None:
    assert getattr(sv, name) is not None
    assert name in dir(sv)


@pytest.mark.parametrize("name", OF_THE_DESIGN.split())
def test_what_a_first_script_needs_is_at_the_top(name: str) -> None:
    assert name in sv.__all__


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_holds_what_it_lists(room: str) -> None:
    module = getattr(sv, room)
    assert isinstance(module, ModuleType)
    assert module.__doc__
    assert all(hasattr(module, name) for name in getattr(module, "__all__", ()))


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(AttributeError, match="no 'protectt'"):
        _ = sv.protectt


@pytest.mark.slow
def test_importing_costs_nothing() -> None:
    code = "import sys, statveil; print([name for name in sys.modules if name.startswith(('numpy', 'statveil.'))])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("page", sorted((ROOT / "docs").glob("*.md")), ids=lambda page: page.name)
def test_names_in_the_documentation_exist(page: Path) -> None:
    for chain in re.findall(r"\bsv((?:\.[A-Za-z_]+)+)", page.read_text(encoding="utf-8")):
        found: object = sv
        for name in chain[1:].split("."):
            assert hasattr(found, name), f"sv{chain}"
            found = getattr(found, name)
