"""`statveil argus`: a batch file of tau-ARGUS, run with our engine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from statveil.cli.options import AsJsonOption, DebugOption, GapOption, MethodOption, SeedOption
from statveil.cli.polite import polite

if TYPE_CHECKING:
    from statveil.jobs.batch.run import BatchResult


def argus(
    batch: Annotated[Path, typer.Argument(metavar="JOB.arb", help="A batch file of tau-ARGUS.")],
    *,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="DIR", help="Folder to write to; else that of JOB.arb.", show_default=False)
    ] = None,
    data: Annotated[
        Path | None, typer.Option("--data", metavar="DIR", help="A further folder to look for files in.", show_default=False)
    ] = None,
    seconds: Annotated[float, typer.Option("--seconds", metavar="S", help="Time limit of each adjustment.")] = 60.0,
    gap: GapOption = 0.0,
    method: MethodOption = "auto",
    seed: SeedOption = 0,
    as_json: AsJsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Run a batch file of tau-ARGUS: its data, tables, rules, SUPPRESS CTA and outputs."""
    with polite(as_json=as_json, debug=debug):
        from statveil.cli.display import narrator
        from statveil.core.limits import Limits
        from statveil.jobs.batch.run import BatchSettings, run_batch
        from statveil.protect.options import Method

        settings = BatchSettings(limits=Limits(seconds=seconds, gap=gap), method=Method(name=method, seed=seed))
        with narrator(as_json=as_json) as tell:
            result = run_batch(batch, settings=settings, out=out, data=data, on_progress=tell)
        _show(result, as_json=as_json)


def _show(result: BatchResult, *, as_json: bool) -> None:
    if as_json:
        from statveil.jobs.tables.folder import figures

        content = {"files": [str(file) for file in result.files], "notes": result.notes}
        typer.echo(json.dumps({**content, "tables": [figures(release) for release in result.releases]}, ensure_ascii=False))
        return
    for note in result.notes:
        typer.echo(note)
    typer.echo("")
    for file in result.files:
        typer.echo(f"wrote  {file}")
