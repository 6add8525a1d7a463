"""What DuckDB may use of the machine: said by argument, by the environment, or left at what is usual."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from statveil.core.errors import InputError

MEMORY_VARIABLE, THREADS_VARIABLE, TEMPORARY_VARIABLE = "STATVEIL_MEMORY", "STATVEIL_THREADS", "STATVEIL_TEMPORARY"


class EngineTuning(NamedTuple):
    memory: str = "2GB"
    """Beyond this the engine spills to a private temporary folder. By judgement."""
    most_threads: int = 1024


TUNING = EngineTuning()


@dataclass(frozen=True, kw_only=True)
class DuckDB:
    """The engine inside the process, with what it may use; nothing of it changes a result.

    memory: such as `"8GB"`; beyond it the engine spills to its temporary folder. threads: all processors where it is None. temporary: the
    folder in which a private one is made for each session. What is not given is taken from the environment (`STATVEIL_MEMORY`,
    `STATVEIL_THREADS`, `STATVEIL_TEMPORARY`), else 2 GB, all processors and the system's own folder.

    >>> import statveil as sv
    >>> sv.DuckDB(memory="500MB", threads=1).memory
    '500MB'
    """

    memory: str | None = None
    threads: int | None = None
    temporary: str | None = None

    def __post_init__(self) -> None:
        given = os.environ.get(THREADS_VARIABLE)
        object.__setattr__(self, "memory", self.memory or os.environ.get(MEMORY_VARIABLE) or TUNING.memory)
        object.__setattr__(self, "threads", _threads(self.threads if self.threads is not None or not given else given))
        object.__setattr__(self, "temporary", self.temporary or os.environ.get(TEMPORARY_VARIABLE) or None)
        if not isinstance(self.memory, str) or not re.fullmatch(r"[0-9]+(\.[0-9]+)? ?[KMGT]i?B", self.memory):
            raise InputError(f"{self.memory!r} is no amount of memory.", hint='Example: memory = "8GB".')
        if self.temporary is not None and not Path(self.temporary).is_dir():
            raise InputError(f"There is no folder {str(self.temporary)!r} for temporary files.", hint="Make it first.")


def _threads(given: int | str | None) -> int | None:
    if given is None:
        return None
    if isinstance(given, bool) or not re.fullmatch(r"[0-9]{1,4}", str(given)) or not 1 <= int(given) <= TUNING.most_threads:
        raise InputError(f"threads is {given!r}.", hint=f"A whole number from 1 to {TUNING.most_threads}.")
    return int(given)
