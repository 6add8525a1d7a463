"""Counts in which a blank matches everything: by patterns of blanks, the same as by looking at every pair of records."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from statveil.audit import file_audit
from statveil.audit.file_audit import wildcard_keys
from statveil.data.engines import engine_over_arrow

Record = tuple[int | None, ...]
Tables = Sequence[tuple[Sequence[str], int]]


def counted(records: Sequence[Record], tables: Tables) -> int | None:
    columns = {f"w{place}": pa.array(list(values), pa.int32()) for place, values in enumerate(zip(*records, strict=True))}
    lent = pa.table({**columns, "records": pa.array([1] * len(records), pa.int64()), "id": pa.array(range(len(records)), pa.int64())})
    with engine_over_arrow(lent, origin="a test").session() as session:
        session.lend("lent", lent)
        session.keep("coded_after", "SELECT * FROM lent")
        found = wildcard_keys(session, tables)
        return None if found is None else len({int(key) for some in found for key in some})


def by_pairs(records: Sequence[Record], tables: Tables) -> int:
    """The definition: a record is unsafe if in some combination fewer records than the threshold may be the same as far as is shown."""
    found = set()
    for fields, threshold in tables:
        places = [int(name[1:]) for name in fields]
        for number, one in enumerate(records):
            if sum(all(one[p] == two[p] or None in (one[p], two[p]) for p in places) for two in records) < threshold:
                found.add(number)
    return len(found)


def every(fields: int, threshold: int) -> list[tuple[list[str], int]]:
    names = [f"w{place}" for place in range(fields)]
    return [(list(some), threshold) for size in range(1, fields + 1) for some in combinations(names, size)]


def test_four_villagers_by_hand() -> None:
    """A vet whose town is not told and somebody of Urk whose job is not told may both be the vet of Urk; the farmer of Ede is alone."""
    vet, no_town, no_job, farmer = (1, 1), (None, 1), (1, None), (2, 2)
    records = [vet, no_town, no_job, farmer]
    assert counted(records, [(["w0", "w1"], 2)]) == by_pairs(records, [(["w0", "w1"], 2)]) == 1
    assert counted(records, [(["w0", "w1"], 3)]) == 1
    assert counted(records, [(["w0", "w1"], 4)]) == 4


def test_a_record_blank_everywhere_matches_all() -> None:
    records = [(1, 1), (2, 2), (3, 3), (None, None)]
    assert counted(records, every(2, 2)) == 0
    assert counted(records, every(2, 3)) == 3


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(data=st.data(), fields=st.integers(1, 4))
def test_patterns_count_what_pairs_count(data: st.DataObject, fields: int) -> None:
    record = st.tuples(*[st.one_of(st.none(), st.integers(0, 2))] * fields)
    records = data.draw(st.lists(record, min_size=1, max_size=20))
    thresholds = {size: data.draw(st.integers(2, 5)) for size in range(1, fields + 1)}
    tables = [(some, thresholds[len(some)]) for some, _ in every(fields, 2) if data.draw(st.booleans())]
    assert counted(records, tables) == by_pairs(records, tables)


@pytest.mark.slow
def test_many_patterns_and_many_unsafe_records() -> None:
    rng = np.random.default_rng(4)
    codes = rng.integers(0, 12, (120, 5))
    blank = rng.random((120, 5)) < 0.3
    records = [tuple(None if hidden else int(code) for code, hidden in zip(*row, strict=True)) for row in zip(codes, blank, strict=True)]
    tables = every(5, 4)
    assert counted(records, tables) == by_pairs(records, tables) > 50


def test_a_million_pairs_of_patterns_are_not_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    records = [(1, None), (None, 2), (3, 4)]
    monkeypatch.setattr(file_audit, "TUNING", file_audit.TUNING._replace(work=file_audit.TUNING.join_work))
    assert counted(records, every(2, 3)) is None
