"""The village, before and after its release."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.cli.stories import run, village_in


@pytest.fixture
def village(tmp_path: Path) -> Path:
    """A folder with a job whose only vet in street A is sensitive."""
    return village_in(tmp_path)


@pytest.fixture(scope="session")
def _released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = village_in(tmp_path_factory.mktemp("village"))
    assert run("protect", folder / "job.toml", "--out", folder / "out", "--internal").exit_code == 0
    return folder


@pytest.fixture
def released(_released: Path, tmp_path: Path) -> Path:
    """A copy of a village with its release in `out`."""
    return Path(shutil.copytree(_released, tmp_path / "copy"))
