"""A record alone in a cell: what the rules ask of it there, and how low such a cell can be published."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from statveil.arrays import FloatArray, IntArray
from statveil.risk.assess import assess
from statveil.risk.respondents import RespondentRule
from statveil.risk.rules import contributions_needed
from statveil.table.table import Table


def single_level(value: IntArray, decimals: int, rules: Sequence[RespondentRule]) -> IntArray:
    """The level of a cell that holds nothing but one record, for each record; zero where no rule protects it."""
    ones, others = np.ones_like(value), np.zeros((value.size, max(1, contributions_needed(rules))), dtype=np.int64)
    others[:, 0] = value
    table = Table(
        views=(),
        value=value,
        scale=decimals,
        decimals=decimals,
        records=ones,
        respondents=ones,
        frequency=ones,
        frequency_scale=0,
        magnitude=value,
        top=others,
        largest_unwaived=value,
        largest_requested=-ones,
        rule_scale=decimals,
        has_shadow=False,
        input_hash="",
    )
    return assess(table, rules).lower_level


def lowest_published(value: IntArray, level: IntArray, reference: IntArray, *, smallest: int, cap: float) -> IntArray:
    """The lowest number that a cell of one record can have: it has risen if it must rise, and if its reference has.

    A set of records whose lowest numbers add up to more than it may fall to cannot go down: it would clash with its parts.
    """
    most: FloatArray = np.ceil(level * cap)
    up = np.maximum(value + most.astype(np.int64), smallest)
    down = np.full_like(value, smallest)
    return np.where((value - level < smallest) & (level > 0), up, np.where(reference > value, np.maximum(reference, smallest), down))
