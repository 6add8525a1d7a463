"""How an estimate is scored: in levels, on the side where it lies."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

import statveil as sv
from statveil.audit.attacks.case import TrueCells, read_records
from statveil.tables.spec import Dimension


def cell(*, sensitive: bool = True) -> TrueCells:
    """A cell of 100, which must fall by 10 or rise by 20."""
    whole = {"value": 100, "respondents": 1, "lower": 10, "upper": 20, "records": 1, "leader": 0}
    fields = {name: np.array([number]) for name, number in whole.items()}
    return TrueCells(sensitive=np.array([sensitive]), key=np.array([1], np.uint64), top=np.array([[100]]), **fields)


def test_an_estimate_is_measured_by_the_level_on_its_side() -> None:
    assert cell().rho(np.array([105])).tolist() == [0.25]
    assert cell().rho(np.array([95])).tolist() == [0.5]
    assert cell().rho(np.array([100])).tolist() == [0.0]


def test_a_release_at_the_level_is_safe_and_one_unit_nearer_is_not() -> None:
    assert [bool(cell().unsafe(np.array([number]))[0]) for number in (90, 91, 100, 119, 120)] == [False, True, True, True, False]
    assert not cell(sensitive=False).unsafe(np.array([100])).any()


def test_records_are_read_with_who_they_belong_to() -> None:
    rows = {"area": ["b", "a", "b"], "owner": ["x", "y", "x"], "sales": ["1.5", "2", "0.5"]}
    area = Dimension(name="area", trees=(sv.Hierarchy.flat(["a", "b"]),))
    spec = sv.TableSpec(name="t", dimensions={"area": None}, measure="sales", holding="owner", decimals=1)
    register, values, decimals = read_records(sv.read_microdata(pa.table(rows)), [area], [spec])
    assert [area.codes[place] for place in register.codes["area"]] == ["b", "a", "b"]
    assert register.owner.tolist() == [0, 1, 0]
    assert values["t"].tolist() == [15, 20, 5]
    assert decimals == {"t": 1}
