"""The methods side by side in the internal report of a release."""

from __future__ import annotations

from pathlib import Path

import pytest

from statveil.core.errors import InputError
from statveil.jobs.compare.beside import seconds_for_methods
from statveil.jobs.folders.tables import protect_to_folder, settings_of
from tests.jobs.compare.stories import village

COMPARED = "[output]\ncompare = true\n"


@pytest.mark.slow
def test_the_internal_report_shows_what_other_methods_would_have_done_and_the_public_one_does_not(tmp_path: Path) -> None:
    written = protect_to_folder(village(tmp_path, more=COMPARED + "internal = true\n"), tmp_path / "out")
    page, public = (written.files[name].read_text(encoding="utf-8") for name in ("internal report", "report"))
    assert "The methods side by side" in page
    assert "adjustment loses least" in page
    assert "cell suppression</b>: 3 cells beside the sensitive ones" in page
    assert '"chart-methods"' in page
    assert "side by side" not in public


def test_without_the_internal_report_the_comparison_is_refused_before_the_search(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="confidential"):
        protect_to_folder(village(tmp_path, more=COMPARED), tmp_path / "out")


def test_other_methods_take_their_share_of_the_time_where_they_are_asked_for(tmp_path: Path) -> None:
    plain, beside = village(tmp_path), village(tmp_path, more=COMPARED)
    assert seconds_for_methods(plain) == 0.0
    assert settings_of(beside).reserved - settings_of(plain).reserved == seconds_for_methods(beside) == 8.0
