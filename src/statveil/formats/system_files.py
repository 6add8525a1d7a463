"""Linear systems from and to files: the ending of the name tells the form."""

from __future__ import annotations

from pathlib import Path

from statveil.formats import jj
from statveil.formats.system import LinearSystem

ARRAYS = ".npz"


def read_system(path: str | Path, *, non_additive: bool = False, negative_levels: bool = False) -> LinearSystem:
    """Read a linear system: arrays if the name ends in .npz, else a JJ file.

    A table that does not add up is refused unless `non_additive` allows it. A level below zero is refused unless
    `negative_levels` allows it: then it says that nothing is asked on that side, as a level of zero does.
    """
    if Path(path).suffix.lower() != ARRAYS:
        return jj.read_text(path, non_additive=non_additive, negative_levels=negative_levels)
    from statveil.formats import npz

    return npz.read_arrays(path, non_additive=non_additive, negative_levels=negative_levels)


def write_system(system: LinearSystem, path: str | Path) -> None:
    """Write a file that reads back to the same system: arrays if the name ends in .npz, else a JJ file."""
    if Path(path).suffix.lower() != ARRAYS:
        return jj.write_text(system, path)
    from statveil.formats import npz

    return npz.write_arrays(system, path)
