"""Certificates of lower bounds: multipliers as integers, from which anybody can work the bound out again (see docs/methods.md).

All multipliers are integers over one power of two, 2**scale. A certificate says: no whole safe table costs less than `bound`,
and only tables that cost less than `worth` need be looked at to see it.
In the file every row of integers is one string, so that no reader takes them for floating-point numbers.
"""

from __future__ import annotations

import gzip
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

from statveil.core.errors import FormatError

FORMAT = "statveil bound certificate 1"
COVER = -1
"""In the place of a polygon's longest cell: the cut is a cover."""
GZIP = b"\x1f\x8b"

Whole = tuple[int, ...]


class CertificateTuning(NamedTuple):
    """What is refused in a file."""

    deepest: int = 220
    """Proofs within proofs; no search of our own nests as many. By judgement."""
    longest: int = 4_000
    """Digits of an integer: more than any weight of 64 bits asks for, and fewer than Python reads. By judgement."""
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

    `cells` names each copy by its cell. Each of the other rows tells one multiplier: its copy, relation, and factor, which counts
    2**shift times.
    """

    plain: Multipliers
    cells: Whole
    copies: Whole
    relations: Whole
    factors: Whole
    shift: int


Leaf = TypeVar("Leaf")
"""Multipliers: whole ones in a certificate, doubles while a search goes on."""


class Cases(NamedTuple, Generic[Leaf]):
    """Either the cell does not fall, or it does not rise: a proof for each. With `at`: either it moves by more than that, or it does not.

    Moves are whole deviations, a fall below zero: one of the two cases holds of every whole table.
    """

    cell: int
    up: Leaf | Cases[Leaf] | ProofSum[Leaf]
    down: Leaf | Cases[Leaf] | ProofSum[Leaf]
    at: int | None = None


class ProofSum(NamedTuple, Generic[Leaf]):
    """Proofs that speak of different cells, which no relation joins; what they prove adds up."""

    parts: tuple[Leaf | Cases[Leaf] | ProofSum[Leaf], ...]


AnyLeaf = Multipliers | Copies
Node = AnyLeaf | Cases[AnyLeaf] | ProofSum[AnyLeaf]


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
    Path(path).write_bytes(gzip.compress(text, mtime=0) if compressed else text)


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
    except (OSError, EOFError, ValueError, KeyError, TypeError, AttributeError, OverflowError):
        hint = f"It should be JSON with format {FORMAT!r}."
        raise FormatError(f"{path} is not a certificate of a bound, or it is damaged.", hint=hint) from None


def _has_cases(node: Node) -> bool:
    return isinstance(node, Cases) or (isinstance(node, ProofSum) and any(map(_has_cases, node.parts)))


def _as_json(node: Node) -> Any:
    if isinstance(node, Cases):
        at = [] if node.at is None else [str(node.at)]
        return [node.cell, _as_json(node.up), _as_json(node.down), *at]
    if isinstance(node, ProofSum):
        return {"apart": [_as_json(part) for part in node.parts]}
    if isinstance(node, Copies):
        rows = {name: _joined(getattr(node, name)) for name in ("cells", "copies", "relations", "factors")}
        return {"copies_of": _as_json(node.plain), **rows, "shift": node.shift}
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
    if "copies_of" in content:
        cells, copies, relations, factors = (_split(content[name]) for name in ("cells", "copies", "relations", "factors"))
        return Copies(_multipliers(content["copies_of"]), cells, copies, relations, factors, _number(content["shift"]))
    return _multipliers(content)


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
