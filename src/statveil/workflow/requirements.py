"""The user's wishes as the plain exact numbers that the audit compares with."""

from __future__ import annotations

from fractions import Fraction

from statveil.audit.table_repairs import Named, RepairAsked
from statveil.audit.tables import Requirements
from statveil.protect.options import Options
from statveil.protect.table_repair import TableRepair


def requirements_of(options: Options, repair: TableRepair | None = None) -> Requirements:
    bounds = options.bounds
    return Requirements(
        exact=options.variant == "exact",
        percent_down=_exactly(bounds.percent_down),
        percent_up=_exactly(bounds.percent_up),
        minimum=_exactly(bounds.minimum),
        maximum=_exactly(bounds.maximum),
        cap=_exactly(options.cap),
        repair=None if repair is None else _repair_asked(repair),
    )


def _repair_asked(repair: TableRepair) -> RepairAsked:
    named = (Named(each.view, labels, each.protection) for each in repair.only for labels in each.cells)
    return RepairAsked(classes=frozenset(repair.order), only=tuple(named))


def _exactly(number: float | None) -> Fraction | None:
    return None if number is None else Fraction(str(number))
