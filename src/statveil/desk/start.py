"""Start the desk on this machine."""

from __future__ import annotations

import secrets
import socket
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

from statveil.core.errors import BackendMissing


def run_desk(folder: Path, *, port: int, person: str, say: Callable[[str], object], open_browser: bool) -> None:
    """Answer on 127.0.0.1 until stopped; `say` gets the address, which holds the token."""
    if find_spec("fastapi") is None or find_spec("uvicorn") is None:
        raise BackendMissing("The desk needs the packages of the server.", hint="pip install 'statveil[server]'")
    import uvicorn

    from statveil.desk.app import desk_application

    token = secrets.token_urlsafe(32)
    application = desk_application(folder, token=token, person=person)
    with socket.create_server(("127.0.0.1", port)) as listener:
        address = f"http://127.0.0.1:{listener.getsockname()[1]}/t/{token}"
        say(f"The desk is open: {address}")
        if open_browser:
            import webbrowser

            webbrowser.open(address)
        config = uvicorn.Config(application, log_level="error", access_log=False, server_header=False)
        uvicorn.Server(config).run(sockets=[listener])
