"""JJ files of a village, to be changed line by line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from statveil.formats.system import LinearSystem, read_system


def system_from(folder: Path, text: str, **allowed: Any) -> LinearSystem:
    path = folder / "village.jj"
    path.write_bytes(text.encode("latin-1"))
    return read_system(path, **allowed)
