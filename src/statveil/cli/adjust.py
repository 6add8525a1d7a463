"""`statveil adjust`: a linear system from a file to a solution file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from statveil.cli.polite import polite
from statveil.errors import InputError

if TYPE_CHECKING:
    from statveil.protect.options import Norm, Variant
    from statveil.protect.quality.keep import Keep
    from statveil.protect.repair import Giving, Repair
    from statveil.protect.system import SystemWeights

LEXMIN = "lexmin"

WeightsOption = Annotated[str, typer.Option("--weights", metavar="file|unit|value|inverse", help="What it costs to move a cell by one.")]
VariantOption = Annotated[
    str, typer.Option("--variant", metavar="at-least|exact", help="Sensitive cells move by at least, or exactly, their level.")
]
NonAdditiveOption = Annotated[bool, typer.Option("--non-additive", help="Accept a file whose relations do not hold.")]
NegativeLevelsOption = Annotated[bool, typer.Option("--negative-levels", help="Take levels below zero as zero.")]
DebugOption = Annotated[bool, typer.Option("--debug", help="Show the traceback of an internal error. It may hold confidential values.")]


def adjust(
    file: Annotated[Path, typer.Argument(metavar="FILE.jj", help="A linear system as tau-ARGUS, sdcTable and RCTA write it.")],
    *,
    method: Annotated[str, typer.Option("--method", metavar="M", help="How to search; an unknown name lists the known ones.")] = "auto",
    norm: Annotated[
        str,
        typer.Option("--norm", metavar="l1|l2|lexmin", help="Sum of absolute or squared changes; lexmin: least repair with fixed senses."),
    ] = "l1",
    weights: WeightsOption = "file",
    variant: VariantOption = "at-least",
    seconds: Annotated[float, typer.Option("--seconds", metavar="S", help="Time limit of the optimisation.")] = 60.0,
    gap: Annotated[float, typer.Option("--gap", metavar="G", help="Stop once the certified gap is this small (0.01 is 1%).")] = 0.0,
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="Seed of the random numbers.")] = 0,
    start: Annotated[
        Path | None, typer.Option("--start", metavar="FILE.dir", help="Directions to begin with: `cell 0|1` a line.", show_default=False)
    ] = None,
    setting: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="A setting of the method; may be repeated.", show_default=False)
    ] = None,
    non_additive: NonAdditiveOption = False,
    negative_levels: NegativeLevelsOption = False,
    repair: Annotated[bool, typer.Option("--repair", help="Where no safe table exists, loosen what was asked, and list it.")] = False,
    repair_order: Annotated[
        str, typer.Option("--repair-order", metavar="A,B,...", help="What gives first: cap, inner, margins, relations, protection.")
    ] = "cap,inner,margins,relations",
    weaken_protection: Annotated[
        bool, typer.Option("--weaken-protection", help="Let protection give, where the repair order names it. Dangerous.")
    ] = False,
    may_give: Annotated[
        Path | None, typer.Option("--may-give", metavar="FILE", help="RCTA's repair file: only these may give.", show_default=False)
    ] = None,
    keep: Annotated[
        list[str] | None,
        typer.Option("--keep", metavar="WHAT=CELLS", help="Keep a statistic: mean, variance, correlation, slope.", show_default=False),
    ] = None,
    repairs: Annotated[
        Path | None, typer.Option("--repairs", metavar="FILE.json", help="List of repairs to write.", show_default=False)
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE.sol", help="Solution to write; else beside FILE.jj.", show_default=False)
    ] = None,
    summary: Annotated[Path | None, typer.Option("--summary", metavar="FILE.json", help="Summary to write.", show_default=False)] = None,
    certificate: Annotated[
        Path | None,
        typer.Option("--certificate", metavar="FILE.json", help="Proof of the bound to write; compressed if .gz.", show_default=False),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="The summary on stdout, progress as JSON lines on stderr.")] = False,
    debug: DebugOption = False,
) -> None:
    """Adjust a linear system (a JJ file) and write its solution, audited."""
    with polite(as_json=as_json, debug=debug):
        from statveil.cli.display import narrator, show_system
        from statveil.protect.options import Limits
        from statveil.protect.system import SystemOptions
        from statveil.workflow import adjust_system

        options = SystemOptions(
            weights=cast("SystemWeights", weights),
            variant=cast("Variant", variant),
            norm=cast("Norm", "l1" if norm == LEXMIN else norm),
            non_additive=non_additive,
            negative_levels=negative_levels,
        )
        method = _method(method, norm, start)
        loosening = _loosening(repair or norm == LEXMIN, repair_order, weaken=weaken_protection)
        limits, settings = Limits(seconds=seconds, gap=gap), settings_of(setting or [])
        with narrator(as_json=as_json) as tell:
            outcome = adjust_system(
                file,
                out=out,
                summary=summary,
                certificate=certificate,
                repairs=repairs,
                options=options,
                repair=loosening,
                may_give=may_give,
                keep=keep_from(keep) if keep else None,
                method=method,
                start=start,
                settings=settings,
                limits=limits,
                seed=seed,
                on_progress=tell,
            )
        show_system(outcome, as_json=as_json)


def _method(method: str, norm: str, start: Path | None) -> str:
    """RCTA's lexmin keeps the directions it is given."""
    if norm != LEXMIN:
        return method
    if start is None or method not in ("auto", "fixed"):
        raise InputError("Norm 'lexmin' keeps given directions.", hint="Give them with --start, and no other method than 'fixed'.")
    return "fixed"


