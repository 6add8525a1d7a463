"""Public totals of a village."""

from __future__ import annotations

from statveil.server.cube.public import PublicTotal
from tests.server.village import VILLAGE

TOWN = [
    *(each for each in VILLAGE if each[3] == "metal"),
    *(
        (f"{unit}{copy}", f"{unit}{copy}", region, "food", value + 37 * copy)
        for copy in range(6)
        for unit, _, region, trade, value in VILLAGE
        if trade == "food"
    ),
]


def _public(**codes: str) -> PublicTotal:
    return PublicTotal(measure="turnover", codes=codes)
