"""`statveil serve --prepare` and `--evaluate`: what is said, and what is written."""

from __future__ import annotations

from pathlib import Path

import pytest

from statveil.server import evaluate
from tests.cli.stories import run, told
from tests.server.test_evaluate import LITTLE, RECORDS
from tests.server.village import write_server


@pytest.mark.slow
def test_preparing_says_what_it_does_and_stores_it(tmp_path: Path) -> None:
    config = write_server(tmp_path, web={})
    first, again = (run("serve", config, "--prepare") for _ in range(2))
    assert (first.exit_code, again.exit_code) == (0, 0)
    assert "Preparing village, turnover: auditing" in told(first)
    assert "Change of cells that are not sensitive" in told(first)
    assert "Preparing" not in told(again), "it is stored"


@pytest.mark.slow
def test_what_cannot_be_prepared_is_said(tmp_path: Path) -> None:
    config = write_server(tmp_path, web={}, public=[{"measure": "turnover", "codes": {"region": "N1", "trade": "metal"}}])
    refused = run("serve", config, "--prepare")
    assert refused.exit_code == 2
    assert "sensitive itself" in told(refused)


@pytest.mark.slow
def test_the_evaluation_is_a_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluate, "TUNING", evaluate.TUNING._replace(effort=LITTLE))
    config = write_server(tmp_path, RECORDS, web={})  # type: ignore[arg-type]
    done = run("serve", config, "--evaluate", "--out", tmp_path / "page.html")
    assert done.exit_code == 0
    assert "It is for the office only." in told(done)
    assert "depth 2" in (tmp_path / "page.html").read_text(encoding="utf-8")
