"""The tree of an expression."""

from __future__ import annotations

from statveil.data.expressions.parser import parse_expression
from statveil.data.expressions.tree import (
    columns_in,
)


def test_the_columns_of_an_expression() -> None:
    assert columns_in(parse_expression("if(b > 1, a, left(b, 2)) in ('x') and c is missing", key="derive.x")) == ("b", "a", "c")