def _loosening(wanted: bool, order: str, *, weaken: bool) -> Repair | None:
    from statveil.protect.repair import DEFAULT_ORDER, Repair

    classes = tuple(word.strip() for word in order.split(","))
    if not wanted:
        if weaken or classes != DEFAULT_ORDER:
            raise InputError("An order and what may give belong to a repair.", hint="Ask for one: --repair.")
        return None
    return Repair(order=cast("tuple[Giving, ...]", classes), weaken_protection=weaken)


def check_bound(
    file: Annotated[Path, typer.Argument(metavar="FILE.jj", help="The linear system that the bound is about.")],
    certificate: Annotated[Path, typer.Argument(metavar="CERT.json", help="What `statveil adjust --certificate` wrote.")],
    *,
    norm: Annotated[str, typer.Option("--norm", metavar="l1|l2", help="Sum of absolute or of squared changes.")] = "l1",
    weights: WeightsOption = "file",
    variant: VariantOption = "at-least",
    non_additive: NonAdditiveOption = False,
    negative_levels: NegativeLevelsOption = False,
    as_json: Annotated[bool, typer.Option("--json", help="The answer as JSON on stdout.")] = False,
    debug: DebugOption = False,
) -> None:
    """Check the certificate of a lower bound against the file alone, in exact integers. Exit code 5 if it does not hold."""
    with polite(as_json=as_json, debug=debug):
        from statveil.audit.bounds import audit_bound

        bound = audit_bound(
            file, certificate, weights=weights, variant=variant, norm=norm, non_additive=non_additive, negative_levels=negative_levels
        )
        if as_json:
            typer.echo(json.dumps({"certified": True, "bound": float(bound)}))
        else:
            typer.echo(f"The certificate holds: no whole safe table costs less than {float(bound):,.10g}.")


LISTED = ("mean", "variance", "correlation", "slope", "measures")
"""Keys of --keep that may be given several times."""


def keep_from(words: Sequence[str]) -> Keep:
    """`what=cells` words, and `within`, `senses`, `by` and `widen` in the same way, as what is to be kept."""
    from statveil.protect.quality.keep import Keep

    asked: dict[str, Any] = {}
    for word in words:
        key, equals, value = (part.strip() for part in word.partition("="))
        if key not in (*LISTED, "within", "senses", "by", "widen") or not (equals and value):
            known = ", ".join((*LISTED, "within", "senses", "by", "widen"))
            raise InputError(f"--keep {word!r} is not WHAT=CELLS.", hint=f"For example --keep mean=sensitive. Known: {known}.")
        if key in LISTED:
            asked.setdefault(key, []).append(value)
        elif key in asked:
            raise InputError(f"--keep {key} is given twice.")
        else:
            asked[key] = value if key in ("senses", "by") else _numbers(key, value)
    return Keep(**asked)


def _numbers(key: str, value: str) -> Any:
    try:
        numbers = [float(each) for each in value.split(",")]
    except ValueError:
        raise InputError(f"--keep {key}={value} holds something that is not a number.") from None
    return tuple(numbers) if key == "widen" else numbers[0]


def settings_of(words: Sequence[str]) -> dict[str, Any]:
    """`key=value` words as settings; a value that reads as a number, true, false or a list is one, any other is text."""
    settings: dict[str, Any] = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not (key.strip() and equals):
            raise InputError(f"--set {word!r} is not KEY=VALUE.", hint="For example: --set sweeps=400.")
        if key.strip() in settings:
            raise InputError(f"--set {key.strip()} is given twice.")
        try:
            settings[key.strip()] = json.loads(value)
        except ValueError:
            settings[key.strip()] = value.strip()
    return settings
