"""From text such as `year = 2024 and size > 0` to a tree, or a message that says at which character it is unclear."""

from __future__ import annotations

import re
from typing import NamedTuple, NoReturn

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


class ExpressionTuning(NamedTuple):
    """What is refused as too large. By judgement."""

    longest: int = 4000
    """Characters of an expression."""
    deepest: int = 40
    """Brackets and signs within each other."""
    digits: int = 30
    """Of a number."""


TUNING = ExpressionTuning()
HELP = "Example: year = 2024 and size > 0 and region in ('A', 'B') and income is not missing."
FUNCTIONS = {
    "abs": (1, 1),
    "concat": (2, 20),
    "if": (3, 3),
    "if_missing": (2, 2),
    "left": (2, 2),
    "lower": (1, 1),
    "max": (2, 20),
    "min": (2, 20),
    "number": (1, 1),
    "right": (2, 2),
    "round": (1, 2),
    "text": (1, 1),
    "trim": (1, 1),
    "upper": (1, 1),
}
"""By name, the fewest and the most arguments."""
_WORDS = frozenset({"and", "or", "not", "in", "is", "missing"})
_TOKEN = re.compile(
    r"""\s*(?:(?P<number>\d+(?:\.\d+)?(?![\w.]))|(?P<text>'(?:[^']|'')*'|"(?:[^"]|"")*")|(?P<quoted>`[^`]+`)|(?P<name>[^\W\d]\w*)"""
    r"""|(?P<sign><=|>=|!=|<>|[=<>+\-*/(),]))"""
)
_COMPARING = ("=", "!=", "<>", "<", "<=", ">", ">=")


class Token(NamedTuple):
    """`kind`: number, text, column (in backquotes), name, word (of the language), sign or end. `place` counts characters from 1."""

    kind: str
    text: str
    place: int


def parse_expression(text: str, *, key: str) -> Expression:
    """The tree of an expression; `key` says in messages where it stands: where, or derive.NAME.

    >>> parse_expression("size > 0", key="where")
    Comparison(sign='>', left=ColumnName(name='size'), right=NumberLiteral(units=0, decimals=0))
    """
    if not isinstance(text, str) or not text.strip():
        raise InputError(f"{key}: an expression is a text that is not empty.", hint=HELP)
    if len(text) > TUNING.longest:
        raise InputError(f"{key}: an expression has at most {TUNING.longest:,} characters.", hint="Derive a column first, and use it.")
    return _Parser(_tokens(text, key), key).whole()


def _tokens(text: str, key: str) -> list[Token]:
    found, at = list[Token](), 0
    while text[at:].strip():
        match = _TOKEN.match(text, at)
        if match is None:
            place = at + len(text[at:]) - len(text[at:].lstrip()) + 1
            raise InputError(f"{key}, character {place}: {_stray(text[place - 1])}", hint=HELP)
        kind = str(match.lastgroup)
        found.append(_token(kind, match[kind], match.start(kind) + 1))
        at = match.end()
    return [*found, Token("end", "", len(text) + 1)]


def _stray(character: str) -> str:
    if character in "'\"`":
        return f"the quotation mark {character} is not closed."
    if character.isdigit():
        return "not a number. Write 1234.5: a point for decimals, and nothing for thousands."
    return f"{character!r} is not part of the language."


def _token(kind: str, text: str, place: int) -> Token:
    if kind == "text":
        return Token("text", text[1:-1].replace(text[0] * 2, text[0]), place)
    if kind == "quoted":
        return Token("column", text[1:-1], place)
    if kind == "name" and text.lower() in _WORDS:
        return Token("word", text.lower(), place)
    return Token(kind, text, place)


