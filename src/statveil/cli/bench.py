"""`statveil bench`: comparisons that users can repeat."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, cast

import typer

from statveil.cli.polite import polite

bench = typer.Typer(help="Compare methods on the same tables, machine and time.", no_args_is_help=True)


@bench.callback()
def about() -> None:
    """Compare methods on the same tables, machine and time."""


@bench.command()
def csplib(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A folder of .jj files.")],
    *,
    seconds: Annotated[float, typer.Option("--seconds", metavar="S", help="Time for each method and table.")] = 60.0,
    weights: Annotated[list[str], typer.Option("--weights", metavar="unit|inverse", help="May be repeated.")] = ["unit", "inverse"],  # noqa: B006
    method: Annotated[str, typer.Option("--method", metavar="M", help="The method beside plain HiGHS.")] = "auto",
) -> None:
    """Tables in JJ files beside plain HiGHS, as lines of a Markdown table."""
    with polite(as_json=False, debug=False):
        from statveil.bench.csplib import compare_folder
        from statveil.protect.system import SystemWeights

        for line in compare_folder(folder, seconds=seconds, weights=cast("list[SystemWeights]", weights), method=method):
            typer.echo(line)
