"""`statveil convert`: a file in another format that holds the same thing."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from statveil.cli.options import DebugOption
from statveil.cli.polite import polite

if TYPE_CHECKING:
    from statveil.publish.formats.sdmx import SdmxCsvVersion


def convert(
    source: Annotated[Path, typer.Argument(metavar="A", help="A file of records, a tree, an a-priori list, a table or a linear system.")],
    target: Annotated[Path, typer.Argument(metavar="B", help="The file to write; its ending says how.")],
    *,
    metadata: Annotated[
        Path | None, typer.Option("--metadata", metavar="FILE.rda", help="Metadata of A; else those beside it.", show_default=False)
    ] = None,
    dimensions: Annotated[str, typer.Option("--dimensions", metavar="A,B", help="Names for the codes of a .hst file.")] = "",
    total: Annotated[str | None, typer.Option("--total", metavar="CODE", help="Code of a tree's total.", show_default=False)] = None,
    recompute: Annotated[bool, typer.Option("--recompute", help="Add a table's totals up anew.")] = False,
    sdmx_csv: Annotated[str, typer.Option("--sdmx-csv", metavar="1.0|2.0", help="Version of SDMX-CSV to write.")] = "2.0",
    drop: Annotated[bool, typer.Option("--drop", help="Leave out what B cannot hold.")] = False,
    debug: DebugOption = False,
) -> None:
    """Write a file anew in another format that holds the same thing."""
    with polite(as_json=False, debug=debug):
        from statveil.jobs.convert import Conversion
        from statveil.jobs.convert import convert as write

        names = tuple(name.strip() for name in dimensions.split(",") if name.strip())
        how = Conversion(
            metadata=metadata, dimensions=names, total=total, recompute=recompute, drop=drop, sdmx_csv=cast("SdmxCsvVersion", sdmx_csv)
        )
        for file in write(source, target, how):
            typer.echo(f"wrote  {file}")
