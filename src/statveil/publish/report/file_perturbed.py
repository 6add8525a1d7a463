"""The tables of the report on perturbed columns: what was done, what is left to use, what a reader can still find."""

from __future__ import annotations

from typing import Any

from statveil.publish.formats.numbers import percent
from statveil.records.perturb.perturb import PerturbedRecords


def perturbed_tables(perturbed: PerturbedRecords | None) -> dict[str, Any]:
    if perturbed is None:
        return {}
    figures = perturbed.figures
    return {
        "done": [(each.column, each.method, f"{each.values:,}", percent(each.changed), f"{each.blanked:,}") for each in figures],
        "utility": [
            (each.column, *map(_number, (*each.mean, *(each.deviation or ()), each.correlation, each.loss)))
            for each in figures
            if each.mean
        ],
        "risk": [(each.column, *map(_share, (each.linked, each.near, each.sure, each.moved))) for each in figures],
        "key": perturbed.fingerprint,
    }


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:,.6g}"


def _share(value: float | None) -> str:
    return "-" if value is None else percent(value)
