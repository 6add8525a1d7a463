"""An answer is a slice: additive, labelled, of published numbers."""

from __future__ import annotations

from pathlib import Path

import pytest

from statveil.core.errors import InputError
from tests.server.engine.asked import make, value
from tests.server.village import VILLAGE, ask, open_village


def test_an_answer_is_additive_and_labelled(tmp_path: Path) -> None:
    answer = open_village(tmp_path).answer(ask("region", "trade"))
    assert [dimension.id for dimension in answer.dimensions] == ["region", "trade"]
    assert answer.dimensions[0].codes == ("Total", "N", "N1", "N2", "S", "S1", "S2")
    assert answer.dimensions[0].parents == (None, "Total", "N", "N", "Total", "S", "S")
    assert value(answer, "Total", "Total") == value(answer, "N", "Total") + value(answer, "S", "Total")
    assert value(answer, "N1", "Total") == value(answer, "N1", "food") + value(answer, "N1", "metal")
    assert value(answer, "S2", "metal") == 0
    assert not answer.missing.any()


def test_a_filter_with_several_codes_is_their_sum(tmp_path: Path) -> None:
    """Populations: nothing is judged or refused, for any reader could add up the same numbers."""
    service = open_village(tmp_path)
    whole = service.answer(ask("region", "trade"))
    for codes in (("N1", "S1"), ("N", "S2"), ("N1", "N2"), ("N1", "N2", "S1", "S2")):
        some = service.answer(ask("trade", filters={"region": codes}))
        for trade in ("food", "metal", "Total"):
            assert value(some, trade) == sum(value(whole, code, trade) for code in codes)
    with pytest.raises(InputError, match="overlap"):
        service.answer(ask("trade", filters={"region": ("N", "N1")}))
    with pytest.raises(InputError, match="several codes"):
        open_village(make(tmp_path / "paper"), mode="section4").answer(ask("trade", filters={"region": ("N1", "S1")}))


LOSSES = (*VILLAGE, ("debt", "debt", "N1", "food", -900), ("deep", "deep", "S2", "metal", -400), ("even", "even", "S2", "metal", 400))


@pytest.mark.parametrize("mode", ["cube", "section4"])
def test_gains_and_losses_are_served(tmp_path: Path, mode: str) -> None:
    """Levels are of what respondents have, whatever its sign; sums agree."""
    answer = open_village(tmp_path, LOSSES, mode=mode).answer(ask("region", "trade"))
    assert value(answer, "S2", "Total") == value(answer, "S2", "food") + value(answer, "S2", "metal")
    assert value(answer, "Total", "metal") == value(answer, "N", "metal") + value(answer, "S", "metal")
    assert abs(value(answer, "S2", "metal")) >= 40, "two respondents of 400 and -400: the truth is zero"
