"""Solvers that do not behave, for the child process to call in place of stage two."""

from __future__ import annotations

import os
import time
from typing import Any

import numpy as np

from statveil.core.errors import DisclosureRefused
from statveil.server.engine.protection.stage_two import limit_child
from statveil.solve.processes import Send


def sleep_for_ever(cells: Any, block: Any, told: Any, memory: int, send: Send) -> None:
    time.sleep(3600)


def eat_memory(cells: Any, block: Any, told: Any, memory: int, send: Send) -> None:
    limit_child(memory)
    send(np.ones(memory, dtype=np.float64))


def crash(cells: Any, block: Any, told: Any, memory: int, send: Send) -> None:
    os.abort()


def look_around(cells: Any, block: Any, told: Any, memory: int, send: Send) -> None:
    send([block.value.size, block.leaf.size, block.start.size, block.reference.size])


def refuse(cells: Any, block: Any, told: Any, memory: int, send: Send) -> None:
    raise DisclosureRefused("Not this table.", hint="Another one.")
