"""The commands: `protect` and `check` tell by its content what they are given; the rest names its options and calls the library."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer
from typer.core import TyperGroup

from statveil.cli.options import AsJsonOption, DebugOption, ForceOption, OutOption, SecondsOption
from statveil.cli.polite import polite


class Home(NamedTuple):
    """Where a command is, `module:name`, what it is made with, and whether help lists it."""

    place: str
    cls: str = ""
    hidden: bool = False

    def load(self, name: str) -> Any:
        holder, found = typer.Typer(rich_markup_mode=None), _found(self.place)
        options = {"hidden": self.hidden} | ({"cls": _found(self.cls)} if self.cls else {})
        if isinstance(found, typer.Typer):
            holder.add_typer(found, name=name, **options)
        else:
            holder.command(name, **options)(found)
        return typer.main.get_group(holder).commands[name]


def _found(place: str) -> Any:
    module, name = place.split(":")
    return getattr(import_module(module), name)


def _old(place: str, cls: str = "OldCommand") -> Home:
    return Home(place, f"statveil.cli.by_content:{cls}", hidden=True)


HOMES = {
    "new": Home("statveil.cli.commands.new:new"),
    "protect": Home("statveil.cli.commands.protect:protect", "statveil.cli.by_content:Protect"),
    "check": Home("statveil.cli.commands.check:check", "statveil.cli.by_content:Check"),
    "suppress": Home("statveil.cli.commands.suppress:suppress"),
    "risk": Home("statveil.cli.commands.risk:risk"),
    "compare": Home("statveil.cli.commands.compare:compare"),
    "desk": Home("statveil.cli.commands.desk:desk"),
    "convert": Home("statveil.cli.commands.convert:convert"),
    "demo": Home("statveil.cli.app:demo"),
    "explain": Home("statveil.cli.app:explain"),
    # What `protect` and `check` become, once they know what they were given.
    "protect-table": Home("statveil.cli.commands.protect:protect_table", hidden=True),
    "protect-records": Home("statveil.cli.commands.protect:anonymise", hidden=True),
    "protect-system": Home("statveil.cli.commands.adjust:adjust", hidden=True),
    "protect-batch": Home("statveil.cli.commands.protect:argus", hidden=True),
    "check-release": Home("statveil.cli.commands.check:check_release", hidden=True),
    "check-system": Home("statveil.cli.commands.check:check_system", hidden=True),
    "check-pattern": Home("statveil.cli.commands.check_pattern:check_pattern", hidden=True),
    "check-server": Home("statveil.cli.commands.check:attack", hidden=True),
    # The words of earlier versions.
    "adjust": _old("statveil.cli.commands.adjust:adjust"),
    "anonymise": _old("statveil.cli.commands.protect:anonymise"),
    "argus": _old("statveil.cli.commands.protect:argus"),
    "attack": _old("statveil.cli.commands.check:attack"),
    "audit": _old("statveil.cli.commands.check:audit"),
    "check-bound": _old("statveil.cli.commands.check:check_bound"),
    "init": _old("statveil.cli.commands.new:init"),
    "tradeoff": _old("statveil.cli.commands.tradeoff:tradeoff"),
    "serve": Home("statveil.cli.commands.serve:serving"),
    "lab": Home("statveil_lab.bench_command:lab"),
    "bench": _old("statveil_lab.bench_command:bench", "OldGroup"),
    "generate": _old("statveil_lab.generate_command:generate", "OldGroup"),
    "serve-keys": _old("statveil.cli.commands.serve:keys", "OldGroup"),
    "audit-log": _old("statveil.cli.commands.serve:log", "OldGroup"),
}
"""Every command. Its module is imported when it is called for, so that a run holds no other command's code."""


class LoadedWhenCalled(MutableMapping[str, Any]):
    """Commands by name; each is made the first time it is looked up."""

    def __init__(self, homes: Mapping[str, Home]) -> None:
        self._homes, self._made = homes, dict[str, Any]()

    def __getitem__(self, name: str) -> Any:
        if name not in self._made:
            self._made[name] = self._homes[name].load(name)
        return self._made[name]

    def __setitem__(self, name: str, command: Any) -> None:
        self._made[name] = command

    def __delitem__(self, name: str) -> None:
        del self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._homes)

    def __len__(self) -> int:
        return len(self._homes)

    def __contains__(self, name: object) -> bool:
        return name in self._homes


class Commands(TyperGroup):
    def __init__(self, **options: Any) -> None:
        super().__init__(**options | {"commands": {}})
        self.commands = LoadedWhenCalled(HOMES)


app = typer.Typer(
    name="statveil",
    help="Protect statistical tables and files before they are published, with proof.",
    cls=Commands,
    no_args_is_help=True,
    add_completion=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        from statveil.version import VERSION

        typer.echo(f"statveil {VERSION}")
        raise typer.Exit


@app.callback()
def statveil(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and stop.")] = False,
) -> None:
    """Protect statistical tables and files before they are published, with proof."""


def demo(
    *,
    out: OutOption = None,
    records: Annotated[int, typer.Option("--records", metavar="N", min=1, help="Enterprises to invent.")] = 40_000,
    seconds: SecondsOption = None,
    as_json: AsJsonOption = False,
    force: ForceOption = False,
    debug: DebugOption = False,
) -> None:
    """Invent enterprises, protect their turnover, and show where everything is."""
    with polite(as_json=as_json, debug=debug):
        from statveil.cli.display import narrator, show_release, warned_aloud
        from statveil.jobs.demo.demo import run_demo

        with narrator(as_json=as_json) as tell, warned_aloud():
            outcome = run_demo(out or Path("demo"), records=records, seconds=seconds, force=force, on_progress=tell)
        show_release(outcome, as_json=as_json)


def explain(
    error: Annotated[str | None, typer.Argument(metavar="[ERROR]", help="An error's name or an exit code.", show_default=False)] = None,
) -> None:
    """Say what an error or an exit code means and what to do about it."""
    with polite(as_json=False, debug=False):
        from statveil.cli.meanings import explanation

        typer.echo(explanation(error))
