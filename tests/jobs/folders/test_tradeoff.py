"""The folder of a trade-off: which point is published, and what is refused before any search."""

from __future__ import annotations

from pathlib import Path

import pytest

from statveil.core.errors import InputError
from statveil.jobs.folders.tradeoff import tradeoff_job_to_folder, tradeoff_system_to_folder, with_tradeoff
from tests.jobs.folders.test_tables import job


@pytest.mark.parametrize("publish", ["best", "0", "-1", "1.5", "²"])
def test_what_is_no_point_is_refused_before_any_search(tmp_path: Path, publish: str) -> None:
    with pytest.raises(InputError, match="Unknown point"):
        tradeoff_job_to_folder(job(tmp_path), tmp_path / "out", publish=publish)
    with pytest.raises(InputError, match="Unknown point"):
        tradeoff_system_to_folder(tmp_path / "none.jj", tmp_path / "out", publish=publish)
    assert not (tmp_path / "out").exists()


def test_the_job_of_the_release_repeats_what_was_asked(tmp_path: Path) -> None:
    asked = with_tradeoff(job(tmp_path), point=3, points=None)
    assert asked.content["tradeoff"] == {"point": 3}
    assert asked.parts.tradeoff is not None
    assert asked.parts.tradeoff.point == 3
    assert "point = 3" in asked.text
