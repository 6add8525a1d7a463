"""Expressions worked out record by record, slowly, in fractions. A missing value is None."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from statveil.data.expressions import tree


def value_of(node: tree.Expression, record: Mapping[str, Fraction | None]) -> Any:
    """The value of an expression of columns that hold numbers."""
    if isinstance(node, tree.NumberLiteral):
        return Fraction(node.units, 10**node.decimals)
    if isinstance(node, tree.ColumnName):
        return record[node.name]
    if isinstance(node, tree.MissingTest):
        return value_of(node.value, record) is None
    if isinstance(node, tree.Negation):
        found = value_of(node.condition, record)
        return None if found is None else not found
    if isinstance(node, tree.FunctionCall) and node.name == "round":
        return _rounded(node, record)
    assert isinstance(node, tree.Arithmetic | tree.Comparison | tree.Connection)
    left, right = value_of(node.left, record), value_of(node.right, record)
    return _connected(node.word, left, right) if isinstance(node, tree.Connection) else _worked_out(node.sign, left, right)


def _connected(word: str, left: bool | None, right: bool | None) -> bool | None:
    decides = word == "or"
    if decides in (left, right):
        return decides
    return None if None in (left, right) else not decides


def _worked_out(sign: str, left: Any, right: Any) -> Any:
    if left is None or right is None or (sign == "/" and right == 0):
        return None
    signs = {"+": "__add__", "-": "__sub__", "*": "__mul__", "/": "__truediv__", "=": "__eq__", "!=": "__ne__"}
    return getattr(left, {**signs, "<": "__lt__", "<=": "__le__", ">": "__gt__", ">=": "__ge__"}[sign])(right)


def _rounded(node: tree.FunctionCall, record: Mapping[str, Fraction | None]) -> Fraction | None:
    value, decimals = (value_of(each, record) for each in node.arguments)
    return None if value is None else Fraction(round(value * 10**decimals), 10**decimals)
