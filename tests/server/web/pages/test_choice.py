"""The state of the form is an address, and an address is a saved table."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.datastructures import QueryParams

from statveil.core.errors import InputError
from statveil.server.web.pages.choice import COLUMNS, ROWS, FormChoice, check_saved, choice_of, first_choice, saved_tables
from tests.server.fake import FakeService, dataset

FIRMS = dataset()
SAVED = replace(FIRMS, saved=(("By size", "/datasets/firms?measure=turnover&use=size:rows&totals=true"),))


@given(
    use=st.dictionaries(st.sampled_from(["region", "size"]), st.sampled_from([ROWS, COLUMNS])),
    only=st.dictionaries(st.sampled_from(["region", "size"]), st.tuples(st.text(min_size=1, max_size=5))),
    totals=st.booleans(),
)
def test_an_address_gives_back_the_choice(use: dict[str, str], only: dict[str, tuple[str, ...]], totals: bool):
    chosen = FormChoice(measure="turnover", use=use, level={"region": "part"}, only=only, totals=totals)
    assert choice_of(QueryParams(chosen.address), FIRMS) == chosen


def test_the_first_table_is_short():
    found = first_choice(FIRMS)
    assert (found.use, found.level) == ({"region": ROWS, "size": COLUMNS}, {"region": "place", "size": "size"})
    assert first_choice(replace(FIRMS, depth=1)).use == {"region": ROWS}


def test_the_first_table_is_the_first_that_the_officer_named():
    assert first_choice(SAVED).rows == ["size"]
    assert saved_tables(SAVED) == [("By size", "asked=true&measure=turnover&use=size:rows&totals=true")]


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("measure=profit&use=size:rows", "no measure 'profit'"),
        ("measure=turnover", "The table has no rows."),
        ("measure=turnover&use=colour:rows", "does not begin with a dimension"),
    ],
)
def test_a_saved_table_that_cannot_be_asked_for_is_refused_at_the_start(address: str, words: str):
    service = FakeService()
    check_saved({"firms": SAVED}, service.check)
    wrong = replace(FIRMS, saved=(("Mine", address),))
    with pytest.raises(InputError, match="Dataset 'firms', saved table 'Mine'") as refused:
        check_saved({"firms": wrong}, service.check)
    assert words in refused.value.message
