"""The command line. Nothing heavy is imported before a command needs it."""

from __future__ import annotations


def main() -> None:
    from statveil.cli.app import app

    app()
