"""`statveil desk`: the officer's desk in the browser, for one machine or for a team."""

from __future__ import annotations

import getpass
from pathlib import Path
from typing import Annotated

import typer

from statveil.cli.options import DebugOption
from statveil.cli.polite import polite


def desk(
    folder: Annotated[
        Path, typer.Argument(metavar="[FOLDER]", help="The project: made where it is not there.", show_default=False)
    ] = Path(),
    *,
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="Port; 0 takes a free one.")] = 0,
    person: Annotated[str | None, typer.Option("--as", metavar="NAME", help="Who works here; else this user.", show_default=False)] = None,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the browser.")] = True,
    invite: Annotated[
        str | None, typer.Option("--invite", metavar="NAME", help="Give a person a token, print it, and stop.", show_default=False)
    ] = None,
    role: Annotated[str, typer.Option("--role", help="Of who is invited: author, approver or reader.")] = "approver",
    serve: Annotated[bool, typer.Option("--serve", help="For a team: only those who were invited come in.")] = False,
    host: Annotated[str, typer.Option("--host", help="Address to listen on.")] = "127.0.0.1",
    name: Annotated[
        list[str] | None, typer.Option("--name", help="A name the desk is called by; may be repeated.", show_default=False)
    ] = None,
    tls_certificate: Annotated[Path | None, typer.Option("--tls-certificate", metavar="FILE", help="PEM.", show_default=False)] = None,
    tls_key: Annotated[Path | None, typer.Option("--tls-key", metavar="FILE", help="PEM.", show_default=False)] = None,
    allow_plain_http: Annotated[
        bool, typer.Option("--allow-plain-http", help="Listen to other machines without TLS: only behind a proxy that has it.")
    ] = False,
    debug: DebugOption = False,
) -> None:
    """Work in the browser: data, table, risk, protection, approval; every click is a change of FOLDER/job.toml."""
    with polite(as_json=False, debug=debug):
        from statveil.core.errors import InputError
        from statveil.desk.people import invite as give_token
        from statveil.desk.start import DeskAddress, run_desk

        if invite is not None:
            token = give_token(folder, invite, role)
            typer.echo(f"{invite} is {role} of this desk, and signs in with this token, which is shown this once:\n{token}")
            return
        if not serve and (host not in ("127.0.0.1", "localhost") or name or allow_plain_http):
            raise InputError("A desk for one machine answers to that machine only.", hint="Add --serve, and invite those who work there.")
        address = DeskAddress(
            host=host, port=port, names=tuple(name or ()), certificate=tls_certificate, key=tls_key, plain=allow_plain_http
        )
        worker = None if serve else person or getpass.getuser()
        run_desk(folder, address, person=worker, say=typer.echo, open_browser=browser)
