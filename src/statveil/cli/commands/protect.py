"""`statveil protect`: whatever can be protected, told by its content; and the command for the job of a table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from statveil.cli.options import AsJsonOption, DebugOption, ForceOption, OutOption, SecondsOption
from statveil.cli.polite import polite


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
        from statveil.cli.display import narrator, show_release
        from statveil.jobs.table_job import read_job
        from statveil.jobs.tables.folder import protect_to_folder

        chosen = read_job(job).within(seconds)
        folder = out or job.with_name(f"{job.stem}-release")
        with narrator(as_json=as_json) as tell:
            outcome = protect_to_folder(chosen, folder, internal=internal, force=force, on_progress=tell)
        show_release(outcome, as_json=as_json)
