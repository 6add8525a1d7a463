"""The commands: each names its options, and calls the library for the rest."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from statveil.cli.commands.adjust import adjust
from statveil.cli.commands.anonymise import anonymise
from statveil.cli.commands.argus import argus
from statveil.cli.commands.attack import attack
from statveil.cli.commands.audit_log import audit_log
from statveil.cli.commands.bench import bench
from statveil.cli.commands.check_bound import check_bound
from statveil.cli.commands.convert import convert
from statveil.cli.commands.generate import generate
from statveil.cli.commands.risk import risk
from statveil.cli.commands.serve import keys, serve
from statveil.cli.commands.tradeoff import tradeoff
from statveil.cli.options import AsJsonOption, DebugOption, ForceOption, OutOption, SecondsOption
from statveil.cli.polite import polite

app = typer.Typer(
    name="statveil",
    help="Protect statistical tables before they are published, with proof.",
    no_args_is_help=True,
    add_completion=False,
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
    """Protect statistical tables before they are published, with proof."""


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
def protect(
    job: Annotated[Path, typer.Argument(metavar="JOB.toml", help="The job file; `statveil init` writes one.")],
    *,
    out: OutOption = None,
    internal: Annotated[bool, typer.Option("--internal", help="Write the confidential files and report as well.")] = False,
    seconds: SecondsOption = None,
    as_json: AsJsonOption = False,
    force: ForceOption = False,
    debug: DebugOption = False,
) -> None:
    """Protect the table of a job file and write what may be published."""
    with polite(as_json=as_json, debug=debug):
        from statveil.cli.display import narrator, show_release
        from statveil.jobs.table_job import read_job
        from statveil.jobs.tables.folder import protect_to_folder

        chosen = read_job(job).within(seconds)
        folder = out or job.with_name(f"{job.stem}-release")
        with narrator(as_json=as_json) as tell:
            outcome = protect_to_folder(chosen, folder, internal=internal, force=force, on_progress=tell)
        show_release(outcome, as_json=as_json)


app.command()(adjust)
app.command()(anonymise)
app.command()(risk)
app.command("check-bound")(check_bound)
app.command()(tradeoff)
app.command()(argus)
app.command()(attack)
app.command()(convert)
app.command()(serve)
app.add_typer(keys, name="serve-keys")
app.add_typer(audit_log, name="audit-log")
app.add_typer(bench, name="bench")
app.add_typer(generate, name="generate")


@app.command()
def audit(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A folder that `statveil protect` or `statveil demo` wrote.")],
    as_json: AsJsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Check the public numbers of a release folder again, from the records up."""
    with polite(as_json=as_json, debug=debug):
        from statveil.cli.display import show_audit
        from statveil.jobs.recheck import audit_folder

        report = audit_folder(folder)
        show_audit(report, as_json=as_json)
        if not report.passed:
            raise typer.Exit(5)


@app.command()
def init(
    path: Annotated[Path, typer.Argument(metavar="[PATH]", help="The job file to write.", show_default=False)] = Path("job.toml"),
    debug: DebugOption = False,
) -> None:
    """Write a commented job file to start from."""
    with polite(as_json=False, debug=debug):
        from statveil.jobs.template import write_template

        write_template(path)
        typer.echo(f"Wrote {path}. Edit it, then: statveil protect {path}")


@app.command()
def explain(
    error: Annotated[str | None, typer.Argument(metavar="[ERROR]", help="An error's name or an exit code.", show_default=False)] = None,
) -> None:
    """Say what an error or an exit code means and what to do about it."""
    with polite(as_json=False, debug=False):
        from statveil.cli.meanings import explanation

        typer.echo(explanation(error))
