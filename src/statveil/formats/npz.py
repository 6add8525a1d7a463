"""Linear systems as a zip of NumPy arrays (.npz): compact, exact, and a million cells read in a moment.

One array per column, each in the smallest whole-number type that holds it, and the relations as the three arrays of a
compressed sparse row matrix. Nothing in such a file is ever executed (no pickle), and the same system gives the same bytes.
"""

from __future__ import annotations

import io
import zipfile
import zlib
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_matrix

from statveil.core.arrays import LARGEST_EXACT, AnyArray, BoolArray, FloatArray, IntArray
from statveil.core.errors import FormatError, TableNotAdditive
from statveil.formats.amounts import NO_BOUND
from statveil.formats.system import LARGEST_SUM, MOST_DECIMALS, STATUSES, Decimals, LinearSystem, how_to_mend, in_decimals
from statveil.formats.text import find_repeated

VERSION = 1
_AMOUNTS = ("value", "lower", "upper", "lower_level", "upper_level", "rhs")
_WHOLE = ("version", "decimals", *_AMOUNTS, "status", "starts", "cells", "factors")
_NAMES = (*_WHOLE, "cost")
_SMALLEST = (np.int8, np.int16, np.int32, np.int64)


class ArraysTuning(NamedTuple):
    """How arrays are written."""

    compression: int = 1
    """The finer levels take seconds and save little. By judgement."""


TUNING = ArraysTuning()


def write_arrays(system: LinearSystem, path: str | Path) -> None:
    """Write a .npz file that reads back to the same system with its decimals."""
    matrix = system.relations
    letters = np.asarray(system.status, dtype="<U1").view(np.uint32)
    whole = {name: getattr(system, name) for name in _AMOUNTS} | {"starts": matrix.indptr, "cells": matrix.indices, "factors": matrix.data}
    with zipfile.ZipFile(path, "w", compression=zipfile.ZIP_DEFLATED, compresslevel=TUNING.compression) as archive:
        _add(archive, "version", np.array([VERSION], dtype=np.int8))
        _add(archive, "decimals", np.array([system.decimals], dtype=np.int8))
        for name, array in whole.items():
            _add(archive, name, _smallest(array))
        _add(archive, "status", letters.astype(np.uint8))
        _add(archive, "cost", np.asarray(system.cost, dtype=np.float64))


def read_arrays(path: str | Path, *, decimals: Decimals = None, non_additive: bool = False, negative_levels: bool = False) -> LinearSystem:
    """Read a .npz file of `write_arrays`. It is checked as a JJ file is, and refused for the same reasons.

    The unit that the file tells is that of its arrays; taken are the decimals of its values, or those asked for.
    """
    file = _File(Path(path))
    arrays = file.arrays
    file.refuse_unless(arrays["version"].tolist() == [VERSION], "it is of another version, or no linear system")
    file.refuse_unless(arrays["decimals"].size == 1 and 0 <= arrays["decimals"][0] <= MOST_DECIMALS, "decimals must be one number, 0 to 6")
    _check_cells(file)
    for name in ("lower_level", "upper_level"):
        file.refuse(f"array {name}", (arrays[name] < 0) & (not negative_levels), "a protection level is below zero")
        arrays[name] = np.maximum(arrays[name], 0)
    system = LinearSystem(
        relations=_matrix(file),
        **{name: arrays[name] for name in _AMOUNTS},
        cost=arrays["cost"],
        status=arrays["status"].astype(np.uint32).view("<U1"),
        decimals=int(arrays["decimals"][0]),
    )
    system = in_decimals(system, decimals, file=file.name)
    _check_sums(file, system, non_additive=non_additive)
    return system


