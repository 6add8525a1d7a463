"""The fast rules and the brute-force ones call the same cells unsafe and ask for the same levels."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from statveil.risk.assess import assess
from statveil.risk.rules import Dominance, MinimumFrequency, PPercent, PriorPosterior, Request, Rule, ZeroRule
from tests.reference import rules as reference
from tests.reference.rules import Cell, Respondent
from tests.risk.cells import table_of

small = st.integers(-30, 200)
large = st.integers(-(2**56), 2**56)
amounts = st.one_of(small, small, large)
weights = st.integers(1, 300).map(lambda hundredths: Fraction(hundredths, 100))
percents = st.integers(1, 9999).map(lambda hundredths: hundredths / 100)
factors = st.sampled_from([1, 0.5, 1.25, "1/3"])
levels = st.one_of(percents, st.tuples(percents, percents))


def respondents(shadow: st.SearchStrategy[int | None]) -> st.SearchStrategy[Respondent]:
    return st.builds(Respondent, amount=amounts, shadow=shadow, weight=weights, waived=st.booleans(), requested=st.booleans())


def tables(largest: int = 8) -> st.SearchStrategy[list[Cell]]:
    plain = st.lists(st.lists(respondents(st.none()), min_size=1, max_size=largest), min_size=1, max_size=4)
    shadowed = st.lists(st.lists(respondents(amounts), min_size=1, max_size=largest), min_size=1, max_size=4)
    return st.one_of(plain, shadowed)


Levels = tuple[int, int] | None
"""Lower and upper level of a sensitive cell; None of a safe one."""


def found(cells: list[Cell], rule: Rule) -> list[Levels]:
    """What the rule says of each cell, for the reason that it gives."""
    judged = assess(table_of(cells), [rule])
    assert judged.reasons[rule.words].tolist() == judged.sensitive.tolist()
    assert not (judged.lower_level | judged.upper_level)[~judged.sensitive].any()
    pairs = zip(judged.lower_level.tolist(), judged.upper_level.tolist(), strict=True)
    return [pair if unsafe else None for pair, unsafe in zip(pairs, judged.sensitive.tolist(), strict=True)]


def from_shortfall(cell: Cell, shortfall: Fraction | None, factor: object) -> Levels:
    """Never less than one unit."""
    if shortfall is None:
        return None
    return max(reference.level(cell, shortfall, Fraction(str(factor))), 1), max(reference.level(cell, shortfall), 1)


def from_percent(cell: Cell, unsafe: bool, level: object) -> Levels:
    """Never less than one unit."""
    if not unsafe:
        return None
    lower, upper = level if isinstance(level, tuple) else (level, level)
    return max(reference.percent_level(cell, Fraction(str(lower))), 1), max(reference.percent_level(cell, Fraction(str(upper))), 1)


@given(cells=tables(), p=percents, coalition=st.integers(0, 3), factor=factors)
def test_p_percent_tries_every_target_and_every_coalition(cells, p, coalition, factor):
    shortfalls = [reference.prior_posterior(cell, Fraction(str(p)), Fraction(100), coalition) for cell in cells]
    expected = [from_shortfall(cell, shortfall, factor) for cell, shortfall in zip(cells, shortfalls, strict=True)]
    assert found(cells, PPercent(p, coalition=coalition, lower_factor=factor)) == expected


@given(
    cells=tables(), pair=st.tuples(percents, percents).filter(lambda pair: pair[0] < pair[1]), coalition=st.integers(0, 2), factor=factors
)
def test_prior_posterior(cells, pair, coalition, factor):
    p, q = pair
    shortfalls = [reference.prior_posterior(cell, Fraction(str(p)), Fraction(str(q)), coalition) for cell in cells]
    expected = [from_shortfall(cell, shortfall, factor) for cell, shortfall in zip(cells, shortfalls, strict=True)]
    assert found(cells, PriorPosterior(p, q, coalition=coalition, lower_factor=factor)) == expected


@given(cells=tables(), n=st.integers(1, 4), k=st.integers(2000, 9999).map(lambda hundredths: hundredths / 100), factor=factors)
def test_dominance(cells, n, k, factor):
    shortfalls = [reference.dominance(cell, n, Fraction(str(k))) for cell in cells]
    expected = [from_shortfall(cell, shortfall, factor) for cell, shortfall in zip(cells, shortfalls, strict=True)]
    assert found(cells, Dominance(n, k, lower_factor=factor)) == expected


@given(cells=tables(), n=st.integers(1, 6), level=levels)
def test_minimum_frequency(cells, n, level):
    expected = [from_percent(cell, reference.minimum_frequency(cell, n), level) for cell in cells]
    assert found(cells, MinimumFrequency(n, level=level)) == expected


@given(cells=tables(), percent=percents, minimum=st.integers(0, 5), level=levels)
def test_request(cells, percent, minimum, level):
    expected = [from_percent(cell, reference.request(cell, Fraction(str(percent)), minimum), level) for cell in cells]
    assert found(cells, Request(percent, minimum=minimum, level=level)) == expected


@given(cells=tables(largest=3), level=st.integers(1, 50))
def test_zero_rule(cells, level):
    assert found(cells, ZeroRule(level)) == [(level, level) if reference.zero(cell) else None for cell in cells]


@given(cells=tables(), p=percents, n=st.integers(1, 6), level=levels)
def test_of_several_rules_the_strictest_level_wins_and_every_reason_is_kept(cells, p, n, level):
    table = table_of(cells)
    rules = [PPercent(p, lower_factor=2), MinimumFrequency(n, level=level)]
    together, apart = assess(table, rules), [assess(table, [rule]) for rule in rules]
    assert (together.sensitive == apart[0].sensitive | apart[1].sensitive).all()
    assert together.lower_level.tolist() == [max(pair) for pair in zip(apart[0].lower_level, apart[1].lower_level, strict=True)]
    assert together.upper_level.tolist() == [max(pair) for pair in zip(apart[0].upper_level, apart[1].upper_level, strict=True)]
    for rule, alone in zip(rules, apart, strict=True):
        assert (together.reasons[rule.words] == alone.sensitive).all()
