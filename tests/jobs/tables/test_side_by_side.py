"""Two release folders on one page, by the command line."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from statveil.cli.app import app
from tests.jobs.test_attack_targets import FAST, release, village

__all__ = ["village"]


@pytest.mark.slow
def test_check_writes_the_page(village: Path, tmp_path: Path) -> None:
    folders = [str(release(village, name, protection=f'{FAST}\nweights = "{name}"')) for name in ("unit", "inverse")]
    page = tmp_path / "page.html"
    done = CliRunner().invoke(app, ["check", *folders, "--no-attacks", "--side-by-side", str(page)])
    assert done.exit_code == 0, done.output
    assert "unit and inverse" in page.read_text(encoding="utf-8")
    done = CliRunner().invoke(app, ["check", folders[0], "--no-attacks", "--side-by-side", str(page)])
    assert done.exit_code == 2
    assert "Side by side stand two releases of a table" in done.output
