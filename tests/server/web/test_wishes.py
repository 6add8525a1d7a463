"""What addresses and bodies mean: pairs of a dimension and a code, and the address of a query."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

import pytest
from pydantic import ValidationError

from statveil.core.errors import InputError
from statveil.server.dataset.query import DimensionChoice, TableQuery
from statveil.server.web.wishes import TableWish, address, paired


def test_a_pair_is_cut_at_the_longest_name_that_fits() -> None:
    found = paired(["region:A", "region:B", "region:old:C:1"], ["region", "region:old"], "code")
    assert found == {"region": ("A", "B"), "region:old": ("C:1",)}


@pytest.mark.parametrize("word", ["region", "size:1", ":A", ""])
def test_what_names_no_dimension_is_refused(word: str) -> None:
    with pytest.raises(InputError, match="does not begin with a dimension and a colon"):
        paired([word], ["region"], "code")


def test_a_body_and_the_address_of_its_query_say_the_same() -> None:
    body = {"dimensions": [{"id": "region", "level": "part"}, {"id": "trade", "codes": ["C", "G&H"]}], "measure": "turnover"}
    query = TableWish.model_validate({**body, "filters": {"size": ["1-9"]}, "totals": False}).query("firms")
    parameters = parse_qs(urlsplit(address(query)).query)
    assert urlsplit(address(query)).path == "/v1/datasets/firms/tables"
    assert parameters == {
        "dimension": ["region", "trade"],
        "level": ["region:part"],
        "code": ["trade:C", "trade:G&H"],
        "measure": ["turnover"],
        "filter": ["size:1-9"],
        "totals": ["false"],
    }


def test_totals_are_shown_unless_said_otherwise() -> None:
    query = TableQuery(dataset="a/b", measure="m", dimensions=(DimensionChoice(id="d"),), filters={}, totals=True)
    assert address(query) == "/v1/datasets/a%2Fb/tables?dimension=d&measure=m"


@pytest.mark.parametrize("body", [{"dimensions": [], "measure": "m"}, {"dimensions": [{"id": "d"}], "measure": "m", "more": 1}])
def test_bodies_that_are_none(body: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        TableWish.model_validate(body)
