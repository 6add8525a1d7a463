"""What expressions mean: exact, and the same as slow arithmetic in fractions."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from statveil.core.errors import InputError
from statveil.data.expressions.parser import parse_expression
from statveil.data.queries.expressions import quoted
from statveil.data.queries.tabulation import read_all
from statveil.data.readers import read_microdata
from tests.reference.expressions import value_of


def derived(expression: str, **columns: list[Any]) -> list[Any]:
    data = read_microdata(pa.table(columns), derive={"new": expression})
    with data.engine.session() as session:
        return read_all(session, data.engine)["new"].to_pylist()


@pytest.mark.parametrize(
    ("expression", "found"),
    [
        ("a + 1", ["2.5", "-1.0", None]),
        ("a * a", ["2.25", "4.00", None]),
        ("round(a / 2, 2)", ["0.75", "-1.00", None]),
        ("round(a)", [2, -2, None]),
        ("round(a / 0, 2)", [None, None, None]),
        ("abs(a)", ["1.5", "2.0", None]),
        ("max(a, 0)", ["1.5", "0.0", None]),
        ("if_missing(a, 7)", ["1.5", "-2.0", "7.0"]),
        ("if(a > 0, 'up', 'down')", ["up", "down", None]),
        ("if(a is missing, 1, 0)", [0, 0, 1]),
        ("a > 0", ["true", "false", None]),
        ("number(left(code, 2)) + 1", [2, 3, 4]),
        ("left(code, 2)", ["01", "02", "03"]),
        ("right(code, 1)", ["1", "2", "3"]),
        ("concat(upper('x'), '-', trim(code))", ["X-011", "X-022", "X-033"]),
        ("concat(text(a), 'x')", ["1.5x", "-2x", None]),
        ("code in ('011', '033')", ["true", "false", "true"]),
        ("-a", ["-1.5", "2.0", None]),
    ],
)
def test_derived_values(expression: str, found: list[Any]) -> None:
    assert derived(expression, a=["1.5", "-2", None], code=["011", "022", "033"]) == found


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("a / 2", "round(a / b, 2)"),
        ("a = code", "number(x) or text(x)"),
        ("a = 'x' and a > 'x'", "only numbers are smaller"),
        ("if(a > 1, 'x', 1)", "do not go together"),
        ("a + 'x'", "a number is needed where a text stands"),
        ("a and a > 1", "the column 'a' alone is no condition"),
        ("left(code, a)", "needs a number of characters"),
        ("round(a, 20)", "0 to 9"),
        ("a * a * a * a * a * a * a * a * a * a", "too large"),
        ("nothing > 1", "there is no column 'nothing'"),
        ("number(code) > 1 and code + 1 > 2 and word > 2", "'word' is read as a number and has one value that is not a number, in row 2"),
    ],
)
def test_what_has_no_clear_meaning_is_refused(expression: str, words: str) -> None:
    with pytest.raises(InputError) as told:
        derived(expression, a=["123456.75"] * 2, code=["011", "022"], word=["1", "seven"])
    assert words in str(told.value)
    assert "seven" not in str(told.value)


NASTY = "'); DROP VIEW records; -- \\ \" ` \x00 é 🙂"


def test_no_text_of_a_user_is_part_of_a_query() -> None:
    assert set(quoted(NASTY)) <= set("hex_text('0123456789abcdef')")
    assert derived(f"""code = '{NASTY.replace("'", "''")}'""", code=[NASTY, "x"]) == ["true", "false"]


numbers = st.one_of(st.none(), st.decimals(-1000, 1000, places=2))
leaves = st.sampled_from(["a", "b", "3", "0.5", "12.25"])
amounts = st.recursive(leaves, lambda inner: st.builds("({} {} {})".format, inner, st.sampled_from("+-*"), inner), max_leaves=4)
quotients = st.builds("round({} / {}, {})".format, amounts, amounts, st.integers(0, 4))
SIGNS = st.sampled_from(["=", "!=", "<", "<=", ">", ">="])
tests = st.one_of(st.builds("({} + 0) {} {}".format, amounts, SIGNS, amounts), st.builds("{} is missing".format, amounts))
conditions = st.recursive(
    tests, lambda inner: st.builds("({}) {} not ({})".format, inner, st.sampled_from(["and", "or"]), inner), max_leaves=3
)


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(st.one_of(quotients, amounts.filter(lambda text: "(" in text)), st.lists(st.tuples(numbers, numbers), min_size=1, max_size=4))
def test_numbers_are_exact(expression: str, rows: list[tuple[Any, Any]]) -> None:
    columns = {name: [None if row[place] is None else str(row[place]) for row in rows] for place, name in enumerate("ab")}
    tree = parse_expression(expression, key="derive")
    wanted = [
        value_of(tree, {name: None if row[place] is None else Fraction(row[place]) for place, name in enumerate("ab")}) for row in rows
    ]
    found = derived(expression, a=pa.array(columns["a"], pa.string()), b=pa.array(columns["b"], pa.string()))  # type: ignore[arg-type]
    assert [None if each is None else Fraction(each) for each in found] == wanted


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(conditions, st.lists(st.tuples(numbers, numbers), min_size=1, max_size=4))
def test_conditions_are_true_false_or_unknown(expression: str, rows: list[tuple[Any, Any]]) -> None:
    records = [{name: None if row[place] is None else Fraction(row[place]) for place, name in enumerate("ab")} for row in rows]
    columns = {
        name: pa.array([None if row[place] is None else str(row[place]) for row in rows], pa.string()) for place, name in enumerate("ab")
    }
    words = {True: "true", False: "false", None: None}
    wanted = [words[value_of(parse_expression(expression, key="derive"), record)] for record in records]
    assert derived(expression, **columns) == wanted  # type: ignore[arg-type]
