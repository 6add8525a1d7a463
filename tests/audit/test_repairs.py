"""Numbers audited against requirements that a list of repairs loosens: no more and no less."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from statveil.audit.repairs import eased_system, in_words
from statveil.audit.systems import audit_system
from statveil.core.errors import InputError
from statveil.formats.rcta import Relaxation
from statveil.formats.system import LinearSystem


def system(**changes: object) -> LinearSystem:
    """30 = 20 + 10, where 20 must move by 5 down or 6 up, 30 may move by 1, 10 by 2."""
    fields: dict[str, object] = {
        "relations": csr_matrix(np.array([[-1, 1, 1]])),
        "rhs": np.array([0]),
        "value": np.array([30, 20, 10]),
        "cost": np.ones(3),
        "status": np.array(["s", "u", "s"]),
        "lower": np.array([29, 0, 8]),
        "upper": np.array([31, 100, 12]),
        "lower_level": np.array([0, 5, 0]),
        "upper_level": np.array([0, 6, 0]),
        "decimals": 0,
    }
    return LinearSystem(**{**fields, **changes})  # type: ignore[arg-type]


def failed(released: list[int], repairs: list[Relaxation], **options: object) -> list[str]:
    report = audit_system(system(), np.array(released), repairs=repairs, **options)  # type: ignore[arg-type]
    return [check.name for check in report.checks if not check.passed]


@pytest.mark.parametrize(
    ("released", "repair", "broken"),
    [
        ([29, 15, 14], Relaxation("upper", 2, 2), "bounds"),
        ([31, 26, 5], Relaxation("lower", 2, 3), "bounds"),
        ([30, 15, 12], Relaxation("relation", 0, -3), "additivity"),
        ([31, 26, 12], Relaxation("relation", 0, 7), "additivity"),
        ([29, 17, 12], Relaxation("protection-down", 1, 2), "protection"),
        ([31, 23, 8], Relaxation("protection-up", 1, 3), "protection"),
    ],
)
def test_a_repair_allows_what_it_lists_and_only_that(released: list[int], repair: Relaxation, broken: str) -> None:
    assert failed(released, []) == [broken]
    assert failed(released, [repair]) == []
    assert failed(released, [repair._replace(by=repair.by + 1)]) in (["repairs"], ["additivity", "repairs"])


def test_a_repair_of_one_less_does_not_do() -> None:
    assert failed([29, 15, 14], [Relaxation("upper", 2, 1)]) == ["bounds", "repairs"]


def test_a_cell_may_go_further_than_its_level_only_as_listed() -> None:
    released = [31, 19 - 5, 17]
    upper = Relaxation("upper", 2, 5)
    assert failed(released, [upper], variant="exact") == ["overshoot"]
    assert failed(released, [upper, Relaxation("overshoot", 1, 1)], variant="exact") == []


def test_a_fixed_cell_that_gives_is_checked_against_its_value() -> None:
    fixed = system(status=np.array(["s", "u", "z"]))
    released = np.array([31, 15, 16])
    assert not audit_system(fixed, released).passed
    assert audit_system(fixed, released, repairs=[Relaxation("upper", 2, 6)]).passed


def test_the_words_of_the_checks_say_that_something_gave() -> None:
    report = audit_system(system(), np.array([29, 15, 14]), repairs=[Relaxation("upper", 2, 2)])
    assert "Every cell stays within its bounds, but for the repairs listed" in str(report)
    assert report.checks[-1].name == "repairs"


@pytest.mark.parametrize(
    ("repairs", "words"),
    [
        ([Relaxation("upper", 2, 2), Relaxation("upper", 2, 1)], "twice"),
        ([Relaxation("upper", 3, 1)], "does not exist"),
        ([Relaxation("relation", 1, 1)], "does not exist"),
        ([Relaxation("lower", 0, 0)], "by nothing"),
        ([Relaxation("lower", 0, -1)], "by nothing"),
        ([Relaxation("protection-up", 1, 6)], "takes a cell's protection away"),
        ([Relaxation("protection-down", 1, 5)], "takes a cell's protection away"),
    ],
)
def test_an_impossible_list_is_refused(repairs: list[Relaxation], words: str) -> None:
    with pytest.raises(InputError, match=words):
        eased_system(system(), repairs)


def test_words_without_amounts_shout_about_protection() -> None:
    told = in_words([Relaxation("upper", 2, 777), Relaxation("relation", 0, 777), Relaxation("protection-up", 1, 777)])
    assert told == ["upper bound of cell 2 was relaxed", "relation 0 is off", "PROTECTION of cell 1 WAS WEAKENED"]
