"""Systems as arrays: they read back exactly, and a wrong file is refused with what is wrong."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

import statveil as sv
from statveil.formats.amounts import NO_BOUND
from statveil.formats.system import LinearSystem, read_system, write_system
from tests.formats.systems import VILLAGE, same, systems


@pytest.fixture
def village(tmp_path: Path) -> Path:
    (tmp_path / "village.jj").write_text(VILLAGE)
    write_system(read_system(tmp_path / "village.jj", decimals="all"), tmp_path / "village.npz")
    return tmp_path / "village.npz"


@settings(deadline=None)
@given(system=systems())
def test_a_system_reads_back_as_it_was_written(system: LinearSystem, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.getbasetemp() / "random.npz"
    write_system(system, path)
    assert same(read_system(path, decimals=system.decimals), system)


def test_both_forms_hold_the_same_village(village: Path) -> None:
    assert same(read_system(village), read_system(village.with_suffix(".jj")))


def test_decimals_are_those_of_the_values_or_as_chosen(village: Path) -> None:
    """The arrays are in hundredths, the values are tenths."""
    system = read_system(village)
    assert (system.decimals, system.value.tolist(), system.upper_level[1]) == (1, [1000, 605, 300, 95], 73)
    finer = read_system(village, decimals=4)
    assert (finer.decimals, finer.value.tolist(), finer.upper_level[1]) == (4, [1000000, 605000, 300000, 95000], 72500)
    assert finer.upper.tolist() == [10_000_000, 10_000_000, NO_BOUND, 10_000_000]


def test_decimals_that_make_an_amount_too_large_are_refused(village: Path) -> None:
    change(village, value=np.array([2**50, 6050, 3000, 950]), upper=np.array([2**52, 100000, 2**62, 100000]))
    with pytest.raises(sv.errors.FormatError, match=r"village\.npz: an amount is too large to be computed exactly with 5 decimals"):
        read_system(village, decimals=5, non_additive=True)
    change(village, value=np.array([10000, 6050, 3000, 950]))
    assert read_system(village, decimals=5).upper[0] == NO_BOUND  # 2^52 hundredths bound nothing that can be computed with


def test_the_ending_may_be_in_capitals(village: Path) -> None:
    other = village.with_name("OTHER.NPZ")
    other.write_bytes(village.read_bytes())
    assert same(read_system(other), read_system(village))


def test_numpy_reads_it_without_pickle(village: Path) -> None:
    with np.load(village, allow_pickle=False) as arrays:
        assert arrays["value"].tolist() == [10000, 6050, 3000, 950]
        assert arrays["value"].dtype == np.int16


def change(path: Path, **arrays: Any) -> None:
    """Write the file anew with some arrays changed; None leaves one out."""
    with np.load(path) as old:
        content = {name: old[name] for name in old.files} | arrays
    np.savez(path, **{name: array for name, array in content.items() if array is not None})


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"value": None}, "lacks the array value.npy"),
    ({"more": np.zeros(1)}, "no part of a linear system"),
    ({"version": np.array([9])}, "another version"),
    ({"decimals": np.array([7])}, "decimals must be one number"),
    ({"value": np.array([10000.0, np.nan, 3000, 950])}, "array value must hold whole numbers"),
    ({"value": np.array([["a"]])}, "array value must have one dimension"),
    ({"value": np.array(["a"])}, "array value must hold whole numbers"),
    ({"value": np.array([None])}, "array value cannot be read"),
    ({"value": np.array([10000, 6050, 3000])}, "as many entries as value"),
    ({"value": np.array([10000, 6051, 3000, 950])}, r"relation 0 does not add up \(1 of 1 do not\)"),
    ({"value": np.array([2**53, 6050, 3000, 950])}, "array value, entry 0: an amount is too large"),
    ({"value": np.array([2**63, 6050, 3000, 950], dtype=np.uint64)}, "array value, entry 0: the number is too large"),
    ({"rhs": np.array([2**60])}, "array rhs, entry 0: an amount is too large"),
    ({"cost": np.array([1, np.nan, 1, 1])}, "array cost, entry 1: the cost must be a number"),
    ({"cost": np.array([1, np.inf, 1, 1])}, "array cost, entry 1: the cost must be a number"),
    ({"cost": np.array([1, 1, -1, 1.0])}, "array cost, entry 2: the cost must be a number"),
    ({"cost": np.array(["1", "1", "1", "1"])}, "array cost must hold numbers"),
    ({"status": np.array([115, 120, 115, 122])}, "array status, entry 1: the status must be one of"),
    ({"lower": np.array([0, 100001, 0, 0])}, "array lower, entry 1: the lower bound is above"),
    ({"upper": np.array([2**55, 100000, 2**62, 100000])}, "array upper, entry 0: a bound is 2"),
    ({"upper_level": np.array([0, -725, 0, 0])}, "array upper_level, entry 1: a protection level is below zero"),
    ({"starts": np.array([0, 4, 4])}, "one entry more than rhs"),
    ({"starts": np.array([0, 3])}, "must rise from 0"),
    ({"starts": np.array([0, 5, 4]), "rhs": np.array([0, 0])}, "must rise from 0"),
    ({"cells": np.array([0, 1, 2, 4])}, "array cells, entry 3: a relation names a cell outside 0 to 3"),
    ({"cells": np.array([0, 1, 2, -1])}, "a relation names a cell outside"),
    ({"cells": np.array([0, 1, 2, 2])}, "relation 0 names a cell twice"),
    ({"cells": np.array([0, 1, 2])}, "equally many"),
    ({"factors": np.array([-1, 1, 1, 2**61])}, "too large to add up exactly"),
    ({"factors": np.array([-1, 1, 1, 1.5])}, "array factors must hold whole numbers"),
]


@pytest.mark.parametrize(("arrays", "words"), WRONG, ids=[words for _, words in WRONG])
def test_wrong_arrays_are_refused(village: Path, arrays: dict[str, Any], words: str) -> None:
    change(village, **arrays)
    with pytest.raises(sv.InputError, match=rf"village\.npz: .*{words}") as caught:
        read_system(village)
    assert "60" not in str(caught.value).replace("2^60", "")  # never a confidential value


def test_what_may_be_allowed_is_read_when_allowed(village: Path) -> None:
    change(village, value=np.array([10000, 6051, 3000, 950]), upper_level=np.array([0, -725, 0, 0]))
    system = read_system(village, non_additive=True, negative_levels=True)
    assert (system.decimals, (system.relations @ system.value).tolist()) == (2, [1])
    assert system.upper_level.tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9, 0.99])
def test_a_file_cut_anywhere_is_refused(village: Path, share: float) -> None:
    content = village.read_bytes()
    village.write_bytes(content[: int(share * len(content))])
    with pytest.raises(sv.errors.FormatError, match=r"village\.npz: it is no \.npz file, or damaged"):
        read_system(village)


def test_a_changed_byte_is_noticed(village: Path) -> None:
    content = bytearray(village.read_bytes())
    place = content.index(b"value.npy") + 100
    content[place] ^= 255
    village.write_bytes(bytes(content))
    with pytest.raises(sv.errors.FormatError, match=r"village\.npz: "):
        read_system(village)


def test_an_array_cut_inside_the_zip_is_refused(village: Path) -> None:
    buffer = io.BytesIO()
    np.save(buffer, np.array([10000, 6050, 3000, 950]))
    with zipfile.ZipFile(village) as old:
        members = {name: old.read(name) for name in old.namelist()} | {"value.npy": buffer.getvalue()[:-5]}
    with zipfile.ZipFile(village, "w") as new:
        for name, content in members.items():
            new.writestr(name, content)
    with pytest.raises(sv.errors.FormatError, match="array value cannot be read"):
        read_system(village)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(sv.errors.FormatError, match=r"nowhere\.npz: No such file"):
        read_system(tmp_path / "nowhere.npz")
