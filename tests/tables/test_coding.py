"""Units of everything that is added up, and the dimensions that records have."""

from __future__ import annotations

import pyarrow as pa
import pytest

from statveil.core.errors import HierarchyError, InputError
from statveil.data.readers import read_microdata
from statveil.tables.coding import TableUnits
from statveil.tables.spec import TableSpec
from statveil.tables.tabulate import tabulate


def test_a_contribution_has_the_decimals_of_measure_and_weight() -> None:
    units = TableUnits(measure_decimals=2, rule_decimals=1, weight_decimals=3, repeats=False)
    assert (units.scale, units.rule_scale, units.one) == (5, 4, 1000)


def test_sums_that_no_integer_holds_are_refused_without_a_value() -> None:
    large = pa.table({"area": ["p", "q"], "sales": [2**62 - 1, 2**62 - 1]})
    with pytest.raises(InputError, match="too large to be added up exactly") as failure:
        tabulate(read_microdata(large), TableSpec(dimensions={"area": None}, measure="sales"))
    assert str(2**62 - 1) not in str(failure.value)


def test_without_records_there_are_no_codes_to_take() -> None:
    empty = pa.table({"area": pa.array([], pa.string()), "sales": pa.array([], pa.int64())})
    with pytest.raises(InputError, match="no records to take the codes of 'area' from"):
        tabulate(read_microdata(empty), TableSpec(dimensions={"area": None}, measure="sales"))


def test_a_code_that_is_also_the_total_s_is_refused() -> None:
    shops = pa.table({"area": ["Total", "q"], "sales": [1, 2]})
    with pytest.raises(HierarchyError, match="also the code of its total"):
        tabulate(read_microdata(shops), TableSpec(dimensions={"area": None}, measure="sales"))
