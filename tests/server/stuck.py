"""Solvers that do not behave, for the child process to call in place of the second stage."""

from __future__ import annotations

import os
import time

import numpy as np

from statveil.server.engine.section4 import SecondStageTask, limit_child
from statveil.solve.processes import Send


def sleep_for_ever(task: SecondStageTask, seconds: float, memory: int, send: Send) -> None:
    time.sleep(3600)


def eat_memory(task: SecondStageTask, seconds: float, memory: int, send: Send) -> None:
    limit_child(memory)
    send(np.ones(memory, dtype=np.float64))


def crash(task: SecondStageTask, seconds: float, memory: int, send: Send) -> None:
    os.abort()
