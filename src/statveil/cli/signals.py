"""Ctrl-C, a polite kill and a closed terminal all mean the same: stop, and leave nothing half-done.

The first raises KeyboardInterrupt: a search ends with its best table. The second raises it once more: give up. Later ones
change nothing, so that no clearing up is cut short.
"""

from __future__ import annotations

import contextlib
import os
import signal
from types import FrameType

STOPPING = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
PATIENCE = 2
_heard: list[int] = []


def listen() -> None:
    """From now on the stopping signals raise KeyboardInterrupt; those that were ignored (nohup) stay so."""
    for number in STOPPING:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _stop)


def deafen() -> None:
    """The end is near: no signal may disturb it any more. Without `listen` before, nothing changes."""
    for number in STOPPING:
        if signal.getsignal(number) is _stop:
            signal.signal(number, signal.SIG_IGN)


def told_to_stop() -> bool:
    return bool(_heard)


def _stop(number: int, _: FrameType | None) -> None:
    _heard.append(number)
    if number == getattr(signal, "SIGHUP", None):
        _leave_terminal()
    if len(_heard) >= PATIENCE:
        deafen()
    raise KeyboardInterrupt


def _leave_terminal() -> None:
    """What is written to a terminal that has gone would fail, and the failure hide the release."""
    with contextlib.suppress(OSError), open(os.devnull, "wb") as nowhere:
        for stream in (1, 2):
            if os.isatty(stream):
                os.dup2(nowhere.fileno(), stream)
