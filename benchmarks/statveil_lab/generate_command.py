"""`statveil lab generate`: invented tables to try things on."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from statveil.cli.polite import polite
from statveil.core.errors import InputError

if TYPE_CHECKING:
    from statveil.formats.system import LinearSystem
    from statveil_lab.generators.one_hierarchy import Shape, Values, Where

generate = typer.Typer(help="Invent tables to try methods on.", no_args_is_help=True)


@generate.callback()
def about() -> None:
    """Invent tables to try methods on."""


@generate.command("1h2d")
def one_hierarchy(
    *,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="F.jj|F.npz", help="File to write; its ending tells the form.")],
    shape: Annotated[
        str | None, typer.Option("--shape", metavar="table36", help="A shape of S3's Table 1: 11-18, 21-28, 31-38.", show_default=False)
    ] = None,
    rows: Annotated[int | None, typer.Option(metavar="N", help="Rows, the root and inner ones among them.", show_default=False)] = None,
    columns: Annotated[int | None, typer.Option(metavar="N", help="Columns, the total among them.", show_default=False)] = None,
    inner: Annotated[int | None, typer.Option(metavar="N", help="Rows that are the sum of others.", show_default=False)] = None,
    depth: Annotated[int | None, typer.Option(metavar="N", help="Levels of rows below the root.", show_default=False)] = None,
    sensitive: Annotated[int | None, typer.Option(metavar="N", help="Sensitive cells.", show_default=False)] = None,
    values: Annotated[str, typer.Option(metavar="uniform|lognormal", help="How leaf cells are drawn.")] = "uniform",
    spread: Annotated[float, typer.Option(metavar="X", help="Spread of lognormal values, in logarithms.")] = 1.5,
    where: Annotated[str, typer.Option(metavar="leaf|any", help="Sensitive are leaf cells only, or any.")] = "leaf",
    levels: Annotated[str, typer.Option(metavar="P%", help="Protection levels; lower and upper as 5%,10%.")] = "10%",
    upper: Annotated[str | None, typer.Option(metavar="P%", help="Upper bound of each cell; else none.", show_default=False)] = None,
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="Seed of the random numbers.")] = 0,
) -> None:
    """A two-dimensional table with one hierarchical variable."""
    with polite(as_json=False, debug=False):
        from statveil.core.atomic import check_targets, written_together
        from statveil.formats.system import write_system
        from statveil_lab.generators.one_hierarchy import Filling, one_hierarchy_system

        check_ending(out)
        lower_percent, upper_percent = _levels(levels)
        filling = Filling(
            values=cast("Values", values),
            where=cast("Where", where),
            spread=spread,
            lower_percent=lower_percent,
            upper_percent=upper_percent,
            bound_percent=None if upper is None else percent_of("--upper", upper),
        )
        given = {"rows": rows, "columns": columns, "inner": inner, "depth": depth, "sensitive": sensitive}
        wanted = shape_of(shape, given)
        check_targets([out], sources=())
        with written_together([out]) as places:
            write_system(one_hierarchy_system(wanted, seed=seed, filling=filling), places[0])
        typer.echo(f"Wrote {out}: {wanted.cells:,} cells, {wanted.sensitive:,} of them sensitive, {wanted.relations:,} relations.")


@generate.command("office")
def office(
    *,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="F.jj|F.npz", help="File to write; its ending tells the form.")],
    codes: Annotated[str, typer.Option(metavar="N,N[,N]", help="Codes of each of two or three hierarchies.")] = "117,225",
    inner: Annotated[str, typer.Option(metavar="N,N[,N]", help="Of them, codes that are sums of others.")] = "30,95",
    sensitive: Annotated[str, typer.Option(metavar="P%", help="Share of the cells that are sensitive.")] = "4%",
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="Seed of the random numbers.")] = 0,
) -> None:
    """A table as offices have them: crossed hierarchies, values over nine decades, costs equal to values."""
    with polite(as_json=False, debug=False):
        from statveil_lab.generators.office import OfficeShape, office_system

        check_ending(out)
        share = float(percent_of("--sensitive", sensitive))
        shape = OfficeShape(codes=_whole("--codes", codes), inner=_whole("--inner", inner), sensitive=share)
        _write(out, office_system(shape, seed=seed))


@generate.command("public")
def public(
    *,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="F.jj|F.npz", help="File to write; its ending tells the form.")],
    codes: Annotated[str, typer.Option(metavar="N,N[,N,N]", help="Codes of each dimension.")] = "9,9,9,9",
    inner: Annotated[str, typer.Option(metavar="N,N[,N,N]", help="Of them, codes that are sums of others.")] = "1,1,1,1",
    sensitive: Annotated[str, typer.Option(metavar="P%", help="Share of the cells that are sensitive.")] = "10%",
    empty: Annotated[str, typer.Option(metavar="P%", help="Share of the finest cells that are empty.")] = "30%",
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="Seed of the random numbers.")] = 0,
) -> None:
    """A table like CSPLIB's: three or four dimensions, small values, equal costs."""
    with polite(as_json=False, debug=False):
        from statveil_lab.generators.public import PublicShape, public_system

        check_ending(out)
        shape = PublicShape(
            codes=_whole("--codes", codes),
            inner=_whole("--inner", inner),
            sensitive=float(percent_of("--sensitive", sensitive)),
            empty=float(percent_of("--empty", empty)),
        )
        _write(out, public_system(shape, seed=seed))


