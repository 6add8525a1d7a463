"""A specification is checked at the door."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from statveil.core.errors import InputError
from statveil.data.readers import read_microdata
from statveil.tables.spec import TableSpec
from statveil.tables.tabulate import tabulate
from tests.tables.village import TOWNS, VILLAGE


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"dimensions": {"town": "flat"}}, "'town' is given as str.*None for a flat dimension"),
        ({"dimensions": {"town": 3}}, "'town' is given as int"),
        ({"dimensions": {"town": []}}, "'town' has an empty list"),
        ({"dimensions": {"town": [TOWNS, "flat"]}}, "'town' has str among its hierarchies"),
        ({"dimensions": ["town", "trade"]}, "a dict from columns to hierarchies, not list.*'region': None"),
        ({"dimensions": {}}, "at least one dimension"),
        ({"dimensions": {"": None}}, "A dimension must be the name of a column"),
        ({"dimensions": {3: None}}, "A dimension must be the name of a column"),
        ({"measure": 3}, "measure must be the name of a column or None"),
        ({"weight": ""}, "weight must be the name of a column or None"),
        ({"decimals": "two"}, "decimals must be a whole number or None, not str"),
        ({"decimals": True}, "decimals must be a whole number or None, not bool"),
        ({"weight_decimals": 1.5}, "weight_decimals must be a whole number or None, not float"),
        ({"weight_policy": "none"}, "Unknown weight_policy"),
        ({"structural_zeros": {"town": "Urk"}}, "structural_zeros must be a list"),
        ({"structural_zeros": ["Urk"]}, "structural_zeros holds str"),
        ({"structural_zeros": [{"shire": "Urk"}]}, "'shire', which is not a dimension"),
        ({"name": ""}, "name of a table"),
        ({"name": " "}, "name of a table"),
        ({"name": None}, "name of a table"),
    ],
)
def test_a_spec_that_makes_no_sense_is_refused_in_words(wrong: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        TableSpec(**{"dimensions": {"town": TOWNS}, **wrong})


@pytest.mark.parametrize("role", ["measure", "weight", "holding", "shadow"])
def test_what_single_records_hold_is_no_dimension(role: str) -> None:
    with pytest.raises(InputError, match=f"'owner' is the {role} and also a dimension"):
        TableSpec(dimensions={"town": TOWNS, "owner": None}, **{role: "owner"})


@pytest.mark.parametrize("specs", [3, "town", {"town": None}, [TableSpec(dimensions={"town": TOWNS}), "town"]])
def test_what_is_no_spec_is_refused(specs: Any) -> None:
    with pytest.raises(InputError, match="TableSpec"):
        tabulate(read_microdata(pa.table(VILLAGE)), specs)
