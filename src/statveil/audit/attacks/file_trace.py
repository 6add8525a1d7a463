"""Released records beside the originals that they come from, as far as both files tell: what the scoring of an attack needs.

A released file is shuffled. A released record comes from an original with the same other columns and the same values where it shows any;
of several such originals those are taken first of which most is shown elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from statveil.audit.attacks.file_attacks import mixed
from statveil.core.arrays import AnyArray, BoolArray, IntArray


@dataclass(frozen=True, kw_only=True)
class TracedFile:
    """One column for each released record, in the order of the file: codes it shows (-1: blank), the true ones (-1: not known).

    `values[i]` are the texts behind the codes of field i. `place`: the number of the original record, -1 where it is not certain.
    """

    values: tuple[tuple[str, ...], ...] = field(repr=False)
    released: IntArray = field(repr=False)
    truth: IntArray = field(repr=False)
    amount: IntArray = field(repr=False)
    place: IntArray = field(repr=False)


def trace(before: pa.Table, after: pa.Table, fields: int) -> TracedFile:
    """`before` and `after` hold every record in the order of its file: w0, w1, ..., rest, amount."""
    values = tuple(tuple(_texts(before, after, place)) for place in range(fields))
    old, new = (np.array([_codes(side, place, values[place]) for place in range(fields)]) for side in (before, after))
    rest = [np.array([int(digest[:16], 16) for digest in side["rest"].to_pylist()], dtype=np.uint64) for side in (before, after)]
    origin, certain = _origins(old, new, *rest)
    known = origin >= 0
    amounts = [side["amount"].to_numpy().astype(np.int64) for side in (before, after)]
    return TracedFile(
        values=values,
        released=new,
        truth=np.where(known, old[:, origin], -1),
        amount=np.where(known, amounts[0][origin], amounts[1]),
        place=np.where(certain, origin, -1),
    )


def _texts(before: pa.Table, after: pa.Table, place: int) -> list[str]:
    both = pa.chunked_array([*before[f"w{place}"].chunks, *after[f"w{place}"].chunks], pa.string())
    return sorted(pc.unique(both).drop_null().to_pylist())


def _codes(side: pa.Table, place: int, values: tuple[str, ...]) -> IntArray:
    found = pc.index_in(side[f"w{place}"], value_set=pa.array(values, pa.string()))
    return np.asarray(pc.fill_null(found, -1).to_numpy(), dtype=np.int64)


def _origins(old: IntArray, new: IntArray, old_rest: AnyArray, new_rest: AnyArray) -> tuple[IntArray, BoolArray]:
    """The original of each released record (-1: none is left), and whether no other could have become it."""
    origin, certain = np.full(new.shape[1], -1, dtype=np.int64), np.zeros(new.shape[1], dtype=np.bool_)
    left = np.arange(old.shape[1])
    pattern = (1 << np.arange(new.shape[0], dtype=np.int64)) @ (new < 0)
    for blank in sorted(np.unique(pattern).tolist(), key=lambda bits: (bits.bit_count(), bits)):
        shown = [place for place in range(new.shape[0]) if not blank >> place & 1]
        rows = np.flatnonzero(pattern == blank)
        mine, theirs = mixed(new[shown][:, rows], shown) + new_rest[rows], mixed(old[shown][:, left], shown) + old_rest[left]
        taken, alone = _paired(mine, theirs)
        found = taken >= 0
        origin[rows[found]], certain[rows] = left[taken[found]], alone
        left = np.delete(left, taken[found])
    return origin, certain


def _paired(mine: AnyArray, theirs: AnyArray) -> tuple[IntArray, BoolArray]:
    """A place in `theirs` for each of mine with the same number, each place once (-1: none left); and whether there was just that one."""
    order, ranked = np.argsort(theirs, kind="stable"), np.argsort(mine, kind="stable")
    first, last = (np.searchsorted(theirs[order], mine, side=side) for side in ("left", "right"))
    rank = np.empty(mine.size, dtype=np.int64)
    rank[ranked] = np.arange(mine.size) - np.searchsorted(mine[ranked], mine[ranked], side="left")
    here = first + rank
    found = here < last
    place = np.full(mine.size, -1, dtype=np.int64)
    place[found] = order[here[found]]
    return place, np.asarray(found & (last - first == 1))
