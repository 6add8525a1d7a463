"""All methods on one page, and the same in figures."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from statveil.jobs.compare import methods
from statveil.jobs.folders.compare import compare_to_folder
from tests.jobs.compare.stories import village


@pytest.mark.slow
def test_all_methods_end_up_on_one_page(tmp_path: Path) -> None:
    outcome = compare_to_folder(village(tmp_path), tmp_path / "out")
    assert [each.name for each in outcome.found.rows] == list(methods.COMPARED)
    adjustment = outcome.found["adjustment"]
    assert adjustment.safe
    assert outcome.found.recommended in ("adjustment", "keep", "suppression")
    page = (tmp_path / "out" / "internal" / "compare.html").read_text(encoding="utf-8")
    assert outcome.found.reason in page.replace("&#39;", "'")
    assert "CONFIDENTIAL" in page
    figures = json.loads((tmp_path / "out" / "internal" / "compare.json").read_text(encoding="utf-8"))
    assert figures["recommended"] == outcome.found.recommended
