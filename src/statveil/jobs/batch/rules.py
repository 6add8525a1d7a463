"""SAFETYRULE in our rules. The first two P or NK and the first FREQ or REQ are about records, the others about holdings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import NamedTuple

from statveil.core.errors import RuleError
from statveil.formats.argus.batch_commands import RuleCall, SafetyRule
from statveil.formats.argus.cells import ArgusStatus
from statveil.formats.argus.lines import ArgusLine
from statveil.risk.rules import Dominance, MinimumFrequency, PPercent, PriorPosterior, Request, Rule, ZeroRule

DEFAULT_MARGIN = Decimal(20)
SMALLEST_PERCENT = Fraction(1, 10**9)
"""A range of zero: one unit of the published numbers, which is what the smallest level becomes."""
_OF_RECORDS = {"P": 2, "NK": 2, "FREQ": 1, "REQ": 1}
"""How many rules of a kind are about records; the next ones are about holdings."""


class RuleUse(NamedTuple):
    """A rule, whether it is about holdings, and whether it is about those who asked by the second request code."""

    rule: Rule
    holdings: bool = False
    second: bool = False


@dataclass(frozen=True, kw_only=True)
class RuleSet:
    """What a SAFETYRULE says. `margin` is the percentage for cells declared unsafe by hand."""

    asked: tuple[RuleUse, ...] = ()
    weighted: bool = False
    missing_is_safe: bool = False
    margin: Decimal = DEFAULT_MARGIN
    requested: bool = False
    line: ArgusLine | None = field(default=None, compare=False, repr=False)

    @property
    def all(self) -> tuple[Rule, ...]:
        return tuple(each.rule for each in self.asked)

    def of_records(self, *, second: bool = False) -> tuple[Rule, ...]:
        return tuple(each.rule for each in self.asked if not each.holdings and each.second == second)

    def of_holdings(self, *, second: bool = False) -> tuple[Rule, ...]:
        return tuple(each.rule for each in self.asked if each.holdings and each.second == second)

    @property
    def concentration_flag(self) -> str:
        """The SBS flag of a cell unsafe by a rule on contributions: F for p%, else by how many may dominate."""
        if any(isinstance(rule, PPercent | PriorPosterior) for rule in self.all):
            return "F"
        return "C" if any(isinstance(rule, Dominance) and rule.n > 1 for rule in self.all) else "B"


def rule_set(command: SafetyRule | None) -> RuleSet:
    """The rules of a command; placeholders such as NK(0,0) and P(0,100,0) say nothing."""
    if command is None:
        return RuleSet()
    asked: list[RuleUse] = []
    seen: dict[str, int] = {}
    for call in command.rules:
        seen[call.name] = seen.get(call.name, 0) + 1
        if seen[call.name] > 2 * _OF_RECORDS.get(call.name, 10):
            raise command.line.fault(f"too many rules {call.name}")
        if _says_something(call):
            holdings = seen[call.name] > _OF_RECORDS.get(call.name, 10)
            asked += [RuleUse(rule, holdings, place > 0) for place, rule in enumerate(_rules(command.line, call))]
    settings = {call.name: call.numbers[0] for call in command.rules if call.name in ("WGT", "MIS", "MAN")}
    for name in ("WGT", "MIS"):
        if settings.get(name, Decimal(0)) not in (0, 1):
            raise command.line.fault(f"{name} takes 0 or 1")
    return RuleSet(
        asked=tuple(asked),
        weighted=settings.get("WGT") == 1,
        missing_is_safe=settings.get("MIS") == 1,
        margin=settings.get("MAN", DEFAULT_MARGIN),
        requested="REQ" in seen,
        line=command.line,
    )


def _says_something(call: RuleCall) -> bool:
    """Whether a rule is one, and no placeholder; in doubt it is, and is judged by its numbers."""
    if call.name in ("P", "FREQ"):
        return call.numbers[0] != 0
    return call.name == "ZERO" or (call.name in ("NK", "REQ") and any(call.numbers))


def _rules(line: ArgusLine, call: RuleCall) -> list[Rule]:
    """The rule of a call; REQ with two percentages is two, one for each request code."""
    try:
        return _requests(line, call.numbers) if call.name == "REQ" else [_ours(line, call.name, call.numbers)]
    except RuleError as error:
        raise RuleError(f"{line.file}, line {line.number}: {error.message}", hint=error.hint) from None


def _ours(line: ArgusLine, name: str, numbers: Sequence[Decimal]) -> Rule:
    first, *rest = numbers
    match name:
        case "P":
            return _p_rule(line, first, rest)
        case "NK":
            return Dominance(_count(line, first), rest[0])
        case "FREQ":
            return MinimumFrequency(_count(line, first), level=rest[0] or SMALLEST_PERCENT)
        case _:
            return ZeroRule(first or SMALLEST_PERCENT)


def _p_rule(line: ArgusLine, p: Decimal, rest: Sequence[Decimal]) -> Rule:
    """P(p), P(p,n) or P(p,q,n)."""
    q = rest[0] if len(rest) == 2 else Decimal(100)
    coalition = _count(line, rest[-1]) if rest else 1
    return PPercent(p, coalition=coalition) if q == 100 else PriorPosterior(p, q, coalition=coalition)


def _requests(line: ArgusLine, numbers: Sequence[Decimal]) -> list[Rule]:
    """REQ(percent, percent of the second code, minimum, range): a second percentage of zero or like the first is for both codes."""
    first, second, *rest = numbers
    minimum, percent = (rest[0], rest[1]) if len(rest) == 2 else (Decimal(0), rest[0])
    shares = [first] if second in (first, 0) else [first, second]
    return [Request(share, minimum=_count(line, minimum), level=percent or SMALLEST_PERCENT) for share in shares]


def _count(line: ArgusLine, number: Decimal) -> int:
    if number != number.to_integral_value():
        raise line.fault("a count must be a whole number")
    return int(number)


def status_of(rule: Rule) -> ArgusStatus:
    """The status that tau-ARGUS gives to a cell that the rule calls unsafe."""
    match rule:
        case Request():
            return ArgusStatus.UNSAFE_REQUEST
        case MinimumFrequency():
            return ArgusStatus.UNSAFE_FREQUENCY
        case ZeroRule():
            return ArgusStatus.UNSAFE_ZERO
        case _:
            return ArgusStatus.UNSAFE
