"""`statveil suppress FILE`: cells that are not published so that no sensitive one can be worked out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, cast

import typer

from statveil.cli.options import DebugOption, SeedOption
from statveil.cli.polite import polite

METHOD_HELP = "auto, optimal (until it is proved), hypercube, modular, network, or elimination (hides exact values only)."
PROMISES = {
    "intervals": "The audit passed: no sensitive cell can be worked out to within its protection level.",
    "exact values": "The audit passed: no sensitive cell can be worked out exactly. Nothing is promised of how closely it can be bounded.",
}


def suppress(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A table with its statuses: .tab (with its .rda), .sbs or .jj.")],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="What to write: the table with secondary cells marked.")],
    *,
    method: Annotated[
        str, typer.Option("--method", metavar="auto|optimal|hypercube|modular|network|elimination", help=METHOD_HELP)
    ] = "auto",
    cost: Annotated[str, typer.Option("--cost", metavar="unit|value|frequency|log", help="What suppressing a cell costs.")] = "unit",
    seconds: Annotated[float, typer.Option("--seconds", metavar="S", help="Time limit of the search.")] = 60.0,
    seed: SeedOption = 0,
    level: Annotated[int, typer.Option("--level", metavar="PERCENT", min=0, help="Of sensitive cells for which the file has none.")] = 20,
    known_within: Annotated[
        int | None,
        typer.Option("--known-within", metavar="PERCENT", min=1, help="Readers know every value this closely.", show_default=False),
    ] = None,
    metadata: Annotated[
        Path | None, typer.Option("--metadata", metavar="FILE.rda", help="Metadata of a .tab file.", show_default=False)
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object on stdout.")] = False,
    debug: DebugOption = False,
) -> None:
    """Suppress cells of a table so that no sensitive one can be worked out; audited before anything is written."""
    with polite(as_json=as_json, debug=debug):
        from statveil.core.limits import Limits
        from statveil.jobs.tables.pattern_check import PatternQuestion
        from statveil.jobs.tables.suppress_file import SuppressionWish, figures_of, suppress_file
        from statveil.suppress.cells.options import Cost, SuppressionOptions

        wish = SuppressionWish(
            method=method,
            options=SuppressionOptions(cost=cast("Cost", cost), seed=seed),
            limits=Limits(seconds=seconds),
            question=PatternQuestion(metadata=metadata, level=level, known_within=known_within),
        )
        found, paths = suppress_file(file, out, wish)
        typer.echo(json.dumps({**figures_of(found), "files": [str(each) for each in paths]}) if as_json else _in_words(figures_of(found)))


def _in_words(told: dict[str, object]) -> str:
    bound = f"no pattern costs less than {told['certified_bound']:g} (certified)" if told["certified_bound"] else "no bound is known"
    counts = f"{told['secondary']} cells are suppressed beside {told['primary']} sensitive ones, of {told['cells']}"
    own = "" if told["by_its_own_rules"] is None else f" The method's own rules chose {told['by_its_own_rules']}; the rest mends them."
    return f"{counts}: cost {told['cost']:g}, {bound}.{own}\n{PROMISES[str(told['promise'])]}"
