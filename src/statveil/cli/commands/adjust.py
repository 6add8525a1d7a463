"""`statveil protect FILE.jj`: a linear system from a file to a solution file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from statveil.cli.options import (
    DebugOption,
    DecimalsOption,
    GapOption,
    MethodOption,
    NegativeLevelsOption,
    NonAdditiveOption,
    SeedOption,
    VariantOption,
    WeightsOption,
    decimals_of,
)
from statveil.cli.polite import polite
from statveil.core.errors import InputError

if TYPE_CHECKING:
    from statveil.protect.keep.wishes import Keep
    from statveil.protect.options import Giving, Norm, Repair, Variant
    from statveil.protect.system import SystemOptions, SystemWeights

LEXMIN = "lexmin"

SystemFile = Annotated[Path, typer.Argument(metavar="FILE.jj", help="A linear system as tau-ARGUS, sdcTable and RCTA write it.")]
NormOption = Annotated[
    str, typer.Option("--norm", metavar="l1|l2|lexmin", help="Sum of absolute or squared changes; lexmin: least repair with fixed senses.")
]
LimitOption = Annotated[float, typer.Option("--seconds", metavar="S", help="Time limit of the optimisation.")]
StartOption = Annotated[
    Path | None, typer.Option("--start", metavar="FILE.dir", help="Directions to begin with: `cell 0|1` a line.", show_default=False)
]
SettingsOption = Annotated[
    list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="A setting of the method; may be repeated.", show_default=False)
]
RepairOption = Annotated[bool, typer.Option("--repair", help="Where no safe table exists, loosen what was asked, and list it.")]
OrderOption = Annotated[
    str, typer.Option("--repair-order", metavar="A,B,...", help="What gives first: cap, inner, margins, relations, protection.")
]
WeakenOption = Annotated[bool, typer.Option("--weaken-protection", help="Let protection give, where the repair order names it. Dangerous.")]
MayGiveOption = Annotated[
    Path | None, typer.Option("--may-give", metavar="FILE", help="RCTA's repair file: only these may give.", show_default=False)
]
KeepOption = Annotated[
    list[str] | None,
    typer.Option(
        "--keep",
        metavar="WHAT=CELLS",
        help="Keep a statistic: mean, variance, correlation or slope=CELLS, measures=ranks; and how: within=0.005, widen=1.5,2, "
        "by=programs|tabu|both, senses=... May be repeated.",
        show_default=False,
    ),
]
RepairsFile = Annotated[Path | None, typer.Option("--repairs", metavar="FILE.json", help="List of repairs to write.", show_default=False)]
SolutionFile = Annotated[
    Path | None, typer.Option("--out", "-o", metavar="FILE.sol", help="Solution to write; else beside FILE.jj.", show_default=False)
]
SummaryFile = Annotated[Path | None, typer.Option("--summary", metavar="FILE.json", help="Summary to write.", show_default=False)]
CertificateFile = Annotated[
    Path | None,
    typer.Option("--certificate", metavar="FILE.json", help="Proof of the bound to write; compressed if .gz.", show_default=False),
]
SummaryAsJson = Annotated[bool, typer.Option("--json", help="The summary on stdout, progress as JSON lines on stderr.")]


def adjust(
    file: SystemFile,
    *,
    method: MethodOption = "auto",
    norm: NormOption = "l1",
    weights: WeightsOption = "file",
    variant: VariantOption = "at-least",
    seconds: LimitOption = 60.0,
    gap: GapOption = 0.0,
    seed: SeedOption = 0,
    start: StartOption = None,
    setting: SettingsOption = None,
    non_additive: NonAdditiveOption = False,
    negative_levels: NegativeLevelsOption = False,
    decimals: DecimalsOption = None,
    repair: RepairOption = False,
    repair_order: OrderOption = "cap,inner,margins,relations",
    weaken_protection: WeakenOption = False,
    may_give: MayGiveOption = None,
    keep: KeepOption = None,
    repairs: RepairsFile = None,
    out: SolutionFile = None,
    summary: SummaryFile = None,
    certificate: CertificateFile = None,
    as_json: SummaryAsJson = False,
    debug: DebugOption = False,
) -> None:
    """Adjust a linear system (a JJ file) and write its solution, audited."""
    with polite(as_json=as_json, debug=debug):
        from statveil.cli.display import narrator, show_system
        from statveil.core.limits import Limits
        from statveil.jobs.adjust import SystemFiles
        from statveil.jobs.adjust import adjust as adjust_source
        from statveil.protect.options import Method

        options = _options(norm, weights, variant, non_additive=non_additive, negative_levels=negative_levels, decimals=decimals)
        chosen = Method(name=_method(method, norm, start), settings=_settings(setting), seed=seed)
        loosening = _loosening(repair or norm == LEXMIN, repair_order, weaken=weaken_protection)
        kept = _kept(keep)
        files = SystemFiles(
            file,
            options=options,
            solution=out,
            summary=summary,
            certificate=certificate,
            repairs=repairs,
            may_give=may_give,
            start=start,
        )
        with narrator(as_json=as_json) as tell:
            limits = Limits(seconds=seconds, gap=gap)
            outcome = adjust_source(files, method=chosen, repair=loosening, keep=kept, limits=limits, on_progress=tell)
        show_system(outcome, as_json=as_json)


def _settings(words: list[str] | None) -> dict[str, Any]:
    if not words:
        return {}
    from statveil.cli.options import settings_of

    return settings_of(words)


def _kept(words: list[str] | None) -> Keep | None:
    if not words:
        return None
    from statveil.cli.options import keep_from

    return keep_from(words)


def _options(norm: str, weights: str, variant: str, *, non_additive: bool, negative_levels: bool, decimals: str | None) -> SystemOptions:
    from statveil.protect.system import SystemOptions

    return SystemOptions(
        weights=cast("SystemWeights", weights),
        variant=cast("Variant", variant),
        norm=cast("Norm", "l1" if norm == LEXMIN else norm),
        non_additive=non_additive,
        negative_levels=negative_levels,
        decimals=decimals_of(decimals),
    )


def _method(method: str, norm: str, start: Path | None) -> str:
    """RCTA's lexmin keeps the directions it is given."""
    if norm != LEXMIN:
        return method
    if start is None or method not in ("auto", "fixed"):
        raise InputError("Norm 'lexmin' keeps given directions.", hint="Give them with --start, and no other method than 'fixed'.")
    return "fixed"


def _loosening(wanted: bool, order: str, *, weaken: bool) -> Repair | None:
    from statveil.protect.options import DEFAULT_ORDER, Repair

    classes = tuple(word.strip() for word in order.split(","))
    if not wanted:
        if weaken or classes != DEFAULT_ORDER:
            raise InputError("An order and what may give belong to a repair.", hint="Ask for one: --repair.")
        return None
    return Repair(order=cast("tuple[Giving, ...]", classes), weaken_protection=weaken)
