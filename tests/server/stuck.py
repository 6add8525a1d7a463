"""Solvers that do not behave, for the child process to call in place of stage two."""

from __future__ import annotations

import os
import time

import numpy as np

from statveil.core.errors import DisclosureRefused
from statveil.server.engine.protection.stage_two import StageTwoTask, limit_child
from statveil.solve.processes import Send


def sleep_for_ever(task: StageTwoTask, seconds: float, memory: int, send: Send) -> None:
    time.sleep(3600)


def eat_memory(task: StageTwoTask, seconds: float, memory: int, send: Send) -> None:
    limit_child(memory)
    send(np.ones(memory, dtype=np.float64))


def crash(task: StageTwoTask, seconds: float, memory: int, send: Send) -> None:
    os.abort()


def look_around(task: StageTwoTask, seconds: float, memory: int, send: Send) -> None:
    send([task.block.value.size, task.block.leaf.size, task.block.start.size, task.block.reference.size])


def refuse(task: StageTwoTask, seconds: float, memory: int, send: Send) -> None:
    raise DisclosureRefused("Not this table.", hint="Another one.")
