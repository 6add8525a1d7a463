"""`statveil new`: a job to start from, written after a look at the data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, cast

import typer

from statveil.cli.options import DebugOption
from statveil.cli.polite import polite


def new(
    data: Annotated[
        Path | None,
        typer.Argument(metavar="[DATA]", help="Records: CSV, Parquet, SPSS, Stata. Without, every key is shown.", show_default=False),
    ] = None,
    *,
    kind: Annotated[str, typer.Option("--kind", metavar="table|records|server", help="What to protect.")] = "table",
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE.toml", help="The file to write.")] = Path("job.toml"),
    debug: DebugOption = False,
) -> None:
    """Look at the data and write a job to start from."""
    with polite(as_json=False, debug=debug):
        if data is None:
            _template(kind, out)
            return
        from statveil.jobs.new_job import Kind, new_job

        columns = new_job(data, out, cast("Kind", kind))
        width = max(len(each.name) for each in columns)
        for each in columns:
            typer.echo(f"{each.name:<{width}}  {each.look:<10} {each.distinct:>9,} different  {each.missing:>9,} missing")
        typer.echo(f"\nWrote {out}. Look it over, then: statveil {'serve' if kind == 'server' else 'protect'} {out}")


def init(
    path: Annotated[Path, typer.Argument(metavar="[PATH]", help="The job file to write.", show_default=False)] = Path("job.toml"),
    debug: DebugOption = False,
) -> None:
    """Write a commented job file to start from."""
    with polite(as_json=False, debug=debug):
        _template("table", path)


def _template(kind: str, path: Path) -> None:
    from statveil.core.errors import InputError
    from statveil.jobs.new_job import write_template

    if kind not in ("table", "records"):
        raise InputError(f"A job of kind {kind!r} is written from data.", hint=f"statveil new DATA --kind {kind}")
    write_template(path, kind)
    typer.echo(f"Wrote {path}. Edit it, then: statveil protect {path}")
