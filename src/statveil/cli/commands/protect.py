"""`statveil protect`: whatever can be protected, told by its content; jobs of tables and of records, and batches of tau-ARGUS."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from statveil.cli.options import AsJsonOption, DebugOption, ForceOption, GapOption, MethodOption, OutOption, SecondsOption, SeedOption
from statveil.cli.polite import polite

if TYPE_CHECKING:
    from statveil.jobs.batch.run import BatchResult
    from statveil.jobs.folders.records import FileFolder
    from statveil.records.plan import FilePlan


def anonymise(
    job: Annotated[Path, typer.Argument(metavar="JOB.toml", help="The job file: data, key fields, what is rare.")],
    *,
    out: OutOption = None,
    seconds: SecondsOption = None,
    as_json: AsJsonOption = False,
    force: ForceOption = False,
    debug: DebugOption = False,
) -> None:
    """Recode and blank a file of records until no combination of key values is rare, and write it, audited."""
    with polite(as_json=as_json, debug=debug):
        from statveil.cli.display import narrator, say_prepared
        from statveil.jobs.folders.records import anonymise_to_folder
        from statveil.jobs.record_job import read_file_job

        chosen = read_file_job(job).within(seconds)
        with narrator(as_json=as_json) as tell, warnings.catch_warnings(record=True, category=UserWarning, action="always") as told:
            outcome = anonymise_to_folder(chosen, out or job.with_name(f"{job.stem}-release"), force=force, on_progress=tell)
        say_prepared(chosen.microdata, as_json=as_json)
        _show_file(outcome, list(dict.fromkeys(str(each.message) for each in told)), as_json=as_json)


def _show_file(outcome: FileFolder, warned: Sequence[str], *, as_json: bool) -> None:
    from statveil.cli.display import audit_in_words
    from statveil.jobs.folders.records import figures

    release, plan = outcome.release, outcome.release.plan
    if as_json:
        paths = {words: str(path) for words, path in outcome.files.items()}
        run = {
            "wiped": list(plan.loss.wiped),
            "folder": str(outcome.folder),
            "paths": paths,
            "seconds": round(outcome.seconds, 3),
            "warnings": list(warned),
        }
        typer.echo(json.dumps({**run, **figures(release)}))
        return
    for words in warned:
        typer.echo(f"Warning: {words}", err=True)
    recoded = [f"{name} ({level})" for (name, level), chosen in zip(plan.recoding.items(), plan.levels, strict=True) if chosen]
    if plan.loss.wiped:
        typer.echo(f"WIPED in every record: {', '.join(plan.loss.wiped)} ({plan.loss.wiped_values:,} of {plan.loss.values:,} key values).")
    typer.echo(f"Made {plan.coded.records:,} records safe in {outcome.seconds:.1f} s (plan {plan.seconds:.1f} s, "
               f"then writing, audit and report): {plan.suppression.total:,} values blanked, "
               f"recoded: {', '.join(recoded) or 'nothing'}; {_quality(plan.gap)}{_extra(plan.suppression.notes)}.")  # fmt: skip
    typer.echo(f"Lost: {plan.loss.lost:,.0f} of {plan.loss.values:,} key values ({plan.loss.share:.1%}){_alone(plan)}.\n")
    if release.perturbed is not None:
        done = "; ".join(f"{', '.join(step.columns)} ({step.words})" for step in release.perturbed.steps)
        typer.echo(f"Perturbed: {done}.\n")
    typer.echo(f"{audit_in_words(release.audit)}\n")
    for rule, found in release.unsafe.items():
        typer.echo(f"Records in unsafe combinations if a blank means {rule!r}: {'not counted' if found is None else f'{found:,}'}")
    for attack in release.attacks:
        verdict = "" if attack.passed else f" (limit {attack.limit:.0%} exceeded)"
        typer.echo(f"{attack.name}: {attack.words}: {attack.value:.1%}{verdict}")
    typer.echo("")
    width = max(len(words) for words in outcome.files)
    for words, path in outcome.files.items():
        typer.echo(f"{words:<{width}}  {path}")


def _alone(plan: FilePlan) -> str:
    """What blanks alone would lose, where they were priced and cost one value each."""
    if plan.blanks_alone is None or not any(plan.levels) or plan.keys.costs != "equal" or plan.keys.record_cost:
        return ""
    return f"; blanks alone would lose {'only ' if plan.blanks_alone < plan.loss.lost - 0.5 else ''}{plan.blanks_alone:,.0f}"


def _extra(notes: Mapping[str, int]) -> str:
    number = notes.get("extra blanks", 0)
    return f", {number:,} extra blanks against guessing apart" if number else ""


def _quality(gap: float) -> str:
    if gap == 0:
        return "proved the best possible"
    return f"at most {gap:.2%} above the best possible" if gap < float("inf") else "how far from the best possible is not known"


def argus(
    batch: Annotated[Path, typer.Argument(metavar="JOB.arb", help="A batch file of tau-ARGUS.")],
    *,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="DIR", help="Folder to write to; else that of JOB.arb.", show_default=False)
    ] = None,
    data: Annotated[
        Path | None, typer.Option("--data", metavar="DIR", help="A further folder to look for files in.", show_default=False)
    ] = None,
    seconds: Annotated[float, typer.Option("--seconds", metavar="S", help="Time limit of each adjustment.")] = 60.0,
    gap: GapOption = 0.0,
    method: MethodOption = "auto",
    seed: SeedOption = 0,
    as_json: AsJsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Run a batch file of tau-ARGUS: its data, tables, rules, SUPPRESS CTA and outputs."""
    with polite(as_json=as_json, debug=debug):
        from statveil.cli.display import narrator
        from statveil.core.limits import Limits
        from statveil.jobs.batch.run import BatchSettings, run_batch
        from statveil.protect.options import Method

        settings = BatchSettings(limits=Limits(seconds=seconds, gap=gap), method=Method(name=method, seed=seed))
        with narrator(as_json=as_json) as tell:
            result = run_batch(batch, settings=settings, out=out, data=data, on_progress=tell)
        _show_batch(result, as_json=as_json)


