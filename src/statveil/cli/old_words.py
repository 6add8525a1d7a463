"""Commands of earlier versions: they work for one version more, and each says on the error stream what it is called now."""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

NEW_WORDS = {
    "adjust": "protect FILE.jj",
    "anonymise": "protect JOB.toml",
    "argus": "protect JOB.arb",
    "attack": "check",
    "audit": "check",
    "check-bound": "check FILE.jj FILE.sol --certificate CERT.json",
    "init": "new",
    "tradeoff": "lab tradeoff",
    "bench": "lab bench",
    "generate": "lab generate",
    "serve-keys": "serve keys",
    "audit-log": "serve log",
}


class OldCommand(TyperCommand):
    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        _say(info_name, args)
        return super().make_context(info_name, args, parent, **extra)


class OldGroup(TyperGroup):
    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        _say(info_name, args)
        return super().make_context(info_name, args, parent, **extra)


def quietly(command: Any, info_name: str | None, args: list[str], parent: Any) -> Any:
    """The context of a command that was reached by its new word."""
    if isinstance(command, OldCommand):
        return super(OldCommand, command).make_context(info_name, args, parent)
    return command.make_context(info_name, args, parent)


def _say(word: str | None, args: list[str]) -> None:
    if "--json" in args:  # the error stream then holds JSON lines and nothing else
        return
    typer.echo(f"`statveil {word}` is now `statveil {NEW_WORDS[word or '']}`; the old word goes with the next version.", err=True)
