"""What an expression means to the engine. Users' words enter a query as the hexadecimal digits of a text and in no other form.

Numbers are whole numbers of 128 bits in units of 10**-decimals, so that a derived amount is exact; how large they can become is worked
out beforehand from the largest number of each column, and what might not fit is refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple, NoReturn, cast

from statveil.core.errors import InputError
from statveil.data.expressions.tree import (
    Arithmetic,
    ColumnName,
    Comparison,
    Connection,
    Expression,
    FunctionCall,
    Membership,
    MissingTest,
    Negation,
    NumberLiteral,
    TextLiteral,
)
from statveil.data.prepared import Kind

MOST_DECIMALS = 9
LARGEST = 2**126
LONGEST_QUERY = 100_000
"""Characters. By judgement, as is the next."""
MOST_WRITTEN_OUT = 2
"""Rounded quotients and numbers written as text within each other: an engine repeats the parts of each some times."""
_TEXT_WORDS = {"lower": "lowered", "trim": "trimmed", "upper": "uppered"}
_ARTICLES = {"number": "a number", "text": "a text", "truth": "true or false"}


class Meaning(NamedTuple):
    """An expression in the engine's words. Of a number: its decimals, and a bound of its absolute value in units."""

    kind: Kind
    query: str
    decimals: int = 0
    largest: int = 0


class ReadNumber(NamedTuple):
    """A text read as a number: the units in the engine's words, the decimals, and a bound of the absolute value in units."""

    units: str
    decimals: int
    largest: int


def quoted(text: str) -> str:
    """A text of the user's as a query holds it: as hexadecimal digits, so that no sign of it can mean anything."""
    return f"hex_text('{text.encode().hex()}')" if text else "''"


