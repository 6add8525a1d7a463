"""What a server does not add up, a reader can: a filter of several codes is asked for as a dimension and its cells are summed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from statveil.audit.attacks.public import Axis, Catalogue, PublicTable, Request
from statveil.core.errors import DisclosureRefused, InputError


def added_up(ask: Callable[[Request], PublicTable], request: Request, catalogue: Catalogue) -> PublicTable:
    """The answer to a request whose filters may have several codes. Where the server makes a population of them it is asked for that.

    Where it takes one code a filter, or refuses the population, its cells are added up.
    """
    several = [each for each in request.filters if len(each[1]) > 1]
    sums = [(name, codes) for name, codes in several if not catalogue.makes_population(name)]
    try:
        return _summed(ask, request, sums)
    except (DisclosureRefused, InputError):
        if sums == several:
            raise
    return replace(_summed(ask, request, several), sums=True)


def _summed(ask: Callable[[Request], PublicTable], request: Request, sums: Sequence[tuple[str, tuple[str, ...]]]) -> PublicTable:
    axes = (*request.axes, *(Axis(id=name, codes=codes) for name, codes in sums))
    table = ask(replace(request, axes=axes, filters=tuple(each for each in request.filters if each not in sums)))
    for name, codes in sums:
        table = _without(table, name, codes)
    return table


def _without(table: PublicTable, name: str, codes: tuple[str, ...]) -> PublicTable:
    """The table summed over these codes of one of its dimensions; a sum is shown where all its parts are."""
    axis = [each.id for each in table.axes].index(name)
    places = [table.axes[axis].codes.index(code) for code in codes]
    return replace(
        table,
        axes=table.axes[:axis] + table.axes[axis + 1 :],
        values=np.asarray(table.values.take(places, axis=axis).sum(axis=axis)),
        shown=np.asarray(table.shown.take(places, axis=axis).all(axis=axis)),
    )
