"""`statveil serve`: the table server (`serve CONFIG.toml`), who may ask it (`serve keys`), and its log (`serve log`)."""

from __future__ import annotations

from contextlib import nullcontext
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from statveil.cli.options import DebugOption
from statveil.cli.polite import polite

ConfigFile = Annotated[Path, typer.Argument(metavar="CONFIG.toml", help="The server's configuration.")]
keys = typer.Typer(help="Make, list and revoke the API keys of the table server.", no_args_is_help=True)
log = typer.Typer(help="The log of what the table server gave out.", no_args_is_help=True)
RUN = "run"


class ServeGroup(TyperGroup):
    """`serve CONFIG.toml` runs the server; `serve keys` and `serve log` are commands of their own."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        return super().parse_args(ctx, args if args and args[0] in self.commands else [RUN, *args])

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The server is run without a word of its own: its usage shows none."""
        name, command, rest = super().resolve_command(ctx, args)
        return ("" if name == RUN else name), command, rest


serving = typer.Typer(help="Serve any table on request; its keys and its log.", cls=ServeGroup)


@serving.command(RUN, epilog="Also: statveil serve keys (who may ask), statveil serve log (what was given out).")
def serve(
    config: Annotated[Path | None, typer.Argument(metavar="[CONFIG.toml]", help="What is served, and how.", show_default=False)] = None,
    *,
    demo: Annotated[bool, typer.Option("--demo", help="Serve invented enterprises to this machine, without keys.")] = False,
    prepare: Annotated[bool, typer.Option("--prepare", help="Prepare the protected cubes, store them, and stop.")] = False,
    evaluate: Annotated[
        bool, typer.Option("--evaluate", help="Measure accuracy and attacks for each depth, write a page, and stop.")
    ] = False,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE.html", help="The page that --evaluate writes.")] = Path(
        "evaluation.html"
    ),
    new_key: Annotated[
        Path | None, typer.Option("--new-key", metavar="FILE", help="Write a new secret key and stop.", show_default=False)
    ] = None,
    host: Annotated[str | None, typer.Option("--host", help="Address to listen on.", show_default=False)] = None,
    port: Annotated[int | None, typer.Option("--port", min=0, max=65535, help="Port; 0 takes a free one.", show_default=False)] = None,
    workers: Annotated[int | None, typer.Option("--workers", min=1, max=64, help="Processes.", show_default=False)] = None,
    allow_plain_http: Annotated[
        bool, typer.Option("--allow-plain-http", help="Listen to other machines without TLS: only behind a proxy that has it.")
    ] = False,
    debug: DebugOption = False,
) -> None:
    """Serve any table on request, protected at once and the same for ever."""
    with polite(as_json=False, debug=debug):
        from statveil.core.errors import InputError
        from statveil.server.workers import start

        if sum((config is not None, demo, new_key is not None)) != 1:
            raise InputError("Give one of CONFIG.toml, --demo and --new-key FILE.", hint="`statveil serve --demo` needs nothing else.")
        if new_key is not None:
            from statveil.core.secret import new_key_file

            new_key_file(new_key)
            typer.echo(f"Wrote {new_key}. Keep a copy apart from the store: without it no server can go on with what this one says.")
            return
        start.require()
        with start.demo_config() if config is None else nullcontext(config) as path:
            if prepare:
                start.prepare(path, typer.echo)
                return
            if evaluate:
                from statveil.server.evaluate import evaluate_to

                typer.echo(f"Wrote {evaluate_to(path, out, say=typer.echo)}. It is for the office only.")
                return
            start.serve(path, say=typer.echo, host=host, port=port, workers=workers, plain=allow_plain_http)


@keys.command("add")
def add_key(
    config: ConfigFile,
    name: Annotated[str, typer.Option("--name", help="Whose key it is.")],
    *,
    role: Annotated[str, typer.Option("--role", help="user, officer or auditor.")] = "user",
    dataset: Annotated[list[str] | None, typer.Option("--dataset", help="Only this dataset; may be repeated.", show_default=False)] = None,
    expires: Annotated[
        datetime | None, typer.Option("--expires", formats=["%Y-%m-%d"], help="Last day of its use.", show_default=False)
    ] = None,
    debug: DebugOption = False,
) -> None:
    """Make a key and show it, this once."""
    with polite(as_json=False, debug=debug):
        from statveil.core.api_keys import Role, add_key
        from statveil.core.errors import InputError

        if role not in [each.value for each in Role]:
            raise InputError(f"Unknown role {role!r}.", hint="Known: user, officer, auditor.")
        known = _datasets(config)
        strangers = sorted(set(dataset or ()) - known)
        if strangers:
            raise InputError(f"There is no dataset {strangers[0]!r}.", hint=f"Known: {', '.join(sorted(known))}.")
        token = add_key(
            _keys_file(config),
            name=name,
            role=Role(role),
            datasets=tuple(dataset) if dataset else None,
            expires=expires.date() if expires else None,
        )
        typer.echo(token)
        typer.echo("This is the only time that the key is shown; the server keeps a hash of it.", err=True)


@keys.command("list")
def list_keys(config: ConfigFile, debug: DebugOption = False) -> None:
    """Whose keys there are; the keys themselves are kept nowhere."""
    with polite(as_json=False, debug=debug):
        from statveil.core.api_keys import read_keys

        for key in read_keys(_keys_file(config)):
            limits = [
                f"only {', '.join(key.datasets)}" if key.datasets else "",
                f"until {key.expires}" if key.expires else "",
                "revoked" if key.revoked else "",
            ]
            typer.echo("  ".join([key.id, f"{key.role.value:8}", key.name, *(word for word in limits if word)]))


@keys.command("revoke")
def revoke_key(
    config: ConfigFile, key: Annotated[str, typer.Argument(metavar="ID", help="The key's id, as in the list.")], debug: DebugOption = False
) -> None:
    """A revoked key stops at once, also on a server that runs."""
    with polite(as_json=False, debug=debug):
        from statveil.core.api_keys import revoke_key

        revoke_key(_keys_file(config), key)
        typer.echo(f"Revoked {key}.")


@log.command("verify")
def verify(
    path: Annotated[Path, typer.Argument(metavar="LOG", help="The log, or the server's configuration that names it.")],
    *,
    head: Annotated[
        str | None, typer.Option("--head", metavar="HASH", help="A hash noted earlier, that must be in the log.", show_default=False)
    ] = None,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an internal error.")] = False,
) -> None:
    """Follow the chain of hashes from the first line to the last."""
    with polite(as_json=False, debug=debug):
        from statveil.core.audit_log import verify as follow_chain

        found = follow_chain(_log_of(path), expected_head=head)
        typer.echo(f"The log is sound: {found.lines:,} lines. Note the head: {found.hash}")


def _log_of(path: Path) -> Path:
    if path.suffix != ".toml":
        return path
    from statveil.jobs.server_config import read_config
    from statveil.server.web.shared_state import SharedFiles

    return SharedFiles.of(read_config(path)).audit_log


def _keys_file(config: Path) -> Path:
    from statveil.jobs.server_config import read_config
    from statveil.server.web.shared_state import SharedFiles

    files = SharedFiles.of(read_config(config))
    files.prepare()
    return files.keys


def _datasets(config: Path) -> set[str]:
    from statveil.jobs.server_config import read_config

    return {each.id for each in read_config(config).datasets}


serving.add_typer(keys, name="keys")
serving.add_typer(log, name="log")
