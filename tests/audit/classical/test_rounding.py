"""The audit of rounded tables finds what is wrong, and no proof that leaves something out."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_matrix

import statveil as sv
from statveil.audit.classical.rounding import RoundingAsked, RoundingCase, RoundingProof, audit_rounding, proved_bound
from statveil.core.errors import AuditFailed
from statveil.tables.relations import relations

ASKED = RoundingAsked(base=3)
TABLE = sv.table_from_cells({"region": sv.Hierarchy.flat(["A", "B"])}, {("A",): 4, ("B",): 7})
"""11 = 4 + 7."""


def faults(released: list[int], asked: RoundingAsked = ASKED) -> list[str]:
    return [check.name for check in audit_rounding(TABLE, np.array(released), asked).checks if not check.passed]


def test_each_fault_has_its_check() -> None:
    order = TABLE.value.tolist()
    assert order == [11, 4, 7]
    assert faults([12, 3, 9]) == []
    assert faults([11, 4, 7]) == ["multiples"]
    assert faults([12, 3, 6]) == ["additivity"]
    assert faults([15, 6, 9]) == ["distance"]
    assert faults([15, 6, 9], RoundingAsked(base=3, steps=1)) == []
    assert faults([-3, -3, 0], RoundingAsked(base=3, steps=4)) == ["signs"]


def test_zeros_and_multiples_stay() -> None:
    table = sv.table_from_cells({"region": sv.Hierarchy.flat(["A", "B", "C"])}, {("A",): 0, ("B",): 6, ("C",): 2})
    assert table.value.tolist() == [8, 0, 6, 2]
    wrong = audit_rounding(table, np.array([9, 3, 6, 0]), RoundingAsked(base=3, steps=1))
    assert [check.name for check in wrong.checks if not check.passed] == ["zeros"]
    moved = np.array([9, 0, 9, 0])
    assert not audit_rounding(table, moved, ASKED).passed
    assert audit_rounding(table, moved, RoundingAsked(base=3, zero_restricted=False)).passed


def proof(cases: list[RoundingCase], matrix: csr_matrix | None = None) -> RoundingProof:
    return RoundingProof(relations=relations(TABLE) if matrix is None else matrix, scale=1, cases=tuple(cases))


def case(multiplier: int, *narrowed: tuple[int, int, int]) -> RoundingCase:
    return RoundingCase(narrowed=narrowed, multipliers=np.array([multiplier]))


def test_any_multipliers_give_a_bound_that_holds() -> None:
    """The closest table, 12 = 3 + 9, moves by 1 + 1 + 2 = 4; 9 = 3 + 6 moves by 2 + 1 + 1 as well."""
    bounds = [proved_bound(TABLE, ASKED, proof([case(each)])) for each in range(-4, 5)]
    assert max(bounds) == 4
    halves = [case(1, (1, 0, 0)), case(1, (1, 1, 1))]
    assert proved_bound(TABLE, ASKED, proof(halves)) <= 4


def test_a_proof_that_leaves_a_case_out_is_refused() -> None:
    with pytest.raises(AuditFailed, match="leave something out"):
        proved_bound(TABLE, ASKED, proof([case(1, (1, 0, 0))]))
    with pytest.raises(AuditFailed, match="leave something out"):
        proved_bound(TABLE, ASKED, proof([]))


def test_a_relation_that_the_table_does_not_have_is_refused() -> None:
    with pytest.raises(AuditFailed, match="relation"):
        proved_bound(TABLE, ASKED, proof([case(1)], csr_matrix(np.array([[1, -1, 0]]))))


def test_equations_between_measures_are_relations_too() -> None:
    import pyarrow as pa

    firms = sv.read_microdata(pa.table({"region": ["A", "B"], "all": [5, 9], "home": [2, 4], "away": [3, 5]}))
    specs = [sv.TableSpec(dimensions={"region": None}, measure=name, name=name) for name in ("all", "home", "away")]
    table = sv.tabulate(firms, specs, equations=[sv.Equation(total="all", parts=["home", "away"])])
    wrong = np.rint(table.value / 3).astype(np.int64) * 3
    assert "additivity" in [
        check.name for check in audit_rounding(table, wrong + 3, RoundingAsked(base=3, steps=3)).checks if not check.passed
    ]
