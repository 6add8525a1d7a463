"""What a server does not add up, a reader can: a filter of several codes is asked for as a dimension and its cells are summed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from statveil.audit.attacks.public import Axis, PublicTable, Request


def added_up(ask: Callable[[Request], PublicTable], request: Request) -> PublicTable:
    """The answer to a request whose filters may have several codes, from a server that takes one a filter."""
    wide = [(name, codes) for name, codes in request.filters if len(codes) > 1]
    if not wide:
        return ask(request)
    axes = (*request.axes, *(Axis(id=name, codes=codes) for name, codes in wide))
    table = ask(replace(request, axes=axes, filters=tuple(each for each in request.filters if len(each[1]) == 1)))
    for name, codes in wide:
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
