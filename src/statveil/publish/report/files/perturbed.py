"""The tables of the report on perturbed columns: what was done, what is left to use, what a reader can still find."""

from __future__ import annotations

from typing import Any

from statveil.publish.formats.numbers import percent
from statveil.publish.report.utility_tables import amount
from statveil.records.perturb.figures import PerturbedColumn
from statveil.records.perturb.perturb import PerturbedRecords


def perturbed_tables(perturbed: PerturbedRecords | None) -> dict[str, Any]:
    if perturbed is None:
        return {}
    figures = perturbed.figures
    return {
        "done": [(_named(each), f"{each.values:,}", percent(each.changed), f"{each.blanked:,}", _share(each.moved)) for each in figures],
        "utility": [
            (each.column, *map(amount, (*each.mean, *(each.deviation or ()))), _number(each.correlation), _number(each.loss))
            for each in figures
            if each.mean
        ],
        "risk": [(each.column, *map(_share, (each.linked, each.near, each.sure))) for each in figures],
        "key": perturbed.fingerprint,
    }


def _named(each: PerturbedColumn) -> str:
    return f"{each.column}: {each.method}"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.5f}"


def _share(value: float | None) -> str:
    return "-" if value is None else percent(value)
