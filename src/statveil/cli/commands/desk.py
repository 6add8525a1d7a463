"""`statveil desk`: the officer's desk in the browser of this machine."""

from __future__ import annotations

import getpass
from pathlib import Path
from typing import Annotated

import typer

from statveil.cli.options import DebugOption
from statveil.cli.polite import polite


def desk(
    folder: Annotated[Path, typer.Argument(metavar="[FOLDER]", help="The project: made where it is not there.", show_default=False)] = Path(),
    *,
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="Port; 0 takes a free one.")] = 0,
    person: Annotated[str | None, typer.Option("--as", metavar="NAME", help="Who works here; else this user.", show_default=False)] = None,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the browser.")] = True,
    debug: DebugOption = False,
) -> None:
    """Work in the browser: data, table, risk, protection, approval; every click is a change of FOLDER/job.toml."""
    with polite(as_json=False, debug=debug):
        from statveil.desk.start import run_desk

        run_desk(folder, port=port, person=person or getpass.getuser(), say=typer.echo, open_browser=browser)
