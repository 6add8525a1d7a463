"""Start the desk: for the one who sits at this machine, or for a team."""

from __future__ import annotations

import os
import secrets
import socket
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from statveil.core.errors import BackendMissing, InputError
from statveil.desk.access import LOCAL
from statveil.desk.people import PEOPLE, People, Person, read_people
from statveil.jobs.server_config import refuse_plain_beyond_this_machine

Say = Callable[[str], object]


@dataclass(frozen=True, kw_only=True)
class DeskAddress:
    """Where the desk answers. `names`: by which it may be called; beyond this machine only with TLS, of its own or of a proxy in front."""

    host: str = "127.0.0.1"
    port: int = 0
    names: tuple[str, ...] = ()
    certificate: Path | None = None
    key: Path | None = None
    plain: bool = False

    def __post_init__(self) -> None:
        if (self.certificate is None) != (self.key is None):
            raise InputError("A TLS certificate and its key belong together.", hint="Give both, or neither.")
        refuse_plain_beyond_this_machine(
            self.host,
            tls=self.certificate is not None,
            plain=self.plain,
            hint="Give --tls-certificate and --tls-key, or --allow-plain-http behind a proxy that speaks TLS.",
        )

    @property
    def hosts(self) -> frozenset[str]:
        return LOCAL | {name.lower() for name in (self.host, *self.names)} - {"0.0.0.0", "::"}


def run_desk(folder: Path, address: DeskAddress, *, person: str | None, say: Say, open_browser: bool) -> None:
    """Answer until stopped. With a person, that one is an author by the token in the address that `say` gets; else all must be invited."""
    if any(find_spec(package) is None for package in ("fastapi", "uvicorn", "multipart")):
        raise BackendMissing("The desk needs the packages of the server.", hint="pip install 'statveil[server]'")
    os.umask(0o077)  # nobody else reads what lies in the folder
    token = secrets.token_urlsafe(32)
    people = People(folder, starter=None if person is None else Person(person, "author"), token=token)
    if person is None and not read_people(folder / PEOPLE):
        raise InputError("Nobody is invited to this desk.", hint="statveil desk FOLDER --invite NAME --role author")
    with socket.create_server((address.host, address.port)) as listener:
        scheme = "http" if address.certificate is None else "https"
        where = f"{scheme}://{address.names[0] if address.names else address.host}:{listener.getsockname()[1]}/"
        where += "" if person is None else f"t/{token}"
        say(f"The desk is open: {where}")
        if open_browser and person is not None:
            import webbrowser

            webbrowser.open(where)
        try:
            _serve(folder, people, address, listener)
        except KeyboardInterrupt:
            with suppress(OSError):  # the terminal may be gone
                say("The desk is closed. Every step is kept, and a run that is under way goes on.")


def _serve(folder: Path, people: People, address: DeskAddress, listener: socket.socket) -> None:
    import uvicorn

    from statveil.desk.app import desk_application

    door = desk_application(folder, people, hosts=address.hosts, secure=address.certificate is not None or address.plain)
    config = uvicorn.Config(
        door,
        log_level="error",
        access_log=False,
        server_header=False,
        ssl_certfile=address.certificate,
        ssl_keyfile=address.key,
    )
    uvicorn.Server(config).run(sockets=[listener])