@dataclass(frozen=True, kw_only=True)
class Translator:
    """From trees to the engine's words.

    columns: the text of each column of the records. derived: what columns mean that were derived before. read: how a text reads as a
    number (it looks at the records). key: where the expression stands.
    """

    columns: Mapping[str, str]
    derived: Mapping[str, Meaning]
    read: Callable[[str, str], ReadNumber]
    key: str = "where"

    def of(self, node: Expression, wanted: Kind | None = None) -> Meaning:
        """The meaning; a bare column takes the kind that is wanted, and anything else must have it."""
        found = self._meaning(node, wanted)
        if wanted is not None and found.kind != wanted:
            self._refuse(
                f"{_ARTICLES[wanted]} is needed where {_ARTICLES[found.kind]} stands.", "number(x) and text(x) turn one into another."
            )
        return self._fits(found)

    def condition(self, node: Expression) -> str:
        return self.of(node, "truth").query

    def _refuse(self, words: str, hint: str = "") -> NoReturn:
        raise InputError(f"{self.key}: {words}", hint=hint)

    def _fits(self, found: Meaning) -> Meaning:
        if len(found.query) > LONGEST_QUERY or _written_out(found.query) > MOST_WRITTEN_OUT:
            self._refuse("too many expressions within each other.", "Split it, or round once at the end.")
        if found.kind == "number" and (found.largest >= LARGEST or found.decimals > 2 * MOST_DECIMALS):
            self._refuse("numbers may become too large to be exact.", "Round factors first: round(x, 2).")
        return found

    def _meaning(self, node: Expression, wanted: Kind | None) -> Meaning:
        if isinstance(node, NumberLiteral):
            return Meaning("number", f"whole({node.units})", node.decimals, abs(node.units))
        if isinstance(node, TextLiteral):
            return Meaning("text", quoted(node.text))
        if isinstance(node, ColumnName):
            return self._column(node.name, wanted)
        if isinstance(node, FunctionCall):
            return self._call(node, wanted)
        if isinstance(node, Arithmetic):
            return self._arithmetic(node)
        return Meaning("truth", self._truth(node))

    def _column(self, name: str, wanted: Kind | None) -> Meaning:
        if name in self.derived:
            return self.derived[name]
        if name not in self.columns:
            known = ", ".join([*self.columns, *self.derived])
            self._refuse(f"there is no column {name!r}.", f"Texts stand in quotation marks. Columns: {known}.")
        if wanted == "number":
            return self._read(self.columns[name], name)
        if wanted == "truth":
            self._refuse(f"the column {name!r} alone is no condition.", f"Compare it: {name} = 1.")
        return Meaning("text", self.columns[name])

    def _read(self, text: str, name: str) -> Meaning:
        read = self.read(text, name)
        return Meaning("number", f"whole({read.units})", read.decimals, read.largest)

    def _truth(self, node: Expression) -> str:
        if isinstance(node, Connection):
            return f"({self.condition(node.left)} {'AND' if node.word == 'and' else 'OR'} {self.condition(node.right)})"
        if isinstance(node, Negation):
            return f"(NOT {self.condition(node.condition)})"
        if isinstance(node, MissingTest):
            return f"({self.of(node.value).query} IS NULL)"
        if isinstance(node, Membership):
            same = [self._compare(Comparison("=", node.value, option)) for option in node.options]
            return f"({' OR '.join(same)})"
        return self._compare(cast("Comparison", node))

    def _compare(self, node: Comparison) -> str:
        left, right = self.alike(node.left, node.right)
        if left.kind != "number" and node.sign not in ("=", "!="):
            self._refuse("only numbers are smaller or larger than each other.", "number(x) reads a text as a number.")
        return f"({left.query} {'<>' if node.sign == '!=' else node.sign} {right.query})"

    def alike(self, *nodes: Expression) -> list[Meaning]:
        """Meanings of one kind, and of one unit: the kind of those that have one decides what bare columns are."""
        kinds = {kind for kind in map(self._kind, nodes) if kind is not None}
        if not kinds:
            self._refuse(
                "two columns are compared or mixed, and nothing says whether as numbers or as texts.", "Write number(x) or text(x)."
            )
        if len(kinds) > 1:
            both = " and ".join(sorted(_ARTICLES[kind] for kind in kinds))
            self._refuse(f"{both} do not go together.", "A code is a text: write '01'. number(x) reads a text as a number.")
        found = [self.of(node, next(iter(kinds))) for node in nodes]
        finest = max(each.decimals for each in found)
        return [self._at(each, finest) for each in found]

    def _kind(self, node: Expression) -> Kind | None:
        """Its kind; None where a column of the records may be either."""
        if isinstance(node, ColumnName):
            return self.derived[node.name].kind if node.name in self.derived else None
        if isinstance(node, FunctionCall):
            if node.name in ("if", "if_missing"):
                return next((kind for each in node.arguments[-2:] if (kind := self._kind(each)) is not None), None)
            return "number" if node.name in ("abs", "max", "min", "number", "round") else "text"
        if isinstance(node, NumberLiteral | Arithmetic):
            return "number"
        return "text" if isinstance(node, TextLiteral) else "truth"

    def _at(self, meaning: Meaning, decimals: int) -> Meaning:
        """The same number in finer units."""
        if meaning.kind != "number" or meaning.decimals == decimals:
            return meaning
        factor = 10 ** (decimals - meaning.decimals)
        return self._fits(Meaning("number", f"({meaning.query} * whole({factor}))", decimals, meaning.largest * factor))

    def _arithmetic(self, node: Arithmetic) -> Meaning:
        if node.sign == "/":
            self._refuse("a quotient has no end of decimals.", "Say how many: round(a / b, 2).")
        left, right = self.of(node.left, "number"), self.of(node.right, "number")
        if node.sign == "*":
            return Meaning("number", f"({left.query} * {right.query})", left.decimals + right.decimals, left.largest * right.largest)
        finest = max(left.decimals, right.decimals)
        left, right = self._at(left, finest), self._at(right, finest)
        return Meaning("number", f"({left.query} {node.sign} {right.query})", finest, left.largest + right.largest)

    def _call(self, node: FunctionCall, wanted: Kind | None) -> Meaning:
        if node.name in ("if", "if_missing"):
            return self._choice(node, wanted)
        if node.name == "number":
            return self._number(node.arguments[0])
        if node.name == "text":
            return self._text(node.arguments[0])
        if node.name in ("abs", "max", "min", "round"):
            return self._of_numbers(node)
        return self._of_texts(node)

    def _choice(self, node: FunctionCall, wanted: Kind | None) -> Meaning:
        options = node.arguments[-2:]
        if wanted is not None and all(self._kind(each) is None for each in options):
            first, second = (self.of(each, wanted) for each in options)
            finest = max(first.decimals, second.decimals)
            first, second = self._at(first, finest), self._at(second, finest)
        else:
            first, second = self.alike(*options)
        if node.name == "if":
            condition = self.condition(node.arguments[0])  # where it is unknown, so is the value
            query = f"CASE WHEN {condition} THEN {first.query} WHEN NOT {condition} THEN {second.query} END"
        else:
            query = f"coalesce({first.query}, {second.query})"
        return Meaning(first.kind, f"({query})", first.decimals, max(first.largest, second.largest))

    def _number(self, node: Expression) -> Meaning:
        if self._kind(node) == "number" or isinstance(node, ColumnName):
            return self.of(node, "number")
        return self._read(self.of(node, "text").query, self.key)

    def _text(self, node: Expression) -> Meaning:
        found = self.of(node)
        return found if found.kind == "text" else Meaning("text", written(found, "."))

    def _of_texts(self, node: FunctionCall) -> Meaning:
        if node.name in ("left", "right"):
            text, length = self.of(node.arguments[0], "text"), node.arguments[1]
            if not isinstance(length, NumberLiteral) or length.decimals or not 0 < length.units <= 1000:
                self._refuse(f"{node.name} needs a number of characters.", f"Example: {node.name}(code, 2).")
            return Meaning("text", f"nullif({node.name}({text.query}, {length.units}), '')")
        texts = [self.of(each, "text").query for each in node.arguments]
        if node.name == "concat":
            return Meaning("text", f"({' || '.join(texts)})")
        return Meaning("text", f"nullif({_TEXT_WORDS[node.name]}({texts[0]}), '')")

    def _of_numbers(self, node: FunctionCall) -> Meaning:
        if node.name == "round":
            return self._round(node)
        found = [self.of(each, "number") for each in node.arguments]
        if node.name == "abs":
            return replace_query(found[0], f"abs({found[0].query})")
        found = [self._at(each, max(one.decimals for one in found)) for each in found]
        queries, largest = [each.query for each in found], max(each.largest for each in found)
        missing = " OR ".join(f"{query} IS NULL" for query in queries)
        chosen = f"{'greatest' if node.name == 'max' else 'least'}({', '.join(queries)})"
        return Meaning("number", f"(CASE WHEN {missing} THEN NULL ELSE {chosen} END)", found[0].decimals, largest)

    def _round(self, node: FunctionCall) -> Meaning:
        value, *rest = node.arguments
        asked = rest[0] if rest else NumberLiteral(0, 0)
        if not isinstance(asked, NumberLiteral) or asked.decimals or not 0 <= asked.units <= MOST_DECIMALS:
            self._refuse(f"round needs a number of decimals, 0 to {MOST_DECIMALS}.", "Example: round(income / 12, 2).")
        if isinstance(value, Arithmetic) and value.sign == "/":
            return self._quotient(self.of(value.left, "number"), self.of(value.right, "number"), asked.units)
        found = self.of(value, "number")
        if found.decimals <= asked.units:
            return found
        one = Meaning("number", "whole(1)", 0, 1)
        return self._quotient(found, one, asked.units)

    def _quotient(self, above: Meaning, below: Meaning, decimals: int) -> Meaning:
        """Rounded, a half to the even neighbour; a division by zero is missing."""
        up, down = 10 ** (decimals + below.decimals), 10**above.decimals
        top = self._fits(Meaning("number", f"({above.query} * whole({up}))", 0, 2 * above.largest * up))
        bottom = self._fits(Meaning("number", f"({below.query} * whole({down}))", 0, 2 * below.largest * down))
        query = f"rounded({top.query}, {bottom.query})"
        return self._fits(Meaning("number", query, decimals, above.largest * up + 1))


