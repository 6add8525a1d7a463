"""A linear system from Python; the command line does the same."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import statveil as sv
import statveil.jobs.adjust
from tests.formats.systems import VILLAGE


def test_a_system_asked_wrongly_is_refused(tmp_path: Path) -> None:
    for wrong, words in (
        ({"limits": 5}, "limits must be"),
        ({"repair": sv.Options()}, "Repair, not"),
        ({"method": 3}, "a name or a Method"),
    ):
        with pytest.raises(sv.InputError, match=words):
            sv.adjust(tmp_path / "none.jj", **wrong)
    with pytest.raises(sv.InputError, match="SystemOptions, not"):
        sv.systems.SystemFiles(tmp_path / "none.jj", options=sv.Options())  # type: ignore[arg-type]
    with pytest.raises(sv.InputError, match="seed"):
        sv.Method(seed="one")  # type: ignore[arg-type]


@pytest.mark.slow
def test_one_call_does_it_from_python(tmp_path: Path) -> None:
    village = tmp_path / "village.jj"
    village.write_text(VILLAGE)
    outcome = sv.adjust(sv.systems.SystemFiles(village, options=sv.systems.SystemOptions(weights="unit")))
    assert outcome.audit.passed
    assert outcome.solution == village.with_suffix(".sol")
    assert np.abs(outcome.adjustment.deviation).sum() == 100