def _show_batch(result: BatchResult, *, as_json: bool) -> None:
    if as_json:
        from statveil.jobs.folders.tables import figures

        content = {"files": [str(file) for file in result.files], "notes": result.notes}
        typer.echo(json.dumps({**content, "tables": [figures(release) for release in result.releases]}, ensure_ascii=False))
        return
    for note in result.notes:
        typer.echo(note)
    typer.echo("")
    for file in result.files:
        typer.echo(f"wrote  {file}")


def protect(
    thing: Annotated[str, typer.Argument(metavar="X", help="A job (.toml), a linear system (.jj, .npz) or a batch of tau-ARGUS (.arb).")],
) -> None:
    """Protect X and write what may be published, audited.

    X is the job of a table or of a file of records, a linear system, or a batch of tau-ARGUS: told by its content.
    `statveil protect X --help` shows the options for it. `statveil new` writes a job.
    """


def protect_table(
    job: Annotated[Path, typer.Argument(metavar="JOB.toml", help="The job file; `statveil new` writes one.")],
    *,
    out: OutOption = None,
    internal: Annotated[bool, typer.Option("--internal", help="Write the confidential files and report as well.")] = False,
    seconds: SecondsOption = None,
    as_json: AsJsonOption = False,
    force: ForceOption = False,
    debug: DebugOption = False,
) -> None:
    """Protect the table of a job file and write what may be published."""
    with polite(as_json=as_json, debug=debug):
        from statveil.cli.display import narrator, say_prepared, show_release, warned_aloud
        from statveil.jobs.folders.tables import protect_to_folder
        from statveil.jobs.table_job import read_job

        chosen = read_job(job).within(seconds)
        folder = out or job.with_name(f"{job.stem}-release")
        with narrator(as_json=as_json) as tell, warned_aloud():
            outcome = protect_to_folder(chosen, folder, internal=internal, force=force, on_progress=tell)
        say_prepared(chosen.microdata, as_json=as_json)
        show_release(outcome, as_json=as_json)
