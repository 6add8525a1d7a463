"""`statveil risk`: how risky a file of records is as it stands, record by record if asked, and what each threshold would cost."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from statveil.cli.options import DebugOption, DecimalOption, DelimiterOption, EncodingOption
from statveil.cli.polite import polite

if TYPE_CHECKING:
    from statveil.data.microdata import Microdata
    from statveil.records.keys import KeyVariables
    from statveil.records.risk_curve import RiskUtilityPoint


def risk(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Records (CSV, Parquet, SPSS or Stata), or the job of a file.")],
    *,
    keys: Annotated[str, typer.Option("--keys", metavar="A,B,C", help="Columns that an intruder may know.", show_default=False)] = "",
    threshold: Annotated[int, typer.Option("--threshold", "-k", metavar="K", help="Fewer records than this are rare.")] = 3,
    order: Annotated[str, typer.Option("--order", metavar="N|full", help="Combinations of up to so many columns.")] = "3",
    weight: Annotated[str | None, typer.Option("--weight", metavar="COLUMN", help="Sampling weights.", show_default=False)] = None,
    household: Annotated[str | None, typer.Option("--household", metavar="COLUMN", help="Households.", show_default=False)] = None,
    missing: Annotated[str, typer.Option("--missing", metavar="unknown|category", help="What a missing value is.")] = "unknown",
    sensitive: Annotated[
        str, typer.Option("--sensitive", metavar="A,B", help="Columns whose l-diversity and t-closeness are told.", show_default=False)
    ] = "",
    records: Annotated[
        Path | None, typer.Option("--records", metavar="OUT.csv", help="Write the risk of every record.", show_default=False)
    ] = None,
    identifier: Annotated[
        str, typer.Option("--id", metavar="A,B", help="Columns that tell the records of OUT.csv.", show_default=False)
    ] = "",
    curve: Annotated[
        str, typer.Option("--curve", metavar="2,3,5", help="Plan for each of these thresholds: risk left, loss.", show_default=False)
    ] = "",
    chart: Annotated[
        Path | None, typer.Option("--chart", metavar="OUT.html", help="Write the curve as a page.", show_default=False)
    ] = None,
    seconds: Annotated[float, typer.Option("--seconds", metavar="S", help="Time for the whole curve.")] = 60.0,
    delimiter: DelimiterOption = None,
    encoding: EncodingOption = None,
    decimal: DecimalOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object on stdout.")] = False,
    debug: DebugOption = False,
) -> None:
    """Count rare combinations in a file of records, and estimate who could be recognised. Nothing is released."""
    with polite(as_json=as_json, debug=debug):
        from statveil.cli.display import warned_aloud

        with warned_aloud():
            if file.suffix.lower() == ".toml":
                data, settings = _of_job(file)
            else:
                data = _read(file, delimiter, encoding, decimal)
                settings = _settings(keys, threshold, order, weight, missing, household)
            found = _measure(data, settings, _listed(sensitive))
            if records is not None:
                found["records_file"] = _write_records(data, settings, _listed(identifier), records)
            points = _curve(data, settings, curve, seconds, chart)
        if as_json:
            typer.echo(json.dumps({**found, **({"curve": [point._asdict() for point in points]} if points else {})}, ensure_ascii=False))
        else:
            _show(found)
            _show_curve(points)


def _listed(names: str) -> list[str]:
    return [name.strip() for name in names.split(",") if name.strip()]


def _read(file: Path, delimiter: str | None, encoding: str | None, decimal: Any) -> Microdata:
    from statveil.data.readers import read_microdata

    return read_microdata(file, delimiter=delimiter, encoding=encoding, decimal=decimal)


def _of_job(file: Path) -> tuple[Microdata, KeyVariables]:
    from statveil.jobs.record_job import read_file_job

    job = read_file_job(file)
    return job.microdata, job.keys()


def _settings(keys: str, threshold: int, order: str, weight: str | None, missing: str, household: str | None) -> KeyVariables:
    from statveil.core.errors import InputError
    from statveil.records.keys import KeyVariables
    from statveil.records.models import HouseholdRisk

    if not _listed(keys):
        raise InputError("The key fields are missing.", hint="Name the columns that an intruder may know: --keys age,region,sex.")
    wanted: Any = int(order) if order.isdigit() else order
    chosen: Any = missing
    models = [HouseholdRisk(1.0)] if household else []  # no limit: it is measured
    return KeyVariables(
        fields=dict.fromkeys(_listed(keys)), threshold=threshold, order=wanted, weight=weight, missing=chosen, household=household,
        models=models,
    )  # fmt: skip


def _measure(data: Microdata, settings: KeyVariables, sensitive: list[str]) -> dict[str, Any]:
    from statveil.records.risk import classes_before, diversity_before, find_unsafe, risk

    unsafe = find_unsafe(data, settings)
    measured = risk(classes_before(unsafe.problem.coded))
    columns = dict.fromkeys((*settings.sensitive, *sensitive))
    return {
        "records": unsafe.problem.coded.records,
        "unsafe_records": unsafe.records,
        "by_size": {str(size): {"cells": cells, "records": records} for size, (cells, records) in unsafe.by_size().items()},
        "field_scores": unsafe.field_scores(),
        **measured._asdict(),
        "diversity": [diversity_before(data, settings, name)._asdict() for name in columns],
    }


def _write_records(data: Microdata, settings: KeyVariables, columns: list[str], path: Path) -> str:
    """Confidential, so for its owner's eyes only."""
    import pyarrow.csv

    from statveil.core.atomic import check_targets, written_together
    from statveil.records.risk import find_unsafe

    check_targets([path], sources=[Path(data.origin)])
    table = find_unsafe(data, settings).by_record(data, *columns)
    with written_together([path]) as [place]:
        place.touch(mode=0o600)
        pyarrow.csv.write_csv(table, place)
    return str(path)