class _Parser:
    """Recursive descent; each method reads what its name says and leaves the rest."""

    def __init__(self, tokens: list[Token], key: str) -> None:
        self._tokens, self._key, self._at, self._depth = tokens, key, 0, 0

    def whole(self) -> Expression:
        found = self._either()
        if self._now.kind != "end":
            self._unclear(f"{self._now.text!r} is not expected here.")
        return found

    @property
    def _now(self) -> Token:
        return self._tokens[self._at]

    def _take(self, *texts: str) -> str | None:
        """The token's text if it is one of these signs or words; it is then read."""
        if self._now.kind in ("sign", "word") and self._now.text in texts:
            self._at += 1
            return self._tokens[self._at - 1].text
        return None

    def _need(self, text: str) -> None:
        if self._take(text) is None:
            self._unclear(f"{text!r} is missing here.")

    def _unclear(self, words: str) -> NoReturn:
        raise InputError(f"{self._key}, character {self._now.place}: {words}", hint=HELP)

    def _either(self) -> Expression:
        self._depth += 1
        if self._depth > TUNING.deepest:
            self._unclear("too many brackets within each other.")
        found = self._both()
        while self._take("or"):
            found = Connection("or", found, self._both())
        self._depth -= 1
        return found

    def _both(self) -> Expression:
        found = self._negated()
        while self._take("and"):
            found = Connection("and", found, self._negated())
        return found

    def _negated(self) -> Expression:
        turns = 0
        while self._take("not"):
            turns += 1
        found = self._compared()
        return Negation(found) if turns % 2 else found

    def _compared(self) -> Expression:
        left = self._sum()
        sign = self._take(*_COMPARING)
        if sign is not None:
            found = Comparison("!=" if sign == "<>" else sign, left, self._sum())
            if self._now.text in _COMPARING and self._now.kind == "sign":
                self._unclear("one comparison at a time: write 0 < size and size < 10.")
            return found
        if self._take("is"):
            turned = self._take("not") is not None
            self._need("missing")
            return Negation(MissingTest(left)) if turned else MissingTest(left)
        return self._listed(left)

    def _listed(self, left: Expression) -> Expression:
        turned = self._take("not") is not None
        if not turned and self._take("in") is None:
            return left
        if turned:
            self._need("in")
        self._need("(")
        found = Membership(left, self._arguments())
        return Negation(found) if turned else found

    def _arguments(self) -> tuple[Expression, ...]:
        found = [self._either()]
        while self._take(","):
            found.append(self._either())
        self._need(")")
        return tuple(found)

    def _sum(self) -> Expression:
        found = self._product()
        while (sign := self._take("+", "-")) is not None:
            found = Arithmetic(sign, found, self._product())
        return found

    def _product(self) -> Expression:
        found = self._signed()
        while (sign := self._take("*", "/")) is not None:
            found = Arithmetic(sign, found, self._signed())
        return found

    def _signed(self) -> Expression:
        turns = 0
        while (sign := self._take("-", "+")) is not None:
            turns += sign == "-"
        found = self._atom()
        if turns % 2 == 0:
            return found
        return NumberLiteral(-found.units, found.decimals) if isinstance(found, NumberLiteral) else _less(found)

    def _atom(self) -> Expression:
        token = self._now
        if self._take("("):
            found = self._either()
            self._need(")")
            return found
        if token.kind in ("end", "sign", "word"):
            self._unclear(
                "a column, a number or a text is missing here." if token.kind == "end" else f"{token.text!r} is not expected here."
            )
        self._at += 1
        if token.kind == "number":
            return self._number(token)
        if token.kind == "text":
            return TextLiteral(token.text)
        called = token.kind == "name" and self._take("(") is not None
        return self._call(token) if called else ColumnName(token.text)

    def _number(self, token: Token) -> NumberLiteral:
        whole, _, part = token.text.partition(".")
        if len(whole + part) > TUNING.digits:
            raise InputError(f"{self._key}, character {token.place}: a number has at most {TUNING.digits} digits.")
        return NumberLiteral(int(whole + part), len(part))

    def _call(self, token: Token) -> FunctionCall:
        name = token.text.lower()
        if name not in FUNCTIONS:
            known = ", ".join(FUNCTIONS)
            raise InputError(f"{self._key}, character {token.place}: there is no function {token.text!r}.", hint=f"Known: {known}.")
        arguments, (fewest, most) = self._arguments(), FUNCTIONS[name]
        if not fewest <= len(arguments) <= most:
            wanted = str(fewest) if fewest == most else f"{fewest} to {most}"
            raise InputError(f"{self._key}, character {token.place}: {name} has {wanted} arguments, not {len(arguments)}.")
        return FunctionCall(name, arguments)


def _less(value: Expression) -> Expression:
    return Arithmetic("-", NumberLiteral(0, 0), value)
