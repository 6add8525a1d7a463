"""The command line. Nothing heavy is imported before a command needs it."""

from __future__ import annotations

import sys

INTERRUPTED = 130


def main() -> None:
    from statveil.cli.signals import deafen, listen

    try:
        listen()
        from statveil.cli.app import app

        app()
    except (KeyboardInterrupt, SystemExit) as end:
        if isinstance(end, SystemExit) and end.code != INTERRUPTED:
            raise
        deafen()  # a second signal may have cut short what was to be said of the first, or come before the command began
        from statveil.cli.polite import say_interrupted

        sys.exit(say_interrupted())
    finally:
        deafen()
