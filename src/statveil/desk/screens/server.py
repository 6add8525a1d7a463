"""Who may ask the table server, what it gave out, and what went wrong there: its keys, its log, its alarms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any, NamedTuple

from fastapi import FastAPI, Request, Response

from statveil.core.api_keys import Role, StoredKey, add_key, read_keys, revoke_key
from statveil.core.audit_log import AuditLog, verify
from statveil.core.errors import InputError, StatveilError
from statveil.core.limits import known
from statveil.desk import approvals, runs
from statveil.desk.forms import Form, Given, word
from statveil.desk.screens.dataset import of_server, refuse_faults
from statveil.desk.screens.page import Desk, back, who
from statveil.desk.work.kinds import EVALUATE, PREPARE, SERVE
from statveil.jobs.server_config import ServerConfig

LINES = 300
"""Lines of the server's log that are shown. By judgement."""
ALARMING: Mapping[str, str] = {
    "alarm": "the server doubted its store or a part did not work",
    "wrong key": "somebody asked with no valid key",
    "table refused": "a table could not be given",
}
_TOLD = ("dataset", "table", "form", "key", "code", "kind", "detail", "address", "version", "processes")


class LogState(NamedTuple):
    """`fault`: why the chain of hashes does not hold; empty where it does."""

    lines: int
    head: str
    fault: str


def add(app: FastAPI, desk: Desk) -> None:
    _add_runs(app, desk)
    _add_keys(app, desk)

    @app.get("/alarms")
    def alarms(request: Request) -> Response:
        of_server(desk)
        config = desk.looks.server()
        lines = [*reversed(AuditLog(config.audit_log_file).last(LINES))]
        alarming = [line for line in lines if line.get("event") in ALARMING]
        counts = {words: sum(line["event"] == event for line in alarming) for event, words in ALARMING.items()}
        return desk.page(
            request, "alarms.html", log=_log_state(config), lines=lines, alarming=alarming, counts=counts, told=_in_words, shown=LINES
        )


def _add_runs(app: FastAPI, desk: Desk) -> None:
    @app.post("/server/{kind}")
    def measure(request: Request, kind: str, form: Given) -> Response:
        of_server(desk)
        known("kind", kind, (EVALUATE, PREPARE, SERVE))
        desk.checked(desk.project.content)
        if kind == SERVE:
            approvals.refuse_unapproved_server(desk.project, word(form, "prepared"))
        else:
            refuse_faults(desk)
        return back(f"/runs/{runs.start(desk.project, who(request), state=word(form, 'state'), kind=kind)}")


def _add_keys(app: FastAPI, desk: Desk) -> None:
    @app.get("/server-keys")
    def keys(request: Request) -> Response:
        return _keys_page(desk, request)

    @app.post("/server-keys")
    def new_key(request: Request, form: Given) -> Response:
        of_server(desk)
        config = desk.looks.server()
        asked = _asked(config, form)
        config.api_keys_file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        token = add_key(config.api_keys_file, **asked)
        desk.project.log.write("server key made", person=who(request).name, key=token.split("_")[1], role=str(asked["role"]), sure=True)
        return _keys_page(desk, request, token=token, name=str(asked["name"]))

    @app.post("/server-keys/revoke")
    def end_key(request: Request, form: Given) -> Response:
        of_server(desk)
        revoke_key(desk.looks.server().api_keys_file, word(form, "key"))
        desk.project.log.write("server key revoked", person=who(request).name, key=word(form, "key"), sure=True)
        return back("/server-keys")


def _keys_page(desk: Desk, request: Request, *, token: str = "", name: str = "") -> Response:
    """With the token of a key that was just made: it is shown this once."""
    of_server(desk)
    config = desk.looks.server()
    return desk.page(
        request,
        "server_keys.html",
        keys=[(key, _standing(key)) for key in read_keys(config.api_keys_file)],
        roles=[each.value for each in Role],
        datasets=[each.id for each in config.datasets],
        token=token,
        name=name,
        anonymous=config.web.anonymous,
    )


def _asked(config: ServerConfig, form: Form) -> dict[str, Any]:
    name, chosen = word(form, "name"), [each for each in form.get("dataset", []) if each]
    if not name or len(name) > 80 or not name.isprintable():
        raise InputError("A key needs a name: whose it is.")
    known("role", word(form, "role"), tuple(each.value for each in Role))
    for each in chosen:
        known("dataset", each, tuple(part.id for part in config.datasets))
    try:
        expires = date.fromisoformat(word(form, "expires")) if word(form, "expires") else None
    except ValueError:
        raise InputError("The last day is a date, such as 2027-12-31.") from None
    return {"name": name, "role": Role(word(form, "role")), "datasets": tuple(chosen) or None, "expires": expires}


def _standing(key: StoredKey) -> str:
    if key.revoked:
        return "revoked"
    return f"until {key.expires}" if key.expires else "in use"


def _log_state(config: ServerConfig) -> LogState:
    if not config.audit_log_file.is_file():
        return LogState(0, "", "")
    try:
        head = verify(config.audit_log_file)
    except StatveilError as error:
        return LogState(0, "", str(error))
    return LogState(head.lines, head.hash, "")


def _in_words(line: Mapping[str, Any], names: Sequence[str] = _TOLD) -> str:
    """What a line of the log tells besides its time and event, without its hashes."""
    return ", ".join(f"{name} {str(line[name])[:60]}" for name in names if name in line)
