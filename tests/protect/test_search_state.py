"""What a search believes: nothing that its own table refutes."""

from __future__ import annotations

from statveil.core.limits import Limits
from statveil.protect.search_state import Search, SearchNews
from tests.protect.claims import CHEAP, ROW


def test_a_search_does_not_hear_a_claim_above_its_own_table() -> None:
    heard: list[SearchNews] = []
    search = Search(ROW, Limits(), 0, heard.append)
    search.offer(CHEAP)
    search.offer_bound(9.0)
    assert search.bound == 0.0
    assert not search.done
    search.offer_bound(8.0 + 1e-9)
    assert search.bound == 8.0, "rounding in the last digits is no contradiction"
