"""One word for several kinds of things: `protect` and `check` look at what they are given and are then the command for it.

`statveil protect job.toml --help` shows the options for that kind of thing, `statveil protect --help` the kinds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

import typer
from typer.core import TyperCommand, TyperGroup

from statveil.cli.polite import polite

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


def _say(word: str | None, args: list[str]) -> None:
    if "--json" in args:  # the error stream then holds JSON lines and nothing else
        return
    typer.echo(f"`statveil {word}` is now `statveil {NEW_WORDS[word or '']}`; the old word goes with the next version.", err=True)


class ByContent(TyperCommand):
    """A command that becomes one of `kinds` (kind of thing: name of a command) once its first argument is known."""

    verb: ClassVar[str]
    kinds: ClassVar[dict[str, str]]

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        commands = parent.command.commands
        thing = first_argument(args, lambda: frozenset(_options_with_values(commands[name] for name in self.kinds.values())))
        if thing is None:
            return super().make_context(info_name, args, parent, **extra)
        with polite(as_json="--json" in args, debug=False):
            name = self._command_for(Path(thing))
        return commands[name].make_context(info_name, args, parent)

    def _command_for(self, thing: Path) -> str:
        from statveil.core.errors import InputError
        from statveil.jobs.kinds import kind_of

        kind = kind_of(thing)
        if kind not in self.kinds:
            raise InputError(f"{thing} is a {kind}: nothing to {self.verb}.", hint=f"See: statveil {self.verb} --help")
        return self.kinds[kind]


class Protect(ByContent):
    verb = "protect"
    kinds: ClassVar = {"table job": "protect-table", "record job": "protect-records", "system": "protect-system", "batch": "protect-batch"}


class Check(ByContent):
    verb = "check"
    kinds: ClassVar = {"release": "check-release", "file release": "check-release", "system": "check-system", "server": "check-server"}
    kinds |= {"pattern": "check-pattern"}


def first_argument(args: Sequence[str], valued: Callable[[], frozenset[str]]) -> str | None:
    """The first word that is neither an option nor the value of one; which options have values is asked only if one comes first."""
    if args and not args[0].startswith("-"):
        return args[0]
    words, with_values = iter(args), valued()
    for word in words:
        if not word.startswith("-"):
            return word
        if word in with_values:
            next(words, None)
    return None


def _options_with_values(commands: Iterable[Any]) -> Iterator[str]:
    for command in commands:
        for option in command.params:
            if option.param_type_name == "option" and not option.is_flag:
                yield from option.opts
