"""Memory of this process and its children together, at one and the same moment: their peaks, added up, say more than was ever used."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from pathlib import Path

INTERVAL = 0.1
"""Seconds between two looks."""
_together = [0]
"""The most that was seen so far, in bytes."""


def look(children: Iterable[int]) -> None:
    """Note what is resident now, of this process and of these children; nothing where the system does not tell."""
    used = sum(_resident(process) for process in (os.getpid(), *children))
    _together[0] = max(_together[0], used)


def _resident(process: int) -> int:
    try:
        pages = Path(f"/proc/{process}/statm").read_text(encoding="ascii").split()[1]
    except OSError:  # another system, or the process has just ended
        return 0
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def peak_mb() -> float | None:
    """The most at one moment, in megabytes: as seen while children ran, or this process's own peak; None where the system does not tell."""
    if sys.platform == "win32":
        return None
    import resource

    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 2**10)
    return round(max(own, _together[0]) / 2**20, 1)
