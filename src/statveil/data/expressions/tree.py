"""What an expression says, as a tree: literals, columns, calls, comparisons. Nothing here knows an engine."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class NumberLiteral:
    """An exact number, `units * 10**-decimals`."""

    units: int
    decimals: int


@dataclass(frozen=True)
class TextLiteral:
    text: str


@dataclass(frozen=True)
class ColumnName:
    name: str


@dataclass(frozen=True)
class FunctionCall:
    name: str
    arguments: tuple[Expression, ...]


@dataclass(frozen=True)
class Arithmetic:
    """Two numbers and one of + - * /."""

    sign: str
    left: Expression
    right: Expression


@dataclass(frozen=True)
class Comparison:
    """Two values and one of = != < <= > >=."""

    sign: str
    left: Expression
    right: Expression


@dataclass(frozen=True)
class Connection:
    """`and` or `or` between conditions."""

    word: str
    left: Expression
    right: Expression


@dataclass(frozen=True)
class Negation:
    condition: Expression


@dataclass(frozen=True)
class Membership:
    """Whether a value is one of a list."""

    value: Expression
    options: tuple[Expression, ...]


@dataclass(frozen=True)
class MissingTest:
    value: Expression


Expression = (
    NumberLiteral | TextLiteral | ColumnName | FunctionCall | Arithmetic | Comparison | Connection | Negation | Membership | MissingTest
)


def inside(node: Expression) -> tuple[Expression, ...]:
    """The expressions that this one is made of."""
    if isinstance(node, FunctionCall):
        return node.arguments
    if isinstance(node, Arithmetic | Comparison | Connection):
        return (node.left, node.right)
    if isinstance(node, Membership):
        return (node.value, *node.options)
    if isinstance(node, MissingTest):
        return (node.value,)
    return (node.condition,) if isinstance(node, Negation) else ()


def all_within(node: Expression) -> Iterator[Expression]:
    """The expression and everything in it."""
    yield node
    for each in inside(node):
        yield from all_within(each)


def columns_in(node: Expression) -> tuple[str, ...]:
    """The columns that it names, in the order in which it names them."""
    return tuple(dict.fromkeys(each.name for each in all_within(node) if isinstance(each, ColumnName)))
