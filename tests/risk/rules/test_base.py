"""The rules told by small stories that can be checked by hand."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from statveil.core.errors import RuleError
from statveil.risk.assess import assess
from statveil.risk.rules import Dominance, MinimumFrequency, PPercent, PriorPosterior, Request, ZeroRule, contributions_needed
from statveil.risk.rules.base import RespondentRule
from tests.reference.rules import Respondent
from tests.risk.cells import firms, table_of, without_respondents
from tests.risk.rules.stories import levels


def test_lower_level_may_differ_from_the_upper():
    assert levels([firms(200)], PPercent(10, lower_factor=0.25)) == [(5, 20)]
    assert levels([firms(200)], MinimumFrequency(3, level=(5, 12.5))) == [(10, 25)]


def test_losses_count_by_their_size():
    # a profit of 100 and a loss of 90: nobody dominates by 70%, though the sum is 10
    assert levels([firms(100, -90)], Dominance(1, 70)) == [None]
    # the loss is the target: 10% of 100 less nothing
    assert levels([firms(-100)], PPercent(10)) == [(10, 10)]


def test_who_waived_protection_is_no_target_but_may_attack():
    giant, small = Respondent(1000, waived=True), Respondent(10)
    # the giant learns the small one's contribution: 10% of 10
    assert levels([[giant, small]], PPercent(10)) == [(1, 1)]
    assert levels([[giant, *firms(10, 5)]], PPercent(10)) == [None]
    assert levels([[giant, *firms(10, 5)]], Dominance(1, 70)) == [None]


def test_all_waived_is_safe():
    cell = [Respondent(1000, waived=True), Respondent(10, waived=True)]
    for rule in (PPercent(10), Dominance(1, 70), MinimumFrequency(3)):
        assert levels([cell], rule) == [None]


def test_a_shadow_variable_gives_the_share_of_the_value():
    # by employment: 10% of 60 less 5 is one of 100; one percent of the published 2050 is 20.5
    cell = [Respondent(2000, shadow=60), Respondent(50, shadow=35), Respondent(0, shadow=5)]
    assert levels([cell], PPercent(10)) == [(21, 21)]


def test_contributions_in_coarser_units_than_the_value():
    table = replace(table_of([firms(200)], scale=2, decimals=2), rule_scale=0)
    assert assess(table, [PPercent(10)]).upper_level.tolist() == [2000]


def test_numbers_near_the_end_of_int64_are_computed_exactly():
    large = 2**61 + 1
    assert levels([firms(large)], PPercent(99.999999)) == [(-(-large * 99999999 // 10**8),) * 2]


def test_a_level_beyond_all_measure_is_refused():
    with pytest.raises(RuleError, match="too large"):
        levels([firms(2**61)], Dominance(1, 0.001))


def test_an_empty_table_has_nothing_sensitive():
    assert levels([], PPercent(10)) == []


def test_the_largest_number_of_contributions_is_asked_for():
    assert contributions_needed([]) == 0
    assert contributions_needed([MinimumFrequency(3), Dominance(3, 75), PPercent(10), PriorPosterior(10, 50, coalition=3)]) == 4


def test_a_table_with_too_few_contributions_is_refused():
    with pytest.raises(RuleError, match="looks at the 3 largest contributions of a cell, and the table holds 2"):
        assess(table_of([firms(1, 2, 3)], top=2), [Dominance(3, 80)])


def test_a_ready_table_has_no_respondents_to_judge():
    with pytest.raises(RuleError, match="name its sensitive cells with Manual"):
        assess(without_respondents(table_of([firms(1)])), [MinimumFrequency(3)])


def test_something_else_is_not_a_rule():
    with pytest.raises(RuleError, match="'p%' is not a rule"):
        assess(table_of([firms(1)]), ["p%"])
    for alone in (PPercent(10), "p%", None):
        with pytest.raises(RuleError, match="rules must be a list"):
            assess(table_of([firms(1)]), alone)


def test_the_verdict_cannot_be_changed():
    found = assess(table_of([firms(1), firms(5, 5, 5)]), [PPercent(10), MinimumFrequency(3)])
    assert found.reasons_of(0) == ("p% rule, p = 10", "minimum frequency rule, n = 3")
    assert found.reasons_of(1) == ()
    arrays = [found.sensitive, found.lower_level, found.upper_level, found.frozen, found.weight, *found.reasons.values()]
    assert not any(array.flags.writeable for array in [*arrays, found.minimum, found.maximum])


def test_rules_in_words():
    assert PPercent(10, coalition=2).words == "p% rule, p = 10, coalition of 2"
    assert PriorPosterior(10, 50).words == "prior-posterior rule, p = 10, q = 50"
    assert Dominance(1, 70).words == "dominance rule, n = 1, k = 70"
    assert Request(70).words == "request rule, 70%"
    assert Request(70, minimum=3).words == "request rule, 70%, minimum = 3"
    assert ZeroRule(5).words == "zero rule"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: PPercent(0), "PPercent: p must be more than 0 and at most 100, not 0"),
        (lambda: PPercent(101), "PPercent: p"),
        (lambda: PPercent(float("nan")), "PPercent: p must be a finite number"),
        (lambda: PPercent(True), "PPercent: p must be a finite number"),
        (lambda: PPercent("1e999999999"), "PPercent: p must be a finite number"),
        (lambda: PPercent("1/0"), "PPercent: p must be a finite number"),
        (lambda: PPercent(10, coalition=-1), "PPercent: coalition must be a whole number, 0 or more"),
        (lambda: PPercent(10, lower_factor=0), "PPercent: lower_factor must be more than 0"),
        (lambda: PriorPosterior(50, 50), "p must be less than q"),
        (lambda: PriorPosterior(10, 120), "PriorPosterior: q"),
        (lambda: Dominance(0, 70), "Dominance: n must be a whole number, 1 or more"),
        (lambda: Dominance(1, 100), "Dominance: k must be less than 100"),
        (lambda: Dominance(1.5, 70), "Dominance: n must be a whole number"),
        (lambda: MinimumFrequency(True), "MinimumFrequency: n must be a whole number"),
        (lambda: MinimumFrequency(3, level=0), "MinimumFrequency: level must be more than 0"),
        (lambda: MinimumFrequency(3, level=(1, 2, 3)), "one number or a pair"),
        (lambda: MinimumFrequency(3, level=(5, -1)), r"level \(upper\) must be more than 0"),
        (lambda: Request(-1), "Request: percent must be between 0 and 100"),
        (lambda: Request(70, minimum=-1), "Request: minimum"),
        (lambda: ZeroRule(0), "ZeroRule: level must be more than 0"),
    ],
)
def test_parameters_are_checked_at_the_door(make, message):
    with pytest.raises(RuleError, match=message):
        make()


def test_parameters_may_be_fractions_and_numpy_numbers():
    assert levels([firms(300)], PPercent(Fraction(1, 3))) == levels([firms(300)], PPercent("1/3")) == [(1, 1)]
    assert levels([firms(10, 10)], MinimumFrequency(np.int64(3), level=np.float64(12.5))) == [(3, 3)]


@pytest.mark.parametrize(
    ("rule", "cell", "words"),
    [
        (PPercent(10), firms(*[10] * 25), "the rest is 2,300% of the target; at least 10% asked"),
        (PPercent(10), firms(80, 15, 5), "the rest is 6.25% of the target; at least 10% asked"),
        (PPercent(10, coalition=2), firms(80, 15, 5), "the rest is 0% of the target; at least 10% asked"),
        (PriorPosterior(10, 50), firms(80, 15, 5), "the rest is 6.25% of the target; at least 20% asked"),
        (Dominance(2, 90), firms(60, 35, 5), "the 2 largest have 95%; up to 90% allowed"),
        (MinimumFrequency(3), firms(60, 35), "2 of at least 3 respondents"),
        (PPercent(10), firms(0), "nobody to protect"),
        (Dominance(1, 70), firms(0), "the largest has 0%; up to 70% allowed"),
        (ZeroRule(5), firms(0), ""),
    ],
)
def test_a_rule_tells_what_it_measures_at_a_cell(rule: RespondentRule, cell: object, words: str) -> None:
    assert rule.figure(table_of([cell]), 0) == words
