"""What SUPPRESS GH, MOD, OPT and NET say, every number obeyed or refused."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from statveil.core.limits import Limits
from statveil.formats.argus.batch_commands import Suppress
from statveil.jobs.batch.rules import RuleSet
from statveil.risk.rules import MinimumFrequency
from statveil.suppress.cells.options import HypercubeOptions, ModularOptions, SuppressionOptions

METHODS = {"GH": "hypercube", "MOD": "modular", "OPT": "optimal", "NET": "network"}
LINKABLE = ("GH", "MOD")
_WORDS = {
    "GH": "hypercube reads GH(table, percent known beforehand, size 0 or 1, singletons 0 or 1), the last three if needed",
    "MOD": "modular reads MOD(table, minutes, three options 0 or 1, scaling, lower margin, upper margin), all but the table if needed",
    "OPT": "optimal reads OPT(table, minutes), the minutes if needed",
    "NET": "network reads NET(table)",
}
_MOST = {"GH": 3, "MOD": 7, "OPT": 1, "NET": 0}
_DEFAULTS = {"GH": ("100", "0", "1"), "MOD": ("1", "1", "1", "1", "20000", "0.99", "1.01"), "OPT": ("10",), "NET": ()}


@dataclass(frozen=True, kw_only=True)
class SuppressionAsk:
    """method: by our name. minutes: of the whole run, where the command says them so."""

    method: str
    options: SuppressionOptions = field(default_factory=SuppressionOptions)
    minutes: float | None = None
    sums_of_two: bool = False
    """Whether two sensitive cells alone in a sum must have the rule's frequency together."""

    def for_rules(self, rules: RuleSet) -> SuppressionOptions:
        """With the minimum frequency of a table's rules, if sums of two are asked about."""
        least = max((rule.n for rule in rules.all if isinstance(rule, MinimumFrequency)), default=0) if self.sums_of_two else 0
        return replace(self.options, modular=replace(self.options.modular, minimum_frequency=least))

    def limits(self, given: Limits) -> Limits:
        return given if self.minutes is None else replace(given, seconds=min(given.seconds, 60 * self.minutes))


def suppression_ask(command: Suppress) -> SuppressionAsk:
    """The numbers of a command; costs are those of the table (SPECIFYTABLE), by default its values."""
    name, words = command.method, command.arguments
    if len(words) > _MOST[name] or not all(re.fullmatch(r"\d{0,9}(\.\d{1,9})?", word) for word in words):
        raise command.line.fault(_WORDS[name])
    given = [float(word or default) for word, default in zip((*words, *[""] * 7), _DEFAULTS[name], strict=False)]
    try:
        return {"GH": _hypercube, "MOD": _modular, "OPT": _optimal, "NET": _network}[name](command, given)
    except ValueError:
        raise command.line.fault(_WORDS[name]) from None


def _flag(number: float) -> bool:
    """0 or 1; anything else is told by a ValueError."""
    return bool((0.0, 1.0).index(number))


def _hypercube(command: Suppress, given: list[float]) -> SuppressionAsk:
    percent, size, singleton = given
    if size not in (0, 1) or not percent:
        raise command.line.fault(_WORDS["GH"], hint="A size of 2 is set by hand in tau-ARGUS; here no table is too large for 0 or 1.")
    cubes = HypercubeOptions(known_percent=percent, singleton=_flag(singleton))
    return SuppressionAsk(method="hypercube", options=SuppressionOptions(cost="value", hypercube=cubes))


def _modular(command: Suppress, given: list[float]) -> SuppressionAsk:
    minutes, two, other, sums, _scaling, lower, upper = given
    if not minutes or not 0 < lower <= 1 <= upper:
        raise command.line.fault(_WORDS["MOD"])
    modules = ModularOptions(minutes=minutes, two_singletons=_flag(two), singleton_and_other=_flag(other), margins=(lower, upper))
    return SuppressionAsk(method="modular", options=SuppressionOptions(cost="value", modular=modules), sums_of_two=_flag(sums))


def _optimal(command: Suppress, given: list[float]) -> SuppressionAsk:
    if not given[0]:
        raise command.line.fault(_WORDS["OPT"])
    return SuppressionAsk(method="optimal", options=SuppressionOptions(cost="value"), minutes=given[0])


def _network(command: Suppress, given: list[float]) -> SuppressionAsk:
    del command, given
    return SuppressionAsk(method="network", options=SuppressionOptions(cost="value"))
