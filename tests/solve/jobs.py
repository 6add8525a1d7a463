"""Functions for the isolated process to call: each ends in its own way."""

from __future__ import annotations

import os
import signal
import sys
import time
from typing import Any

from statveil.core.errors import InfeasibleProblem
from statveil.solve.processes import Send


def count_to(number: int, send: Send) -> None:
    for each in range(1, number + 1):
        send(each)


def tell_process(send: Send) -> None:
    send(os.getpid())


def sleep_for_ever(send: Send) -> None:
    send(os.getpid())
    send("asleep")
    while True:
        time.sleep(3600)


def talk_for_ever(send: Send) -> None:
    while True:
        send(os.getpid())


def count_late(number: int, send: Send) -> None:
    time.sleep(0.5)
    count_to(number, send)


def stumble(send: Send) -> None:
    send(os.getpid())
    raise ValueError("respondent 4711 has 90125")


def find_nothing(send: Send) -> None:
    raise InfeasibleProblem("There is none.", hint="Widen the bounds.")


def eat_all_memory(send: Send) -> None:
    raise MemoryError


def kill_itself(send: Send) -> None:
    send("last words")
    os.kill(os.getpid(), signal.SIGKILL)


def chatter(send: Send) -> None:
    """What a solver prints."""
    print("Running HiGHS", flush=True)
    os.write(1, b"from native code")
    print("and complaints", file=sys.stderr, flush=True)
    send("the answer")


def send_back(content: Any, send: Send) -> None:
    send(content)


def send_what_cannot_be_sent(send: Send) -> None:
    send(lambda: None)


class Unreadable:
    """Cannot be unpickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        return refuse, ()


def refuse() -> None:
    raise ValueError("respondent 4711 has 90125")