def _curve(data: Microdata, settings: KeyVariables, thresholds: str, seconds: float, chart: Path | None) -> list[RiskUtilityPoint]:
    from statveil.core.errors import InputError
    from statveil.core.limits import Limits
    from statveil.publish.report.files.risk_curve import write_risk_curve
    from statveil.records.risk_curve import risk_utility

    if not thresholds and chart is not None:
        raise InputError("--chart draws a curve, and there is none.", hint="Name thresholds: --curve 2,3,5,10.")
    if not thresholds:
        return []
    if not all(each.isdigit() for each in _listed(thresholds)):
        raise InputError("--curve takes thresholds, whole numbers with commas between them.", hint="--curve 2,3,5,10.")
    points = risk_utility(data, settings, thresholds=[int(each) for each in _listed(thresholds)], limits=Limits(seconds=seconds))
    if chart is not None:
        write_risk_curve(points, Path(data.origin).name, settings.names, chart)
    return points


def _show(found: dict[str, Any]) -> None:
    share = found["unsafe_records"] / found["records"]
    typer.echo(f"{found['unsafe_records']:,} of {found['records']:,} records ({share:.1%}) show an unsafe combination.\n")
    for size, each in found["by_size"].items():
        typer.echo(f"{size} field{'s' if size != '1' else ' '}: {each['cells']:>9,} unsafe combinations in {each['records']:>9,} records")
    typer.echo(f"\nSmallest class of the full key: {found['smallest_class']:,}; records unique on it: {found['uniques']:,}")
    if found["global_risk"] is not None:
        typer.echo(f"Expected re-identifications: {found['global_risk']:.3%} of the records; largest risk {found['largest_risk']:.1%}; "
                   f"sample uniques unique in the population: about {found['population_uniques']:,.1f}")  # fmt: skip
    for each in found["diversity"]:
        order = "in order" if each["ordered"] else "without order"
        typer.echo(f"{each['column']}: at least {each['least_values']} different values in a class ({each['least_effective']:.2f} by "
                   f"entropy); farthest from the file {each['largest_distance']:.3f} (values {order})")  # fmt: skip
    typer.echo("\nPart of each field in the risk:")
    for name, score in sorted(found["field_scores"].items(), key=lambda each: -each[1]):
        typer.echo(f"  {score:>6.1%}  {name}")
    if "records_file" in found:
        typer.echo(f"\nRisk of every record (confidential): {found['records_file']}")


def _show_curve(points: list[RiskUtilityPoint]) -> None:
    from statveil.publish.report.files.risk_curve import COLUMNS, curve_rows

    if points:
        typer.echo("")
        for row in (COLUMNS, *curve_rows(points)):
            typer.echo("  ".join(f"{cell:>{max(len(name), 9)}}" for cell, name in zip(row, COLUMNS, strict=True)))
