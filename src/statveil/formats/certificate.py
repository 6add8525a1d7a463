"""Certificates of lower bounds: multipliers as integers, from which anybody can work the bound out again (see docs/methods.md).

All multipliers are integers over one power of two, 2**scale. A certificate says: no whole safe table costs less than `bound`,
and only tables that cost less than `worth` need be looked at to see it.
In the file every row of integers is one string, so that no reader takes them for floating-point numbers.
"""

from __future__ import annotations

import base64
import gzip
import json
import re
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from statveil.core.arrays import IntArray
from statveil.core.errors import FormatError

FORMAT = "statveil bound certificate 1"
COVER = -1
"""In the place of a polygon's longest cell: the cut is a cover."""
GZIP = b"\x1f\x8b"
GZIP_BITS = 31
"""The largest window, with gzip's head and end."""
COPY_ROWS = ("cells", "relations", "shifts", "triangles")
PACKED = "<i4"
"""How factors of copies are packed."""
PLACES = 30
"""Binary places that a packed factor certainly has."""

Whole = tuple[int, ...]


class CertificateTuning(NamedTuple):
    """What is refused in a file, and how it is compressed."""

    deepest: int = 220
    """Proofs within proofs; no search of our own nests as many. By judgement."""
    longest: int = 4_000
    """Digits of an integer: more than any weight of 64 bits asks for, and fewer than Python reads. By judgement."""
    level: int = 3
    """Of compression: the smallest files of digits, in a third of level 9's time or less. Measured."""
    largest: int = 2**62
    """Numbers of cells, relations and binary places."""


TUNING = CertificateTuning()
_DIGITS = re.compile(rf"-?[0-9]{{1,{TUNING.longest}}}", re.ASCII)


class Combination(NamedTuple):
    """A relation that follows from the system's own: the sum of factor times relation."""

    relations: Whole
    factors: Whole


class Multipliers(NamedTuple):
    """Multipliers of relations (of either sign), and of cuts (zero or more).

    Relations are numbered from zero; the derived ones follow the system's own.
    """

    relations: Whole
    factors: Whole
    cut_relations: Whole
    cut_cells: Whole
    cut_factors: Whole


class Copies(NamedTuple):
    """Multipliers of copies of the table, each times the sign of a sensitive cell, beside plain ones (docs/methods.md).

    `cells` names each copy by its cell. `factors` has a row for each of the `relations` and a column for each copy, packed by `packed`;
    those of a row count 2**shift times, by its own of the `shifts`. `triangles` has five numbers for each: three copies, which pair of
    them (first and second: 1, first and third: 2, second and third: 3) stands with a plus sign alone, or 0 where all do, and its
    multiplier, zero or more.
    """

    plain: Multipliers
    cells: Whole
    relations: Whole
    factors: bytes
    shifts: Whole
    triangles: Whole = ()

    @property
    def matrix(self) -> IntArray:
        """The factors, relations by copies."""
        return np.frombuffer(self.factors, dtype=PACKED).astype(np.int64).reshape(len(self.relations), len(self.cells))


def packed(factors: IntArray) -> bytes:
    """Whole numbers of 32 bits, row by row."""
    if factors.size and np.abs(factors).max() >= 2**31:
        raise OverflowError
    return np.ascontiguousarray(factors, dtype=PACKED).tobytes()


Leaf = TypeVar("Leaf")
"""Multipliers: whole ones in a certificate, doubles while a search goes on."""


class Cases(NamedTuple, Generic[Leaf]):
    """Either the cell does not fall, or it does not rise: a proof for each. With `at`: either it moves by more than that, or it does not.

    Moves are whole deviations, a fall below zero: one of the two cases holds of every whole table.
    """

    cell: int
    up: Leaf | Cases[Leaf] | Alike[Leaf] | ProofSum[Leaf]
    down: Leaf | Cases[Leaf] | Alike[Leaf] | ProofSum[Leaf]
    at: int | None = None


class Alike(NamedTuple, Generic[Leaf]):
    """Either neither of two cells moves against the other, or neither moves with it: a proof for each. One holds of every table."""

    cell: int
    other: int
    same: Leaf | Cases[Leaf] | Alike[Leaf] | ProofSum[Leaf]
    opposite: Leaf | Cases[Leaf] | Alike[Leaf] | ProofSum[Leaf]


class ProofSum(NamedTuple, Generic[Leaf]):
    """Proofs that speak of different cells, which no relation joins; what they prove adds up."""

    parts: tuple[Leaf | Cases[Leaf] | Alike[Leaf] | ProofSum[Leaf], ...]


AnyLeaf = Multipliers | Copies
Node = AnyLeaf | Cases[AnyLeaf] | Alike[AnyLeaf] | ProofSum[AnyLeaf]


@dataclass(frozen=True, kw_only=True)
class Certificate:
    cells: int
    relations: int
    scale: int
    worth: int
    bound: int
    """Over 2**scale, as `worth` and the multipliers are."""
    derived: tuple[Combination, ...]
    proof: Node

    @property
    def by_cases(self) -> bool:
        return _has_cases(self.proof)


def write_certificate(certificate: Certificate, path: str | Path, *, compressed: bool = False) -> None:
    """Write compact JSON; the same certificate gives the same bytes."""
    content = {
        "format": FORMAT,
        "cells": certificate.cells,
        "relations": certificate.relations,
        "scale": certificate.scale,
        "worth": str(certificate.worth),
        "bound": str(certificate.bound),
        "derived": [[_joined(row) for row in combination] for combination in certificate.derived],
        "proof": _as_json(certificate.proof),
    }
    text = (json.dumps(content, separators=(",", ":")) + "\n").encode("ascii")
    Path(path).write_bytes(_zipped(text, has_copies=_has_copies(certificate.proof)) if compressed else text)


