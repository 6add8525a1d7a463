"""Done at the start of every process of a server under test, where PYTHONPATH names this folder.

STATVEIL_TEST_OPENED: a file that is told of everything these processes open, list, connect to or start.
STATVEIL_TEST_YEAR: the year that their clocks show.
"""

import json
import os
import sys

TOLD = ("open", "os.listdir", "os.scandir", "sqlite3.connect", "socket.connect", "subprocess.Popen", "ctypes.dlopen")


def tell_what_is_opened(path: str) -> None:
    log = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)

    def heard(event: str, arguments: tuple[object, ...]) -> None:
        if event in TOLD and not isinstance(arguments[0], int):  # what has a number already was told of when it was opened
            os.write(log, json.dumps([event, str(arguments[0])]).encode() + b"\n")

    sys.addaudithook(heard)


def live_in(year: int) -> None:
    import datetime

    import time_machine

    time_machine.travel(datetime.datetime(year, 1, 19, 3, 14, 7, tzinfo=datetime.UTC), tick=True).start()


if "STATVEIL_TEST_OPENED" in os.environ:
    tell_what_is_opened(os.environ["STATVEIL_TEST_OPENED"])
if "STATVEIL_TEST_YEAR" in os.environ:
    live_in(int(os.environ["STATVEIL_TEST_YEAR"]))
