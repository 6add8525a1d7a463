"""Certificates as files: what is read, refused, and worked out anew from the system's own file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from statveil.audit.certificate_checker import audit_bound, bound_of
from statveil.audit.implied_bounds import ENDLESS
from statveil.core.errors import FormatError, InputError
from statveil.formats.certificate import TUNING as FORMAT
from statveil.formats.certificate import (
    Cases,
    Certificate,
    Combination,
    Node,
    ProofSum,
    read_certificate,
    write_certificate,
)
from statveil.protect.bounds.branch_and_bound import TUNING
from statveil.protect.options import NO_LIMIT
from tests.audit.certificates import NOTHING, certified_square, plain, polygon, row, square


@pytest.mark.parametrize("compressed", [False, True])
def test_a_certificate_is_read_back(tmp_path: Path, compressed: bool) -> None:
    two = (Combination((0, 1), (1, -1)),)
    for certificate in (certified_square(), plain(square(), ProofSum((polygon(0, 0), NOTHING)), derived=two)):
        write_certificate(certificate, tmp_path / "bound", compressed=compressed)
        assert read_certificate(tmp_path / "bound") == certificate


@pytest.mark.parametrize(
    "text", ["", "{}", "[]", '{"format": "another"}', "\x1f\x8bxx", '{"format": "statveil bound certificate 1", "cells": "4"}']
)
def test_what_is_no_certificate_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "bound.json"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(FormatError, match="not a certificate"):
        read_certificate(path)


def test_a_tree_without_end_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "bound.json"
    write_certificate(plain(row()), path)
    head, _ = path.read_text().split('"proof":')
    for depth in (FORMAT.deepest + 1, 100_000):
        path.write_text(head + '"proof":' + "[0," * depth + "0" + ",0]" * depth + "}")
        with pytest.raises(FormatError, match=f"nested more than {FORMAT.deepest} deep"):
            read_certificate(path)


@pytest.mark.parametrize("deeper", [lambda node: Cases(0, node, polygon(0, 0)), lambda node: ProofSum((node,))])
def test_the_deepest_tree_that_is_read_is_worked_out(tmp_path: Path, deeper: Callable[[Node], Node]) -> None:
    proof: Node = polygon(0, 0)
    for _ in range(FORMAT.deepest):
        proof = deeper(proof)
    write_certificate(plain(row(), proof), tmp_path / "bound.json")
    assert bound_of(row(), read_certificate(tmp_path / "bound.json")) == 8


def test_trees_of_our_own_are_less_deep_than_what_is_read() -> None:
    """One case for each choice, below the parts of the problem and those of a component."""
    assert TUNING.deepest + 2 < FORMAT.deepest


def test_a_missing_certificate_is_named(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="does not exist"):
        read_certificate(tmp_path / "nowhere.json")


VILLAGE_BOUNDS = {"unit": 5, "file": 10, "value": 5 * 60.5, "inverse": 5 / 60.5}


@pytest.mark.parametrize("weights", ["unit", "file", "value", "inverse"])
def test_a_system_is_taken_from_its_file_alone(tmp_path: Path, weights: str) -> None:
    from tests.formats.systems import VILLAGE

    (tmp_path / "village.jj").write_text(VILLAGE)
    empty = Certificate(cells=4, relations=1, scale=60, worth=2**80, bound=0, derived=(), proof=NOTHING)
    write_certificate(empty, tmp_path / "bound.json")
    bound = audit_bound(tmp_path / "village.jj", tmp_path / "bound.json", weights=weights)
    assert float(bound) == pytest.approx(VILLAGE_BOUNDS[weights])
    squares = audit_bound(tmp_path / "village.jj", tmp_path / "bound.json", weights="unit", norm="l2")
    assert float(squares) == pytest.approx(25)


@pytest.mark.parametrize("option", [{"weights": "gold"}, {"variant": "most"}, {"norm": "l3"}])
def test_an_unknown_option_is_refused(tmp_path: Path, option: dict[str, str]) -> None:
    with pytest.raises(InputError, match="Known"):
        audit_bound(tmp_path / "a.jj", tmp_path / "b.json", **option)  # type: ignore[arg-type]


def test_no_bound_stands_for_itself() -> None:
    assert ENDLESS == NO_LIMIT
