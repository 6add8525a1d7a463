"""The command line. Nothing heavy is imported before a command needs it."""

from __future__ import annotations

import sys


def main() -> None:
    from statveil.cli.signals import deafen, listen

    try:
        listen()
        from statveil.cli.app import app

        app()
    except KeyboardInterrupt:
        sys.exit(130)
    finally:
        deafen()