def _written_out(query: str) -> int:
    """How many words that repeat their parts lie within each other; texts are in hexadecimal digits, so that each bracket is one."""
    deepest, opened = 0, list[bool]()
    for found in re.finditer(r"(rounded|decimal_text)?\(|\)", query):
        if found[0] == ")":
            opened.pop()
        else:
            opened.append(found[1] is not None)
            deepest = max(deepest, sum(opened))
    return deepest


def replace_query(meaning: Meaning, query: str) -> Meaning:
    return meaning._replace(query=query)


def within(translator: Translator, key: str, derived: Mapping[str, Meaning]) -> Translator:
    """The same for the next expression."""
    return replace(translator, key=key, derived=dict(derived))


def as_column(meaning: Meaning, mark: str) -> str:
    """A derived value as a column of the records: a whole number where it is one, else text with this decimal mark."""
    small = meaning.kind == "number" and not meaning.decimals and meaning.largest < 2**63
    return f"CAST({meaning.query} AS BIGINT)" if small else written(meaning, mark)


def written(meaning: Meaning, mark: str) -> str:
    """A value as text; numbers with this decimal mark."""
    if meaning.kind == "truth":
        return f"CASE WHEN {meaning.query} THEN 'true' WHEN NOT {meaning.query} THEN 'false' END"
    if meaning.kind == "text":
        return meaning.query
    if not meaning.decimals:
        return f"CAST({meaning.query} AS STRING)"
    return f"decimal_text({meaning.query}, {meaning.decimals}, '{mark}')"
