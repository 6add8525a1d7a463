"""Rule `wildcard` exactly: what the rule really asks, and why it is weak."""

from __future__ import annotations

from typing import Any

import pytest

import statveil as sv
from statveil.records.suppress import wildcard, wildcard_bound
from tests.records.stories import microdata, random_records, released
from tests.reference.files import fewest_blanks, tables_up_to, unsafe


def keys(fields: int, **more: Any) -> sv.KeyVariables:
    return sv.KeyVariables(fields=dict.fromkeys("abcde"[:fields]), rule="wildcard", **more)


@pytest.mark.slow
def test_two_records_blank_altogether_make_any_file_safe_for_three() -> None:
    """Sixty unique records, and 58 of them may stay as they are: never sell the low count of this rule."""
    found = sv.recode.suppress(microdata([(f"a{n}", f"b{n}") for n in range(60)]), keys(2, threshold=3, order=2))
    assert found.blanks == {"a": 2, "b": 2}
    assert str(found.ending) == "optimal"


@pytest.mark.slow
def test_one_rare_value_among_many_loses_it_or_is_helped_by_whichever_is_cheaper() -> None:
    rows = [("x", "p")] * 5 + [("y", "p")] * 5 + [("z", "p")]
    found = sv.recode.suppress(microdata(rows), keys(2, threshold=3, order=2))
    assert (found.blanks, str(found.ending)) == ({"a": 1, "b": 0}, "optimal")


@pytest.mark.slow
def test_ties_go_to_the_field_of_lower_second_cost() -> None:
    """The only (x, q) loses either value: the other rows are common, and one blank is enough."""
    rows = [("x", "p")] * 3 + [("y", "q")] * 3 + [("x", "q")]
    for ties, blanks in (({"a": 1.0, "b": 2.0}, {"a": 1, "b": 0}), ({"a": 2.0, "b": 1.0}, {"a": 0, "b": 1})):
        found = sv.recode.suppress(microdata(rows), keys(2, threshold=3, order=2, ties=ties))
        assert (found.blanks, found.second_cost, found.ties_settled) == (blanks, 0.0, True)


@pytest.mark.slow
@pytest.mark.parametrize(("records", "settled"), [(60, True), (4, False)])
def test_ties_of_a_file_beyond_the_whole_program_are_settled_by_prices_or_told(
    records: int, settled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wildcard, "TUNING", wildcard.TUNING._replace(most_entries=0))
    found = sv.recode.suppress(microdata([(f"a{n}", f"b{n}") for n in range(records)]), keys(2, threshold=3, order=2))
    assert (str(found.ending), found.ties_settled) == ("optimal", settled)
    assert found.notes == ({} if settled else {"ties left open": 1})


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_columns_that_are_generated_give_bounds_below_the_optimum(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = random_records(seed, records=4, sizes=(3, 2, 2))
    least = fewest_blanks(rows, tables_up_to(3, 2, 2), "wildcard", [1.0] * 3)
    monkeypatch.setattr(wildcard, "TUNING", wildcard.TUNING._replace(most_entries=0))
    found = sv.recode.suppress(microdata(rows), keys(3, threshold=2, order=2))
    assert found.bound <= least <= found.cost
    assert unsafe(*released(found), tables_up_to(3, 2, 2), "wildcard") == 0


@pytest.mark.slow
def test_combinations_left_out_of_the_program_cost_the_proof_but_not_the_safety(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = random_records(8, records=60, sizes=(6, 4, 3))
    exact = sv.recode.suppress(microdata(rows), keys(3, threshold=3, order=3))
    monkeypatch.setattr(wildcard, "TUNING", wildcard.TUNING._replace(most_looks=3000))
    found = sv.recode.suppress(microdata(rows), keys(3, threshold=3, order=3))
    assert found.bound <= exact.cost <= found.cost
    assert unsafe(*released(found), tables_up_to(3, 3, 3), "wildcard") == 0
    monkeypatch.setattr(wildcard, "TUNING", wildcard.TUNING._replace(most_looks=1))
    monkeypatch.setattr(wildcard_bound, "TUNING", wildcard_bound.TUNING._replace(most_units=1))
    assert sv.recode.suppress(microdata(rows), keys(3, threshold=3, order=3)).bound == 1.0


@pytest.mark.slow
def test_a_listed_combination_alone_is_made_safe_in_all_its_parts() -> None:
    rows = random_records(9, records=25, sizes=(4, 3, 3))
    found = sv.recode.suppress(microdata(rows), keys(3, threshold=3, combinations=[["a", "b", "c"]]))
    assert unsafe(*released(found), [((0, 1, 2), 3)], "wildcard") == 0
    assert str(found.ending) == "optimal"


@pytest.mark.slow
def test_a_plan_under_the_rule_recodes_nothing_where_a_few_blank_records_do() -> None:
    menu = sv.recode.Menu.own({"all": {f"a{n}": "*" for n in range(30)}})
    plan = sv.plan_recoding(
        microdata([(f"a{n}", "b") for n in range(30)]),
        sv.KeyVariables(fields={"a": menu, "b": None}, threshold=3, order=2, rule="wildcard", recoding_weight=1.0),
    )
    assert plan.recoding["a"] == "as it is"
    assert plan.suppression.total <= 4
