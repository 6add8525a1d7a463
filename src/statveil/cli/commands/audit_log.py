"""`statveil audit-log`: was the server's log of what it gave out changed?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from statveil.cli.polite import polite

audit_log = typer.Typer(help="The log of what the table server gave out.", no_args_is_help=True)


@audit_log.command("verify")
def verify(
    log: Annotated[Path, typer.Argument(metavar="LOG", help="The log, or the server's configuration that names it.")],
    *,
    head: Annotated[
        str | None, typer.Option("--head", metavar="HASH", help="A hash noted earlier, that must be in the log.", show_default=False)
    ] = None,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an internal error.")] = False,
) -> None:
    """Follow the chain of hashes from the first line to the last."""
    with polite(as_json=False, debug=debug):
        from statveil.server.store.audit_log import verify as follow_chain

        found = follow_chain(_log_of(log), expected_head=head)
        typer.echo(f"The log is sound: {found.lines:,} lines. Note the head: {found.hash}")


def _log_of(path: Path) -> Path:
    if path.suffix != ".toml":
        return path
    from statveil.jobs.server_config import read_config
    from statveil.server.workers.shared_state import SharedFiles

    return SharedFiles.of(read_config(path)).audit_log
