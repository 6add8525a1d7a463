"""Certificates as files: numbers are strings of digits, and what JSON lets through beyond them is refused."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from statveil.core.errors import FormatError
from statveil.formats.certificate import (
    TUNING,
    Alike,
    Cases,
    Certificate,
    Copies,
    Multipliers,
    packed,
    read_certificate,
    write_certificate,
)

NOTHING = Multipliers((), (), (), (), ())
PROOF = Cases(0, Cases(1, NOTHING, NOTHING, -3), NOTHING, 10**30)


def certificate(**changes: Any) -> Certificate:
    return Certificate(**{"cells": 4, "relations": 1, "scale": 0, "worth": 10, "bound": 8, "derived": (), "proof": NOTHING, **changes})


def test_cases_of_amounts_are_read_back(tmp_path: Path) -> None:
    write_certificate(certificate(proof=PROOF), tmp_path / "bound.json")
    assert read_certificate(tmp_path / "bound.json").proof == PROOF


ODD = [
    "Infinity",
    "-Infinity",
    "NaN",
    "1e999",
    "-1e999",
    "1.5",
    "12",
    "true",
    "null",
    "[1]",
    '"1e3"',
    '"Infinity"',
    '"nan"',
    '" 7"',
    '"1_0"',
    '""',
]
ODD += ['"٣"', f'"{"9" * (TUNING.longest + 1)}"', "9" * 5000]


@pytest.mark.parametrize("odd", ODD, ids=range(len(ODD)))
@pytest.mark.parametrize("name", ["worth", "bound"])
def test_amounts_are_strings_of_digits(tmp_path: Path, name: str, odd: str) -> None:
    assert refused(tmp_path, f'"{name}":"', odd)


@pytest.mark.parametrize("odd", ["Infinity", "NaN", "1e999", "4.0", "true", '"4"', "-1e999", str(2**62), "9" * 5000])
@pytest.mark.parametrize("name", ["cells", "relations", "scale"])
def test_sizes_are_whole_and_of_some_size(tmp_path: Path, name: str, odd: str) -> None:
    assert refused(tmp_path, f'"{name}":', odd)


@pytest.mark.parametrize("odd", ["Infinity", "NaN", "1e999", "3", '"3.0"', '"1" ,"2"'])
def test_the_amount_of_a_case_is_a_string_of_digits(tmp_path: Path, odd: str) -> None:
    path = tmp_path / "bound.json"
    write_certificate(certificate(proof=PROOF), path)
    path.write_text(path.read_text().replace('"-3"', odd))
    with pytest.raises(FormatError, match="not a certificate"):
        read_certificate(path)


def refused(folder: Path, key: str, odd: str) -> bool:
    """A file in which the number under this key is another one."""
    path = folder / "bound.json"
    write_certificate(certificate(), path)
    head, rest = path.read_text(encoding="utf-8").split(key, 1)
    after = rest[rest.index(",") :]
    path.write_text(head + key.removesuffix('"') + odd + after, encoding="utf-8")
    with pytest.raises(FormatError, match="not a certificate"):
        read_certificate(path)
    return True


def test_a_negative_amount_is_read(tmp_path: Path) -> None:
    """Whether it means anything is for the checker to say."""
    path = tmp_path / "bound.json"
    write_certificate(certificate(worth=-5), path)
    assert read_certificate(path).worth == -5
    assert json.loads(path.read_text())["worth"] == "-5"


def test_copies_are_read_back_from_a_compressed_file(tmp_path: Path) -> None:
    """Whatever they are packed by, gzip unpacks the file and zlib the factors; the same certificate gives the same bytes."""
    factors = np.arange(-6, 6).reshape(3, 4) * 10**8
    copies = Copies(NOTHING, (0, 1, 2, 3), (0, 0, 0), packed(factors), (0, 1, 2))
    proof = Alike(0, 1, copies, NOTHING)
    for name in ("bound.json", "bound.json.gz", "again.json.gz"):
        write_certificate(certificate(proof=proof), tmp_path / name, compressed=name.endswith(".gz"))
        assert read_certificate(tmp_path / name).proof == proof
    assert (tmp_path / "bound.json.gz").read_bytes() == (tmp_path / "again.json.gz").read_bytes()
    assert gzip.decompress((tmp_path / "bound.json.gz").read_bytes()) == (tmp_path / "bound.json").read_bytes()
