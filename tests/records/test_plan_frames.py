"""A plan as a frame: a row a field, confidential."""

from __future__ import annotations

import pyarrow as pa

import statveil as sv
from statveil.records.plan_frames import InternalPlan

PEOPLE = pa.table({"town": ["p", "p", "p", "q"], "sex": ["m", "m", "f", "f"]})


def test_a_row_tells_recoding_values_and_blanks_of_a_field() -> None:
    plan = sv.plan_recoding(sv.read_microdata(PEOPLE), sv.KeyVariables(fields={"town": None, "sex": None}, threshold=2, order=1))
    inside = InternalPlan(plan)
    town, sex = inside.to_arrow().to_pylist()
    assert (town["field"], town["values"], town["values_after"], town["blanks"]) == ("town", 2, 2, 1)
    assert (sex["field"], sex["blanks"]) == ("sex", 0)
    assert "confidential" in repr(inside)
    assert "'q'" not in repr(inside)
