"""Settings with their defaults filled in, refused now rather than after the records are read."""

from __future__ import annotations

from collections.abc import Sequence

from statveil.core.errors import InputError, RuleError
from statveil.core.limits import Limits, check_kind, check_seed
from statveil.protect.infeasible.table_repair import TableRepair
from statveil.protect.keep.wishes import Keep
from statveil.protect.options import Options
from statveil.risk.assess import check_rules
from statveil.risk.rules import Rule


def settled(
    options: Options | None, limits: Limits | None, seed: int, repair: TableRepair | None = None, keep: Keep | None = None
) -> tuple[Options, Limits]:
    options = Options() if options is None else options
    limits = Limits() if limits is None else limits
    check_kind("options", options, Options)
    check_kind("limits", limits, Limits)
    if repair is not None:
        check_kind("repair", repair, TableRepair)
    if keep is not None:
        check_kind("keep", keep, Keep)
    if keep is not None and repair is not None:
        raise InputError("Statistics are kept in safe tables, not in repaired ones.", hint="Ask for keep or for repair, not for both.")
    check_seed(seed)
    return options, limits


def require_rules(rules: Sequence[Rule]) -> None:
    check_rules(rules)
    if not rules:
        raise RuleError(
            "No rules are given, so nothing would be protected and the true values would be released.",
            hint="Rules are required: even a table with nothing to protect needs one that says so, such as MinimumFrequency(3).",
        )
