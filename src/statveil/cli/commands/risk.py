"""`statveil risk`: how risky a file of records is as it stands. Nothing is changed or written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from statveil.cli.options import DebugOption, DecimalOption, DelimiterOption, EncodingOption
from statveil.cli.polite import polite

if TYPE_CHECKING:
    from statveil.data.microdata import Microdata


def risk(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Records: CSV, Parquet, SPSS or Stata.")],
    *,
    keys: Annotated[str, typer.Option("--keys", metavar="A,B,C", help="Columns that an intruder may know.")],
    threshold: Annotated[int, typer.Option("--threshold", "-k", metavar="K", help="Fewer records than this are rare.")] = 3,
    order: Annotated[str, typer.Option("--order", metavar="N|full", help="Combinations of up to so many columns.")] = "3",
    weight: Annotated[str | None, typer.Option("--weight", metavar="COLUMN", help="Sampling weights.", show_default=False)] = None,
    missing: Annotated[str, typer.Option("--missing", metavar="unknown|category", help="What a missing value is.")] = "unknown",
    delimiter: DelimiterOption = None,
    encoding: EncodingOption = None,
    decimal: DecimalOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object on stdout.")] = False,
    debug: DebugOption = False,
) -> None:
    """Count rare combinations in a file of records."""
    with polite(as_json=as_json, debug=debug):
        from statveil.data.readers import read_microdata

        mark: Any = decimal
        data = read_microdata(file, delimiter=delimiter, encoding=encoding, decimal=mark)
        found = _measure(data, keys, threshold, order, weight, missing)
        if as_json:
            typer.echo(json.dumps(found, ensure_ascii=False))
        else:
            _show(found)


def _measure(data: Microdata, keys: str, threshold: int, order: str, weight: str | None, missing: str) -> dict[str, Any]:
    from statveil.records.keys import KeyVariables
    from statveil.records.risk import classes_before, find_unsafe, risk

    names = [name.strip() for name in keys.split(",") if name.strip()]
    wanted: Any = int(order) if order.isdigit() else order
    chosen: Any = missing
    settings = KeyVariables(fields=dict.fromkeys(names), threshold=threshold, order=wanted, weight=weight, missing=chosen)
    unsafe = find_unsafe(data, settings)
    measured = risk(classes_before(unsafe.problem.coded))
    return {
        "records": unsafe.problem.coded.records,
        "unsafe_records": unsafe.records,
        "by_size": {str(size): {"cells": cells, "records": records} for size, (cells, records) in unsafe.by_size().items()},
        "field_scores": unsafe.field_scores(),
        **measured._asdict(),
    }


def _show(found: dict[str, Any]) -> None:
    share = found["unsafe_records"] / found["records"]
    typer.echo(f"{found['unsafe_records']:,} of {found['records']:,} records ({share:.1%}) show a rare combination.\n")
    for size, each in found["by_size"].items():
        typer.echo(f"{size} field{'s' if size != '1' else ' '}: {each['cells']:>9,} unsafe combinations in {each['records']:>9,} records")
    typer.echo(f"\nSmallest class of the full key: {found['smallest_class']:,}; records unique on it: {found['uniques']:,}")
    if found["global_risk"] is not None:
        typer.echo(f"Expected re-identifications: {found['global_risk']:.3%} of the records; largest risk {found['largest_risk']:.1%}; "
                   f"sample uniques unique in the population: about {found['population_uniques']:,.1f}")  # fmt: skip
    typer.echo("\nPart of each field in the risk:")
    for name, score in sorted(found["field_scores"].items(), key=lambda each: -each[1]):
        typer.echo(f"  {score:>6.1%}  {name}")
