"""`statveil check FILE.sbs|.tab|.jj`: whether the suppressed cells of a file stay hidden, whoever suppressed them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from statveil.cli.options import DebugOption
from statveil.cli.polite import polite

if TYPE_CHECKING:
    from statveil.jobs.tables.pattern_check import PatternQuestion

FAILED = 5


def check_pattern(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A table with its statuses: .sbs, .tab (with its .rda) or .jj.")],
    *,
    metadata: Annotated[
        Path | None, typer.Option("--metadata", metavar="FILE.rda", help="Metadata of a .tab file.", show_default=False)
    ] = None,
    level: Annotated[int, typer.Option("--level", metavar="PERCENT", min=0, help="Of sensitive cells for which the file has none.")] = 20,
    known_within: Annotated[
        int | None,
        typer.Option("--known-within", metavar="PERCENT", min=1, help="Readers know every value this closely.", show_default=False),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object on stdout.")] = False,
    debug: DebugOption = False,
) -> None:
    """Check whether suppressed cells stay hidden: exactly, by intervals, and from respondents who are alone in a cell."""
    with polite(as_json=as_json, debug=debug):
        from statveil.jobs.tables.pattern_check import PatternQuestion

        tell_pattern(file, PatternQuestion(metadata=metadata, level=level, known_within=known_within), as_json=as_json)


def tell_pattern(file: Path, question: PatternQuestion, *, as_json: bool) -> None:
    """Everything found, by labels; exit code 5 where a cell is not hidden."""
    from statveil.cli.display import audit_in_words
    from statveil.jobs.folders.tables import audit_figures
    from statveil.jobs.tables.pattern_check import check_pattern as check

    report, audit = check(file, question)
    if as_json:
        typer.echo(json.dumps({"audit": audit_figures(report), "suppressed": int(audit.cells.size)}, ensure_ascii=False))
    else:
        typer.echo(audit_in_words(report))
        for found in (f"  {finding}" for each in report.checks for finding in each.findings):
            typer.echo(found)
        typer.echo("The suppressed cells stay hidden." if report.passed else "The suppressed cells do NOT stay hidden.")
    if not report.passed:
        raise typer.Exit(FAILED)
