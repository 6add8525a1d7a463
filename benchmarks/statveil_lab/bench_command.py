"""`statveil lab bench`: comparisons that users can repeat."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, cast

import typer

from statveil.cli import INTERRUPTED
from statveil.cli.commands.tradeoff import tradeoff
from statveil.cli.polite import polite
from statveil.cli.signals import told_to_stop
from statveil.core.errors import InputError
from statveil_lab.generate_command import generate, shape_name

bench = typer.Typer(help="Compare methods on the same tables, machine and time.", no_args_is_help=True)

Seconds = Annotated[float, typer.Option("--seconds", metavar="S", help="Time for each method and table.")]
Seeds = Annotated[int, typer.Option("--seeds", metavar="N", help="Runs with seeds 0 to N-1; results are medians.")]
OutDir = Annotated[
    Path | None,
    typer.Option("--out", "-o", metavar="DIR", help="Folder for runs, results and charts; a stopped run is resumed.", show_default=False),
]


@bench.callback()
def about() -> None:
    """Compare methods on the same tables, machine and time."""


@bench.command()
def csplib(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A folder of .jj files.")],
    *,
    seconds: Seconds = 60.0,
    weights: Annotated[list[str], typer.Option("--weights", metavar="unit|inverse", help="May be repeated.")] = ["unit", "inverse"],  # noqa: B006
    method: Annotated[str, typer.Option("--method", metavar="M", help="The method beside plain HiGHS.")] = "auto",
    all_methods: Annotated[bool, typer.Option("--all-methods", help="Every method, not only that one.")] = False,
    seeds: Seeds = 1,
    out: OutDir = None,
) -> None:
    """Tables in JJ files beside plain HiGHS, as lines of a Markdown table."""
    with polite(as_json=False, debug=False):
        from statveil.protect.system import SystemWeights
        from statveil_lab.csplib import compare_folder

        lines = compare_folder(
            folder,
            seconds=seconds,
            weights=cast("list[SystemWeights]", weights),
            method=method,
            all_methods=all_methods,
            seeds=seeds,
            out=out,
            tell=_tell,
            stopped=told_to_stop,
        )
        for line in lines:
            typer.echo(line)
    _end()


@bench.command()
def papers(
    *,
    figure: Annotated[
        list[str] | None, typer.Option("--figure", metavar="1|2|3|4|s1", help="Only these; may be repeated.", show_default=False)
    ] = None,
    sizes: Annotated[
        str | None, typer.Option("--sizes", metavar="N,N", help="Sizes of the tables instead of the usual ones.", show_default=False)
    ] = None,
    methods: Annotated[
        str | None, typer.Option("--methods", metavar="M,M", help="These methods only; `highs` is plain HiGHS.", show_default=False)
    ] = None,
    seconds: Seconds = 10.0,
    seeds: Seeds = 3,
    out: OutDir = None,
) -> None:
    """Every method at equal time on random tables as in the papers, as Markdown tables and charts."""
    with polite(as_json=False, debug=False):
        from statveil_lab.papers import compare_papers

        text = compare_papers(
            figures=figure,
            sizes=None if sizes is None else _whole_numbers(sizes),
            methods=None if methods is None else [word.strip() for word in methods.split(",")],
            seconds=seconds,
            seeds=seeds,
            out=out,
            tell=_tell,
            stopped=told_to_stop,
        )
        typer.echo(text)
    _end()


@bench.command("1h2d")
def one_hierarchy(
    *,
    shapes: Annotated[
        str | None, typer.Option("--shapes", metavar="table26,...", help="Of S3's Table 1; else all 24.", show_default=False)
    ] = None,
    values: Annotated[str | None, typer.Option("--values", metavar="uniform,lognormal", help="Else both.", show_default=False)] = None,
    where: Annotated[str | None, typer.Option("--where", metavar="leaf,any", help="Else both.", show_default=False)] = None,
    weights: Annotated[str | None, typer.Option("--weights", metavar="unit,inverse", help="Else both.", show_default=False)] = None,
    methods: Annotated[
        str | None, typer.Option("--methods", metavar="M,M", help="Else auto, and bcd, tree-bcd, highs where they can.", show_default=False)
    ] = None,
    seconds: Seconds = 60.0,
    seeds: Seeds = 1,
    growth: Annotated[bool, typer.Option("--growth", help="Instead: seconds and memory of auto against size.")] = False,
    gap: Annotated[
        float | None, typer.Option("--gap", metavar="G", help="With --growth: the certified gap to reach; else 0.01.", show_default=False)
    ] = None,
    largest: Annotated[bool, typer.Option("--largest", help="With --growth: 5 million cells as well.")] = False,
    out: OutDir = None,
) -> None:
    """Two-dimensional tables with one hierarchy: objective and bound over time, as Markdown lines, JSON and charts."""
    with polite(as_json=False, debug=False):
        from statveil_lab.generators.one_hierarchy import SHAPES
        from statveil_lab.one_hierarchy import GAP, Plan, chosen, compare_shapes, measure_growth

        chosen_words = {"shapes": shapes, "values": values, "where": where, "weights": weights, "methods": methods}
        if growth:
            _refuse_beside("--growth", chosen_words, "measures tables of its own with method auto")
            lines = measure_growth(
                gap=GAP if gap is None else gap, seconds=seconds, seeds=seeds, largest=largest, out=out, tell=_tell, stopped=told_to_stop
            )
        else:
            _refuse_beside("the comparison", {"gap": gap, "largest": largest or None}, "has no such option: it belongs to --growth")
            plan = Plan(
                shapes=[shape_name(word) for word in chosen("shapes", shapes, tuple(SHAPES))],
                values=chosen("values", values, ("uniform", "lognormal")),
                where=chosen("where", where, ("leaf", "any")),
                weights=chosen("weights", weights, ("unit", "inverse")),
                methods=None if methods is None else chosen("methods", methods, ()),
                seconds=seconds,
                seeds=seeds,
            )
            lines = compare_shapes(plan, out=out, tell=_tell, stopped=told_to_stop)
        for line in lines:
            typer.echo(line)
    _end()


def _refuse_beside(what: str, given: Mapping[str, object], why: str) -> None:
    """Options that would be without effect are refused."""
    for name, value in given.items():
        if value is not None:
            raise InputError(f"--{name} does not go with {what}, which {why}.")


def _tell(words: str) -> None:
    typer.echo(words, err=True)


def _end() -> None:
    """What was finished is shown and kept all the same; the exit code tells that it is not all."""
    if told_to_stop():
        raise typer.Exit(INTERRUPTED)


def _whole_numbers(words: str) -> list[int]:
    try:
        return [int(word) for word in words.split(",")]
    except ValueError:
        raise InputError(f"--sizes {words!r} is not a list of whole numbers.", hint="For example: --sizes 4,10,25.") from None


lab = typer.Typer(help="Compare methods, invent tables, see what keeping costs.", no_args_is_help=True)
lab.add_typer(bench, name="bench")
lab.add_typer(generate, name="generate")
lab.command()(tradeoff)
