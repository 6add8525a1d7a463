"""The commands: `protect` and `check` tell by its content what they are given; the rest names its options and calls the library."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from statveil.cli.by_content import Check, Protect
from statveil.cli.commands.adjust import adjust
from statveil.cli.commands.anonymise import anonymise
from statveil.cli.commands.argus import argus
from statveil.cli.commands.attack import attack
from statveil.cli.commands.check import audit, check, check_release, check_system
from statveil.cli.commands.check_bound import check_bound
from statveil.cli.commands.convert import convert
from statveil.cli.commands.new import init, new
from statveil.cli.commands.protect import protect, protect_table
from statveil.cli.commands.risk import risk
from statveil.cli.commands.serve import keys, log, serving
from statveil.cli.commands.tradeoff import tradeoff
from statveil.cli.old_words import OldCommand, OldGroup
from statveil.cli.options import AsJsonOption, DebugOption, ForceOption, OutOption, SecondsOption
from statveil.cli.polite import polite
from statveil_lab.bench_command import bench
from statveil_lab.generate_command import generate

app = typer.Typer(
    name="statveil",
    help="Protect statistical tables and files before they are published, with proof.",
    no_args_is_help=True,
    add_completion=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
lab = typer.Typer(help="Compare methods, invent tables, see what keeping costs.", no_args_is_help=True)


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


app.command()(new)
app.command(cls=Protect)(protect)
app.command(cls=Check)(check)
app.command()(risk)
app.command()(convert)
app.add_typer(serving, name="serve")
app.add_typer(lab, name="lab")


@app.command()
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
        from statveil.cli.display import narrator, show_release
        from statveil.jobs.demo.demo import run_demo

        with narrator(as_json=as_json) as tell:
            outcome = run_demo(out or Path("demo"), records=records, seconds=seconds, force=force, on_progress=tell)
        show_release(outcome, as_json=as_json)


@app.command()
def explain(
    error: Annotated[str | None, typer.Argument(metavar="[ERROR]", help="An error's name or an exit code.", show_default=False)] = None,
) -> None:
    """Say what an error or an exit code means and what to do about it."""
    with polite(as_json=False, debug=False):
        from statveil.cli.meanings import explanation

        typer.echo(explanation(error))


lab.add_typer(bench, name="bench")
lab.add_typer(generate, name="generate")
lab.command()(tradeoff)

# What `protect` and `check` become, once they know what they were given.
app.command("protect-table", hidden=True)(protect_table)
app.command("check-release", hidden=True)(check_release)
app.command("check-system", hidden=True)(check_system)
# The words of earlier versions.
app.command(hidden=True, cls=OldCommand)(adjust)
app.command(hidden=True, cls=OldCommand)(anonymise)
app.command(hidden=True, cls=OldCommand)(argus)
app.command(hidden=True, cls=OldCommand)(attack)
app.command(hidden=True, cls=OldCommand)(audit)
app.command("check-bound", hidden=True, cls=OldCommand)(check_bound)
app.command(hidden=True, cls=OldCommand)(init)
app.command(hidden=True, cls=OldCommand)(tradeoff)
app.add_typer(bench, name="bench", hidden=True, cls=OldGroup)
app.add_typer(generate, name="generate", hidden=True, cls=OldGroup)
app.add_typer(keys, name="serve-keys", hidden=True, cls=OldGroup)
app.add_typer(log, name="audit-log", hidden=True, cls=OldGroup)
