"""Start the server: check all that can be checked, then let several processes answer at one address."""

from __future__ import annotations

import gc
import os
import resource
import socket
import ssl
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from statveil.core.audit_log import AuditLog
from statveil.core.errors import BackendMissing, InputError, OutOfTime
from statveil.jobs.server_config import ServerConfig, WebPart, read_config, refuse_plain_beyond_this_machine
from statveil.server.engine.scores import accuracy_lines, known_scores
from statveil.server.engine.section4 import IsolatedSolver, warm_up
from statveil.server.engine.service import TableService
from statveil.server.web.shared_state import SharedFiles
from statveil.server.workers.pool import WorkerPool
from statveil.solve.processes import Halt, Send, dismiss_idle, run_isolated
from statveil.version import VERSION


class StartTuning(NamedTuple):
    prepare_seconds: float = 86_400.0
    """For preparing all cubes. By judgement."""


TUNING = StartTuning()
NEEDED = ("fastapi", "uvicorn", "multipart", "prometheus_client")
Say = Callable[[str], None]


def require() -> None:
    """The server is an extra."""
    missing = [package for package in NEEDED if find_spec(package) is None]
    if missing:
        raise BackendMissing(f"The server needs {', '.join(missing)}, not installed here.", hint="Run: pip install 'statveil[server]'")


def without_core_dumps() -> None:
    """A crash must not leave the key and the records on the disk."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def open_service(config: ServerConfig) -> TableService:
    """Open the datasets with the key, which is then out of the environment: no child process inherits it."""
    audit_log = AuditLog(SharedFiles.of(config).audit_log)
    key = config.key()
    if config.parts.key.environment is not None:
        os.environ.pop(config.parts.key.environment, None)

    def on_alarm(kind: str, detail: str) -> None:
        audit_log.write("alarm", kind=kind, detail=detail)

    service = TableService.open(config, key, on_alarm=on_alarm, solver=IsolatedSolver(memory_megabytes=config.web.memory_megabytes))
    for dataset in service.datasets:
        if "/" in dataset:
            raise InputError(f"The dataset id {dataset!r} cannot stand in an address.", hint="Leave out the slash.")
    return service


def serve(
    path: Path, *, say: Say, host: str | None = None, port: int | None = None, workers: int | None = None, plain: bool = False
) -> None:
    """Serve until told to stop."""
    require()
    without_core_dumps()
    config = read_config(path)
    given = {"host": host, "port": port, "workers": workers, "allow_plain_http": plain or None}
    web = config.web.model_copy(update={name: word for name, word in given.items() if word is not None})
    check_address(web)
    _check_certificate(config, web)
    audit_log = _begin(config, web, path)
    prepare(path, say)
    for line in known_scores(config, path):
        say(line)
    _run(web, path, audit_log, say)


def prepare(path: Path, say: Say) -> None:
    """Prepare what is not stored yet, and say how accurate it is: in a process of its own, whose memory is then free again."""
    halt = run_isolated([(_prepare, (path,))], seconds=TUNING.prepare_seconds, on_message=say)
    dismiss_idle()
    if halt is Halt.INTERRUPTED:
        raise KeyboardInterrupt
    if halt is Halt.OUT_OF_TIME:
        raise OutOfTime("The cubes were not prepared in the time allowed.", hint="Lower the depth, or shorten the trees.")


def _prepare(path: Path, send: Send) -> None:
    """In the child."""
    without_core_dumps()
    config = read_config(path)
    with closing(TableService.open(config, config.key(), progress=send)) as service:
        for line in accuracy_lines(service):
            send(line)


@contextmanager
def demo_config() -> Iterator[Path]:
    """A folder with invented enterprises, a key and a configuration, for as long as the demonstration runs."""
    from statveil.server.demo import write_demo

    with tempfile.TemporaryDirectory(prefix="statveil-demo-") as folder:
        yield write_demo(Path(folder))


def check_address(web: WebPart) -> None:
    """Beyond this machine only with TLS, unless the officer says that something in front speaks it."""
    refuse_plain_beyond_this_machine(
        web.host,
        tls=web.tls_certificate is not None,
        plain=web.allow_plain_http,
        hint="Give tls_certificate and tls_key, or allow_plain_http = true (--allow-plain-http) behind a proxy that speaks TLS.",
    )


def _check_certificate(config: ServerConfig, web: WebPart) -> None:
    if web.tls_certificate is None or web.tls_key is None:
        return
    try:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(config.path(web.tls_certificate), config.path(web.tls_key))
    except (OSError, ssl.SSLError):
        raise InputError("The TLS certificate and its key cannot be used.", hint="Both are PEM files and belong together.") from None


def _begin(config: ServerConfig, web: WebPart, path: Path) -> AuditLog:
    """All that must be so before anybody is let in: keys, and a log that nobody changed."""
    from statveil.core.api_keys import read_keys
    from statveil.server.web.metrics import share_between_processes

    files = SharedFiles.of(config)
    files.prepare()
    if not read_keys(files.keys) and not web.anonymous:
        raise InputError("There is no API key, so nobody could ask for anything.", hint=f"Run: statveil serve keys add {path} --name NAME")
    audit_log = AuditLog(files.audit_log)
    audit_log.head()
    share_between_processes(files.metrics)
    return audit_log


def _run(web: WebPart, path: Path, audit_log: AuditLog, say: Say) -> None:
    """Bind, start the processes, and say so when the first of them answers."""
    listening = bind(web.host, web.port)
    where = listening.getsockname()
    name = f"[{where[0]}]" if ":" in where[0] else where[0]
    address = f"{'https' if web.tls_certificate else 'http'}://{name}:{where[1]}"

    def on_ready() -> None:
        audit_log.write("server started", sure=True, version=VERSION, processes=web.workers)
        say(f"Listening on {address} with {web.workers} {'process' if web.workers == 1 else 'processes'}. Ctrl-C stops.")

    with listening:
        WorkerPool(run_worker, (path, web, listening), size=web.workers, on_ready=on_ready).run()
    audit_log.write("server stopped", sure=True)


def bind(host: str, port: int) -> socket.socket:
    """A socket that knows it is TCP: only then are its small packets sent at once, not 40 ms later."""
    try:
        family, kind, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listening = socket.socket(family, kind, socket.IPPROTO_TCP)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(512)
    except OSError:
        raise InputError(f"{host}, port {port}, cannot be used.", hint="Does another server listen there?") from None
    return listening


def run_worker(path: Path, web: WebPart, listening: socket.socket, ready: Callable[[], None]) -> None:
    """The life of one process of the server."""
    import uvicorn

    from statveil.server.web.app import application

    without_core_dumps()
    config = read_config(path)
    service = open_service(config)
    if any(part.mode == "section4" for part in config.datasets):
        warm_up()  # not before the key is out of the environment, which the child inherits
    answering = application(service, web, SharedFiles.of(config), seconds=float(config.limits.seconds))
    gc.collect()
    gc.freeze()  # what is there now stays: no collection need look at it again
    settings = uvicorn.Config(
        answering,
        ssl_certfile=None if web.tls_certificate is None else str(config.path(web.tls_certificate)),
        ssl_keyfile=None if web.tls_key is None else str(config.path(web.tls_key)),
        proxy_headers=bool(web.proxies),
        forwarded_allow_ips=list(web.proxies),
        access_log=False,
        log_level="warning",
        server_header=False,
        ws="none",
        h11_max_incomplete_event_size=1 << 20,
        timeout_graceful_shutdown=10,
    )
    ready()
    uvicorn.Server(settings).run(sockets=[listening])
