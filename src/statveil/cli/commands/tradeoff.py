"""`statveil lab tradeoff`: what keeping statistics costs, as a front of safe tables; of a file, recoding against blanks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from statveil.cli.options import AsJsonOption, DebugOption, OutOption, decimals_of
from statveil.cli.polite import polite
from statveil.core.errors import InputError

if TYPE_CHECKING:
    from statveil.jobs.folders.record_tradeoff import FileTradeoffFolder
    from statveil.jobs.folders.tradeoff import FolderTradeoff
    from statveil.protect.system import SystemOptions

JOB_SUFFIX = ".toml"
DEFAULT_SECONDS = 60.0


SourceFile = Annotated[Path, typer.Argument(metavar="JOB.toml|FILE.jj", help="A job file, or a linear system.")]
PointsOption = Annotated[
    int | None, typer.Option("--points", metavar="N", help="Points of the front, at most. [default: 15]", show_default=False)
]
PublishOption = Annotated[
    str | None,
    typer.Option(
        "--publish",
        metavar="recommended|N",
        help="Write the release of this point as well (of a file: least, knee or N).",
        show_default=False,
    ),
]
OverOption = Annotated[
    list[str] | None,
    typer.Option("--over", metavar="CELLS", help="sensitive, all, relation:N, cells:N,N,...; may be repeated.", show_default=False),
]
CriteriaOption = Annotated[
    str | None, typer.Option("--criteria", metavar="A,B,...", help="Of mean, variance, correlation, slope; else all.", show_default=False)
]
LimitOption = Annotated[float | None, typer.Option("--seconds", metavar="S", help="Time limit of it all.", show_default=False)]
MethodOption = Annotated[
    str | None, typer.Option("--method", metavar="M", help="FILE.jj only: how to search for the plain table.", show_default=False)
]
WeightsOption = Annotated[
    str | None, typer.Option("--weights", metavar="file|unit|value|inverse", help="FILE.jj only: what a change costs.", show_default=False)
]
VariantOption = Annotated[
    str | None, typer.Option("--variant", metavar="at-least|exact", help="FILE.jj only: how far sensitive cells move.", show_default=False)
]
SeedOption = Annotated[
    int | None, typer.Option("--seed", metavar="N", help="FILE.jj only: seed of the random numbers.", show_default=False)
]
NonAdditiveOption = Annotated[bool, typer.Option("--non-additive", help="FILE.jj only: accept relations that do not hold.")]
NegativeLevelsOption = Annotated[bool, typer.Option("--negative-levels", help="FILE.jj only: take levels below zero as zero.")]
DecimalsOption = Annotated[
    str | None, typer.Option("--decimals", metavar="N|all", help="FILE.jj only: else those of the values.", show_default=False)
]
ForceOption = Annotated[bool, typer.Option("--force", help="Replace an earlier trade-off in the folder.")]


def tradeoff(
    file: SourceFile,
    *,
    out: OutOption = None,
    points: PointsOption = None,
    publish: PublishOption = None,
    over: OverOption = None,
    criteria: CriteriaOption = None,
    seconds: LimitOption = None,
    method: MethodOption = None,
    weights: WeightsOption = None,
    variant: VariantOption = None,
    seed: SeedOption = None,
    non_additive: NonAdditiveOption = False,
    negative_levels: NegativeLevelsOption = False,
    decimals: DecimalsOption = None,
    as_json: AsJsonOption = False,
    force: ForceOption = False,
    debug: DebugOption = False,
) -> None:
    """Show what it costs to keep mean, variance, correlation and slope: a front of safe tables, and which to take.

    Of the job of a file: recoding against blanks, as a front of safe files, each proved.
    """
    with polite(as_json=as_json, debug=debug):
        from statveil.cli.display import narrator
        from statveil.jobs.folders.tradeoff import FolderTradeoff
        from statveil.protect.keep.wishes import Keep

        folder = out or file.with_name(f"{file.stem}-tradeoff")
        kept = _kept(over, criteria)
        run: dict[str, Any] = {"publish": publish, "force": force}
        system = {"method": method, "weights": weights, "variant": variant, "seed": seed}
        system |= {"non_additive": non_additive or None, "negative_levels": negative_levels or None, "decimals": decimals_of(decimals)}
        given = {name: value for name, value in system.items() if value is not None}
        with narrator(as_json=as_json) as tell:
            if file.suffix.lower() == JOB_SUFFIX and _is_record_job(file):
                _refuse(given | ({} if kept is None else {"over": kept}))
                outcome: FolderTradeoff | FileTradeoffFolder = _of_file_job(file, folder, seconds, points, on_progress=tell, **run)
            elif file.suffix.lower() == JOB_SUFFIX:
                _refuse(given)
                outcome = _of_job(file, folder, seconds, {"points": points, "kept": kept}, on_progress=tell, **run)
            else:
                limits = DEFAULT_SECONDS if seconds is None else seconds
                front = {"points": points, "keep": None if kept is None else Keep(**kept)}
                outcome = _of_system(file, folder, limits, given, front, on_progress=tell, **run)
        if as_json:
            typer.echo(_as_json(outcome))
        elif isinstance(outcome, FolderTradeoff):
            _show(outcome)
        else:
            _show_file(outcome)


def _kept(over: list[str] | None, criteria: str | None) -> dict[str, Any] | None:
    """What the front is about; None: what the job says, or the usual."""
    from statveil.core.limits import known
    from statveil.protect.keep.wishes import CRITERIA

    if over is None and criteria is None:
        return None
    asked = CRITERIA if criteria is None else tuple(word.strip() for word in criteria.split(","))
    for word in asked:
        known("criterion", word, CRITERIA)
    return {word: list(over or ["sensitive"]) for word in asked}


def _refuse(given: dict[str, Any]) -> None:
    for name in given:
        whose = "tables" if name == "over" else "linear systems"
        raise InputError(f"--{name.replace('_', '-')} is for {whose}.", hint="A job says what it needs in its own parts.")


def _is_record_job(file: Path) -> bool:
    from statveil.jobs.kinds import kind_of

    return kind_of(file) == "record job"


def _of_file_job(file: Path, folder: Path, seconds: float | None, points: int | None, **run: Any) -> FileTradeoffFolder:
    from statveil.jobs.folders.record_tradeoff import tradeoff_file_to_folder
    from statveil.jobs.record_job import read_file_job

    return tradeoff_file_to_folder(read_file_job(file).within(seconds), folder, points=points, **run)


def _of_job(file: Path, folder: Path, seconds: float | None, asked: dict[str, Any], **run: Any) -> FolderTradeoff:
    from statveil.jobs.folders.tradeoff import tradeoff_job_to_folder, with_tradeoff
    from statveil.jobs.table_job import read_job

    return tradeoff_job_to_folder(with_tradeoff(read_job(file).within(seconds), **asked), folder, **run)


def _of_system(file: Path, folder: Path, seconds: float, given: dict[str, Any], front: dict[str, Any], **run: Any) -> FolderTradeoff:
    from statveil.core.limits import Limits
    from statveil.jobs.folders.tradeoff import tradeoff_system_to_folder

    more = {name: value for name, value in front.items() if value is not None} | {
        name: given[name] for name in ("method", "seed") if name in given
    }
    return tradeoff_system_to_folder(file, folder, options=_options(given), limits=Limits(seconds=seconds), **more, **run)


def _options(given: dict[str, Any]) -> SystemOptions:
    """The options of the system that were given."""
    from statveil.protect.system import SystemOptions

    names = ("weights", "variant", "non_additive", "negative_levels", "decimals")
    return SystemOptions(**{name: given[name] for name in names if name in given})


def _as_json(outcome: FolderTradeoff | FileTradeoffFolder) -> str:
    paths = {words: str(path) for words, path in outcome.files.items()}
    return json.dumps({"folder": str(outcome.folder), "paths": paths, **outcome.figures()}, ensure_ascii=False, allow_nan=False)


def _show_paths(outcome: FolderTradeoff | FileTradeoffFolder, what: str) -> None:
    width = max(len(words) for words in outcome.files)
    for words, path in outcome.files.items():
        typer.echo(f"{words:<{width}}  {path}")
    typer.echo(f"\nOpen {outcome.files['page']} in a browser. Publish one of these {what}, never two.")


def _show(outcome: FolderTradeoff) -> None:
    from statveil.jobs.tradeoff.page import sentences

    front = outcome.front
    typer.echo(f"{' '.join(sentences(front))}\n")
    typer.echo(" point      change  above least  distortion  of possible    cap  others")
    for number, point in enumerate(front.points, start=1):
        mark = "*" if number - 1 == front.knee else " "
        more = point.change / front.points[0].change - 1 if front.points[0].change else 0.0
        typer.echo(
            f"{mark}{number:>5}  {point.change:>10.6g}  {more:>10.2%}  {point.distortion:>11.4g}  {front.reached(point):>11.0%}  "
            f"{point.cap:>5.2f}  {point.percent:>5.3g}%"
        )
    typer.echo("")
    _show_paths(outcome, "tables")


def _show_file(outcome: FileTradeoffFolder) -> None:
    from statveil.jobs.folders.record_tradeoff import recoded_words, sentences

    front = outcome.front
    typer.echo(f"{' '.join(sentences(front))}\n")
    typer.echo(" point    recoding      blanks    together   lost  proved")
    for number, point in enumerate(front.points):
        mark = "*" if number == front.least else "^" if number == front.knee else " "
        wiped = f"WIPED: {', '.join(point.loss.wiped)}; " if point.loss.wiped else ""
        figures = f"{point.recoding_loss:>10,.0f}  {point.blanks:>10,}  {point.total:>10,.0f}  {point.loss.share:>5.1%}"
        typer.echo(f"{mark}{number + 1:>5}  {figures}  {'yes' if point.proved else 'no':<6}  {wiped}{recoded_words(point)}")
    typer.echo("\n* loses least in all   ^ knee of the front\n")
    _show_paths(outcome, "files")