def read_certificate(path: str | Path) -> Certificate:
    """Read a certificate; anything that is not one is refused."""
    path = Path(path)
    try:
        data = path.read_bytes()
        content = json.loads(gzip.decompress(data) if data.startswith(GZIP) else data)
        if content["format"] != FORMAT:
            raise ValueError
        return Certificate(
            cells=_number(content["cells"]),
            relations=_number(content["relations"]),
            scale=_number(content["scale"]),
            worth=_integer(content["worth"]),
            bound=_integer(content["bound"]),
            derived=tuple(Combination(*map(_split, combination)) for combination in content["derived"]),
            proof=_node(content["proof"], depth=0),
        )
    except FileNotFoundError:
        raise FormatError(f"{path} does not exist.") from None
    except RecursionError:
        raise FormatError(f"{path} is refused: its proof is nested more than {TUNING.deepest} deep.") from None
    except (OSError, EOFError, ValueError, KeyError, TypeError, AttributeError, OverflowError, zlib.error):
        hint = f"It should be JSON with format {FORMAT!r}."
        raise FormatError(f"{path} is not a certificate of a bound, or it is damaged.", hint=hint) from None


def _zipped(text: bytes, *, has_copies: bool) -> bytes:
    """As gzip packs it, without a time. Factors of copies are packed already, and nothing else is of any size beside them."""
    packer = zlib.compressobj(TUNING.level, wbits=GZIP_BITS, strategy=zlib.Z_HUFFMAN_ONLY if has_copies else zlib.Z_DEFAULT_STRATEGY)
    return packer.compress(text) + packer.flush()


def _deflated(factors: bytes) -> bytes:
    """Only runs of equal bytes are looked for: a search for other repeats takes fifteen times as long, and finds none."""
    packer = zlib.compressobj(strategy=zlib.Z_RLE)
    return packer.compress(factors) + packer.flush()


def _parts(node: Node) -> tuple[Node, ...]:
    if isinstance(node, ProofSum):
        return node.parts
    if isinstance(node, Alike):
        return node.same, node.opposite
    return (node.up, node.down) if isinstance(node, Cases) else ()


def _has_copies(node: Node) -> bool:
    return isinstance(node, Copies) or any(map(_has_copies, _parts(node)))


def _has_cases(node: Node) -> bool:
    return isinstance(node, Cases | Alike) or (isinstance(node, ProofSum) and any(map(_has_cases, node.parts)))


def _as_json(node: Node) -> Any:
    if isinstance(node, Cases):
        at = [] if node.at is None else [str(node.at)]
        return [node.cell, _as_json(node.up), _as_json(node.down), *at]
    if isinstance(node, Alike):
        return {"alike": [node.cell, node.other], "same": _as_json(node.same), "opposite": _as_json(node.opposite)}
    if isinstance(node, ProofSum):
        return {"apart": [_as_json(part) for part in node.parts]}
    if isinstance(node, Copies):
        rows = {name: _joined(getattr(node, name)) for name in COPY_ROWS}
        factors = base64.b64encode(_deflated(node.factors)).decode("ascii")
        return {"copies_of": _as_json(node.plain), **rows, "factors": factors}
    return dict(zip(Multipliers._fields, map(_joined, node), strict=True))


def _node(content: Any, *, depth: int) -> Node:
    if depth > TUNING.deepest:
        raise RecursionError
    if isinstance(content, list):
        cell, up, down, *at = content
        amount = _integer(*at) if at else None
        return Cases(_number(cell), _node(up, depth=depth + 1), _node(down, depth=depth + 1), amount)
    if "apart" in content:
        return ProofSum(tuple(_node(part, depth=depth + 1) for part in content["apart"]))
    if "alike" in content:
        cell, other = map(_number, content["alike"])
        return Alike(cell, other, _node(content["same"], depth=depth + 1), _node(content["opposite"], depth=depth + 1))
    return _copies(content) if "copies_of" in content else _multipliers(content)


def _copies(content: Any) -> Copies:
    cells, relations, shifts, triangles = (_split(content[name]) for name in COPY_ROWS)
    size = 4 * len(cells) * len(relations)
    reader = zlib.decompressobj()
    factors = reader.decompress(base64.b64decode(content["factors"], validate=True), size + 1)
    if len(factors) != size or not reader.eof:
        raise ValueError
    return Copies(_multipliers(content["copies_of"]), cells, relations, factors, shifts, triangles)


def _multipliers(content: Any) -> Multipliers:
    return Multipliers(*(_split(content[name]) for name in Multipliers._fields))


def _joined(row: Whole) -> str:
    return " ".join(map(str, row))


def _split(row: str) -> Whole:
    return tuple(map(_integer, row.split()))


def _integer(content: Any) -> int:
    """An integer from its string, of digits alone: neither a floating-point number nor what JSON calls Infinity is one."""
    if not isinstance(content, str) or not _DIGITS.fullmatch(content):
        raise TypeError
    return int(content)


def _number(content: Any) -> int:
    if not isinstance(content, int) or isinstance(content, bool) or abs(content) >= TUNING.largest:
        raise TypeError
    return content
