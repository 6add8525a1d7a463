"""What the tests of rules share."""

from __future__ import annotations

from statveil.risk.assess import assess
from tests.risk.cells import table_of


def levels(cells, rule, **options):
    """(lower, upper) of each cell, None where it is safe."""
    found = assess(table_of(cells, **options), [rule])
    pairs = zip(found.sensitive, found.lower_level, found.upper_level, strict=True)
    return [(int(lower), int(upper)) if sensitive else None for sensitive, lower, upper in pairs]
