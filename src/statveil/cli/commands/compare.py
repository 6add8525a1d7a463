"""`statveil compare`: the methods side by side on one table."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from statveil.cli.options import AsJsonOption, DebugOption, ForceOption, OutOption
from statveil.cli.polite import polite

if TYPE_CHECKING:
    from statveil.jobs.folders.compare import FolderComparison


def compare(
    file: Annotated[Path, typer.Argument(metavar="JOB.toml", help="The job of a table.")],
    *,
    out: OutOption = None,
    methods: Annotated[
        str, typer.Option("--methods", metavar="A,B", help="Those to compare; an unknown name lists them.", show_default=False)
    ] = "",
    base: Annotated[
        int | None, typer.Option("--base", metavar="N", min=1, help="Of rounding, in published units.", show_default=False)
    ] = None,
    seconds: Annotated[float | None, typer.Option("--seconds", metavar="S", help="For all methods together.", show_default=False)] = None,
    as_json: AsJsonOption = False,
    force: ForceOption = False,
    debug: DebugOption = False,
) -> None:
    """Protect one table by several methods and show what each loses and what a reader learns. Nothing is released."""
    with polite(as_json=as_json, debug=debug):
        from statveil.cli.display import narrator, warned_aloud
        from statveil.jobs.folders.compare import compare_to_folder
        from statveil.jobs.table_job import read_job

        names = [name.strip() for name in methods.split(",") if name.strip()]
        folder = out or file.with_name(f"{file.stem}-compare")
        with narrator(as_json=as_json) as tell, warned_aloud():
            outcome = compare_to_folder(read_job(file), folder, force=force, methods=names, base=base, seconds=seconds, on_progress=tell)
        _show(outcome, as_json=as_json)


def _show(outcome: FolderComparison, *, as_json: bool) -> None:
    from statveil.jobs.compare.page import figures_of

    found, paths = outcome.found, {words: str(path) for words, path in outcome.files.items()}
    if as_json:
        typer.echo(json.dumps({"folder": str(outcome.folder), "paths": paths, **figures_of(found)}, ensure_ascii=False, allow_nan=False))
        return
    typer.echo("method                        suppressed    moved     lost  too close   exact  narrow     cut       s  failed attacks")
    for row in found.rows:
        if row.loss is None or row.risk is None:
            typer.echo(f" {row.words:<27}  failed: {row.failed}")
            continue
        mark, loss, risk = "*" if row.name == found.recommended else " ", row.loss, row.risk
        learned = f"{risk.close:>9,}  {risk.exact:>6,}  {risk.narrow:>6,}  {f'{risk.cut}/{risk.looked}':>6}"
        figures = f"{loss.suppressed:>10,}  {loss.moved:>7,}  {loss.lost:>7.2%}  {learned}  {row.seconds:>6.1f}"
        typer.echo(f"{mark}{row.words:<27}  {figures}  {', '.join(row.failed_attacks)}")
    typer.echo(f"\n{found.reason}\n")
    for words, path in paths.items():
        typer.echo(f"{words:<8}  {path}")