def _write(out: Path, system: LinearSystem) -> None:
    from statveil.core.atomic import check_targets, written_together
    from statveil.formats.system import write_system

    check_targets([out], sources=())
    with written_together([out]) as places:
        write_system(system, places[0])
    count = int((system.status == "u").sum())
    typer.echo(f"Wrote {out}: {system.value.size:,} cells, {count:,} of them sensitive, {system.rhs.size:,} relations.")


def _whole(option: str, words: str) -> tuple[int, ...]:
    try:
        return tuple(int(word) for word in words.split(","))
    except ValueError:
        raise InputError(f"{option} {words!r} is no list of whole numbers.", hint="For example: 117,225.") from None


def check_ending(out: Path) -> None:
    if out.suffix.lower() not in (".jj", ".npz"):
        raise InputError(f"{out} ends in neither .jj nor .npz.", hint="The ending tells the form to write.")


def shape_of(name: str | None, given: dict[str, int | None]) -> Shape:
    """A shape by its name, or by its five numbers; not both."""
    from statveil_lab.generators.one_hierarchy import Shape

    numbers = {key: number for key, number in given.items() if number is not None}
    if name is not None:
        if numbers:
            raise InputError(f"--shape says what --{next(iter(numbers))} is.", hint="Give a shape by name, or by its numbers.")
        return named_shape(name)
    lacking = [f"--{key}" for key in given if key not in numbers]
    if lacking:
        raise InputError(f"Without --shape, {', '.join(lacking)} must be given.")
    return Shape(**numbers)


def named_shape(name: str) -> Shape:
    from statveil_lab.generators.one_hierarchy import SHAPES

    return SHAPES[shape_name(name)]


def shape_name(word: str) -> str:
    """`table36`, `table 36` or `36` as the name of a shape."""
    from statveil_lab.generators.one_hierarchy import SHAPES

    plain = "table" + word.lower().replace(" ", "").removeprefix("table")
    if plain not in SHAPES:
        raise InputError(f"Unknown shape {word!r}.", hint=f"Known: {', '.join(SHAPES)}.")
    return plain


def _levels(words: str) -> tuple[Fraction, Fraction]:
    parts = [percent_of("--levels", word) for word in words.split(",")]
    if len(parts) > 2:
        raise InputError("--levels takes one percentage, or a lower and an upper one.")
    return parts[0], parts[-1]


def percent_of(option: str, word: str) -> Fraction:
    try:
        return Fraction(word.strip().removesuffix("%").strip())
    except (ValueError, ZeroDivisionError):
        raise InputError(f"{option} {word!r} is no percentage.", hint="For example: 10%.") from None
