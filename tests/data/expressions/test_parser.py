"""From text to a tree, and what is refused."""

from __future__ import annotations

import pytest

from statveil.core.errors import InputError
from statveil.data.expressions.parser import FUNCTIONS, TUNING, parse_expression
from statveil.data.expressions.tree import (
    Arithmetic,
    ColumnName,
    Comparison,
    Connection,
    FunctionCall,
    Membership,
    MissingTest,
    Negation,
    NumberLiteral,
    TextLiteral,
)

A, B, ONE = ColumnName("a"), ColumnName("b"), NumberLiteral(1, 0)
IS_ONE = Comparison("=", A, ONE)


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("a = 1", Comparison("=", A, ONE)),
        ("a <> 1.50", Comparison("!=", A, NumberLiteral(150, 2))),
        ("a = -1", Comparison("=", A, NumberLiteral(-1, 0))),
        ("- - a", A),
        ("a = 'it''s'", Comparison("=", A, TextLiteral("it's"))),
        ('a = "x"', Comparison("=", A, TextLiteral("x"))),
        ("`odd name; --` = 1", Comparison("=", ColumnName("odd name; --"), ONE)),
        ("a = 1 or a = 1 AND b = 1", Connection("or", IS_ONE, Connection("and", IS_ONE, Comparison("=", B, ONE)))),
        ("not a is missing", Negation(MissingTest(A))),
        ("a is not missing", Negation(MissingTest(A))),
        ("a not in ('x', 1)", Negation(Membership(A, (TextLiteral("x"), ONE)))),
        ("a + b * 1", Arithmetic("+", A, Arithmetic("*", B, ONE))),
        ("(a + b) * 1", Arithmetic("*", Arithmetic("+", A, B), ONE)),
        ("ROUND(a, 1)", FunctionCall("round", (A, ONE))),
        ("-a", Arithmetic("-", NumberLiteral(0, 0), A)),
    ],
)  # fmt: skip
def test_trees(text: str, tree: object) -> None:
    assert parse_expression(text, key="where") == tree


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "not empty"),
        ("a = ", "character 5: a column, a number or a text is missing"),
        ("a = 'x", "character 5: the quotation mark ' is not closed"),
        ("a ; drop table records", "character 3: ';' is not part"),
        ("0 < a < 5", "one comparison at a time"),
        ("a = 1,5", "',' is not expected"),
        ("a = 1.234.567", "not a number"),
        ("a = 5x", "not a number"),
        ("a in 'x'", "'(' is missing"),
        ("a is 5", "'missing' is missing"),
        ("system('x') = 1", "no function 'system'"),
        ("round(a, 1, 2) = 1", "round has 1 to 2 arguments, not 3"),
        ("and", "'and' is not expected"),
        ("(" * 50 + "a" + ")" * 50, "too many brackets"),
        ("a = " + "1" * 40, "at most 30 digits"),
        ("a = 1 " + " " * TUNING.longest, "at most 4,000 characters"),
    ],
)
def test_what_is_unclear_is_refused(text: str, words: str) -> None:
    with pytest.raises(InputError, match="where") as told:
        parse_expression(text, key="where")
    assert words in str(told.value)


def test_every_function_is_documented() -> None:
    from tests.test_project import ROOT

    page = (ROOT / "docs" / "records-in.md").read_text(encoding="utf-8")
    assert [name for name in FUNCTIONS if f"`{name}(" not in page] == []
