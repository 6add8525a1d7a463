"""Both kinds of store for tests: SQLite in a folder, PostgreSQL in a private cluster that lives as long as the tests."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PLACES = ("/usr/lib/postgresql", "/usr/local/bin", "/usr/bin")


def postgres_tools() -> Path | None:
    """The folder of initdb and pg_ctl, if PostgreSQL is installed."""
    found = shutil.which("initdb")
    if found and shutil.which("pg_ctl"):
        return Path(found).resolve().parent
    return next(
        (folder for root in PLACES for folder in sorted(Path(root).glob("*/bin"), reverse=True) if (folder / "initdb").exists()), None
    )


@contextmanager
def private_postgres() -> Iterator[str]:
    """The address of a server of our own on a socket; it runs as an unprivileged user, for it refuses to be root."""
    tools = postgres_tools()
    if tools is None:
        raise FileNotFoundError("initdb and pg_ctl are not installed")
    folder = Path(tempfile.mkdtemp(prefix="statveil-pg-", dir="/tmp"))
    as_user = _as_user(folder)
    address = f"postgresql://statveil@/postgres?host={folder}"
    try:
        _run([*as_user, str(tools / "initdb"), "-D", str(folder / "data"), "-A", "trust", "-U", "statveil", "--no-locale", "-E", "UTF8"])
        start(address)
        yield address
    finally:
        subprocess.run(
            [*as_user, str(tools / "pg_ctl"), "-D", str(folder / "data"), "-m", "immediate", "stop"], capture_output=True, check=False
        )
        shutil.rmtree(folder, ignore_errors=True)


def restart(address: str) -> None:
    """Stop the private server at once and start it again."""
    stop(address)
    start(address)


def stop(address: str) -> None:
    """As in a crash: connections are cut, nothing is finished."""
    _control(address, "-m", "immediate", "stop")


def start(address: str) -> None:
    folder = _folder(address)
    _control(address, "-o", _settings(folder), "-l", str(folder / "log"), "-w", "start")


def _control(address: str, *words: str) -> None:
    tools, folder = postgres_tools(), _folder(address)
    assert tools is not None
    _run([*_as_user(folder), str(tools / "pg_ctl"), "-D", str(folder / "data"), *words])


def _folder(address: str) -> Path:
    return Path(address.rpartition("host=")[2])


def _settings(folder: Path) -> str:
    return f"-k {folder} -c listen_addresses='' -c fsync=on"


def _as_user(folder: Path) -> list[str]:
    if os.geteuid() != 0:
        return []
    name = next((name for name in ("postgres", "nobody") if _known(name)), None)
    if name is None or not shutil.which("runuser"):
        raise FileNotFoundError("there is no unprivileged user to run PostgreSQL as")
    shutil.chown(folder, user=name)
    return ["runuser", "-u", name, "--"]


def _known(name: str) -> bool:
    try:
        pwd.getpwnam(name)
    except KeyError:
        return False
    return True


def _run(command: list[str]) -> None:
    done = subprocess.run(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, timeout=600, check=False, cwd="/tmp"
    )
    if done.returncode:
        raise FileNotFoundError(f"{Path(command[-1]).name}: PostgreSQL could not be started")
