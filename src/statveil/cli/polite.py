"""Every way a command can fail, told in a sentence and an exit code; never a traceback unless asked for."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import typer

from statveil.cli import INTERRUPTED
from statveil.cli.signals import deafen, told_to_stop
from statveil.core.errors import EngineFailed, StatveilError

INTERNAL_ERROR = 1
STOPPED = ("Stopped before the release was complete.", "Nothing was released.")
_said: list[str] = []


@contextmanager
def polite(*, as_json: bool, debug: bool) -> Iterator[None]:
    """Turn whatever is raised inside into a message and an exit code."""
    try:
        with _in_words(as_json=as_json, debug=debug):
            yield
    except KeyboardInterrupt:
        deafen()
        _tell("Interrupted", *STOPPED, INTERRUPTED, as_json=as_json)


def say_interrupted() -> int:
    """Say so on the error stream, unless it was said already; the exit code."""
    if not _said:
        sys.stderr.write("Interrupted: {}\n{}\n".format(*STOPPED))
        sys.stderr.flush()
    return INTERRUPTED


@contextmanager
def _in_words(*, as_json: bool, debug: bool) -> Iterator[None]:
    try:
        yield
    except typer.Exit:
        raise
    except StatveilError as error:
        if isinstance(error, EngineFailed) and told_to_stop():
            raise KeyboardInterrupt from None
        _tell(type(error).__name__, error.message, error.hint, error.exit_code, as_json=as_json)
    except OSError as error:
        where = f": {error.filename}" if error.filename else ""
        _tell("InputError", f"{error.strerror or 'The operating system refused'}{where}.", "Nothing was released.", 2, as_json=as_json)
    except Exception as error:
        if told_to_stop():  # the engine's way to say that it was interrupted
            raise KeyboardInterrupt from None
        if debug:
            raise
        words = f"Internal error ({type(error).__name__}): this is a fault in statveil, not in your data. Nothing was released."
        hint = "Run again with --debug for the traceback; look it through before you send it, it may hold confidential values."
        _tell("InternalError", words, hint, INTERNAL_ERROR, as_json=as_json)


def _tell(kind: str, message: str, hint: str, exit_code: int, *, as_json: bool) -> None:
    if as_json:
        fault = {"type": kind, "message": message, "hint": hint, "exit_code": exit_code}
        typer.echo(json.dumps({"error": fault}, ensure_ascii=False))
    else:
        typer.echo(f"{kind}: {message}" + (f"\n{hint}" if hint else ""), err=True)
        sys.stderr.flush()
    _said.append(kind)
    raise typer.Exit(exit_code) from None