class _File:
    """The arrays of a file, whole numbers as 64-bit integers; every complaint names file and array."""

    def __init__(self, path: Path) -> None:
        self.name = path.name
        try:
            with zipfile.ZipFile(path) as archive:
                self._check_names(archive)
                self.arrays = {name: self._array(archive, name) for name in _NAMES}
        except OSError as error:
            raise FormatError(f"{path}: {error.strerror}.", hint="Check the name.") from None
        except (zipfile.BadZipFile, zlib.error, EOFError, MemoryError, RuntimeError):  # the last: encrypted, or packed in an unknown way
            raise self.fault("it is no .npz file, or damaged", hint="It may be cut off.") from None

    def fault(self, words: str, *, hint: str = "") -> FormatError:
        return FormatError(f"{self.name}: {words}.", hint=hint)

    def refuse_unless(self, right: bool, words: str) -> None:
        if not right:
            raise self.fault(words)

    def refuse(self, place: str, wrong: BoolArray, words: str, *, hint: str = "") -> None:
        """Complain about the first entry that is wrong, if one is."""
        if wrong.any():
            raise self.fault(f"{place}, entry {int(np.argmax(wrong))}: {words}", hint=hint)

    def _check_names(self, archive: zipfile.ZipFile) -> None:
        found, wanted = sorted(archive.namelist()), sorted(f"{name}.npy" for name in _NAMES)
        lacking = [name for name in wanted if name not in found]
        self.refuse_unless(not lacking, f"it lacks the array {lacking[0] if lacking else ''}")
        self.refuse_unless(found == wanted, "it holds arrays that are no part of a linear system")

    def _array(self, archive: zipfile.ZipFile, name: str) -> AnyArray:
        try:
            array = np.lib.format.read_array(io.BytesIO(archive.read(f"{name}.npy")), allow_pickle=False)
        except ValueError:
            raise self.fault(f"array {name} cannot be read", hint="It may be cut off.") from None
        self.refuse_unless(array.ndim == 1, f"array {name} must have one dimension")
        if name == "cost":
            self.refuse_unless(array.dtype.kind in "fiu", "array cost must hold numbers")
            return array.astype(np.float64)
        self.refuse_unless(array.dtype.kind in "iu", f"array {name} must hold whole numbers")
        self.refuse(f"array {name}", array > np.int64(2**63 - 1), "the number is too large")
        return array.astype(np.int64)


def _check_cells(file: _File) -> None:
    arrays = file.arrays
    size = arrays["value"].size
    for name in ("cost", "status", "lower", "upper", "lower_level", "upper_level"):
        file.refuse_unless(arrays[name].size == size, f"array {name} must have as many entries as value")
    for name in ("value", "rhs", "lower_level", "upper_level"):
        words = "an amount is too large to be computed exactly (2^53 units or more)"
        file.refuse(f"array {name}", np.abs(arrays[name]) >= LARGEST_EXACT, words)
    for name in ("lower", "upper"):
        beyond = (np.abs(arrays[name]) >= LARGEST_EXACT) & (np.abs(arrays[name]) != NO_BOUND)
        file.refuse(f"array {name}", beyond, "a bound is 2^53 units or more; 2^62 stands for none")
    file.refuse("array cost", ~(np.isfinite(arrays["cost"]) & (arrays["cost"] >= 0)), "the cost must be a number, zero or more")
    file.refuse("array status", ~np.isin(arrays["status"], [ord(letter) for letter in STATUSES]), "the status must be one of s, u, z, m")
    file.refuse("array lower", arrays["lower"] > arrays["upper"], "the lower bound is above the upper bound")


def _matrix(file: _File) -> csr_matrix:
    starts, cells, factors = (file.arrays[name] for name in ("starts", "cells", "factors"))
    size, rows = file.arrays["value"].size, file.arrays["rhs"].size
    file.refuse_unless(starts.size == rows + 1, "array starts must have one entry more than rhs")
    file.refuse_unless(cells.size == factors.size, "arrays cells and factors must have equally many entries")
    whole = starts[0] == 0 and starts[-1] == cells.size and bool((np.diff(starts) >= 0).all())
    file.refuse_unless(whole, "array starts must rise from 0 to the number of terms")
    file.refuse("array cells", (cells < 0) | (cells >= size), f"a relation names a cell outside 0 to {size - 1}")
    twice = find_repeated(starts, cells, np.full(size, -1, dtype=np.int64))
    file.refuse_unless(twice < 0, f"relation {twice} names a cell twice")
    matrix = csr_matrix((factors, cells, starts), shape=(rows, size))
    matrix.eliminate_zeros()
    return matrix


def _check_sums(file: _File, system: LinearSystem, *, non_additive: bool) -> None:
    sizes = abs(system.relations).astype(np.float64) @ np.abs(system.value).astype(np.float64)
    file.refuse("relation", sizes >= LARGEST_SUM, "the factors are too large to add up exactly")
    broken = system.relations @ system.value != system.rhs
    if broken.any() and not non_additive:
        raise TableNotAdditive(
            f"{file.name}: relation {int(np.argmax(broken))} does not add up ({np.count_nonzero(broken)} of {broken.size} do not).",
            hint=how_to_mend(system, broken),
        )


def _add(archive: zipfile.ZipFile, name: str, array: AnyArray) -> None:
    with archive.open(f"{name}.npy", "w", force_zip64=True) as member:  # it gets no date, so that bytes repeat
        np.lib.format.write_array(member, np.ascontiguousarray(array), allow_pickle=False)


def _smallest(array: IntArray | FloatArray) -> AnyArray:
    low, high = int(array.min(initial=0)), int(array.max(initial=0))
    fitting = (kind for kind in _SMALLEST if np.iinfo(kind).min <= low and high <= np.iinfo(kind).max)
    return array.astype(next(fitting))
