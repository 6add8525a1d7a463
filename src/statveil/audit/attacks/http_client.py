"""A live server asked over HTTP: an API key, the addresses under /v1, nothing else."""

from __future__ import annotations

import http.client
import json
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlsplit

import numpy as np

from statveil.audit.attacks.attacker import TUNING
from statveil.audit.attacks.public import AnswerAxis, AnswerTable, Catalogue, TableRequest, Trace, added_up
from statveil.core.errors import BackendError, DisclosureRefused, InputError, OutOfTime, ServerClosed, StatveilError

BUSY = (429, 503)
_ERRORS: Mapping[int, type[StatveilError]] = {403: DisclosureRefused, 409: DisclosureRefused, 422: InputError, 504: OutOfTime}
_KEY = "Is the API key right, has it expired, and may it ask for tables of this data set?"
_AWAY = "Is the address right, and is it running?"


class HttpTableServer:
    """Asks a server about one data set; `catalogue` is public knowledge of it."""

    def __init__(self, address: str, api_key: str, dataset: str, catalogue: Catalogue) -> None:
        self._line = _Connection(address, api_key)
        self._tables = f"/v1/datasets/{quote(dataset, safe='')}/tables?format=json"
        self.catalogue = catalogue

    def ask(self, request: TableRequest) -> AnswerTable:
        return added_up(self._ask, request, self.catalogue)

    def _ask(self, request: TableRequest) -> AnswerTable:
        wish = {
            "dimensions": [{"id": axis.id, **({} if axis.codes is None else {"codes": list(axis.codes)})} for axis in request.axes],
            "measure": request.measure,
            "filters": {name: list(codes) for name, codes in request.filters},
            "totals": request.totals,
        }
        clock = time.perf_counter()
        status, headers, body = self._line.send(self._tables, json.dumps(wish).encode())
        if status == 202:
            status, headers, body = self._wait(headers["location"])
        trace = Trace(seconds=time.perf_counter() - clock, body=body, headers=headers)
        return table_of(json.loads(body), trace)

    def _wait(self, job: str) -> tuple[int, dict[str, str], bytes]:
        """Come back for a table that takes longer."""
        until = time.monotonic() + TUNING.promised
        while time.monotonic() < until:
            state = json.loads(self._line.send(job)[2])
            if state.get("table"):
                return self._line.send(f"{state['table']}?format=json")
            if state.get("problem"):
                raise _error(int(state["problem"].get("status", 503)))
            time.sleep(0.2)
        raise OutOfTime("The server did not finish a table that it promised.")


class _Connection:
    """The wire to a server: one address, one API key."""

    def __init__(self, address: str, api_key: str) -> None:
        if urlsplit(address).scheme not in ("http", "https"):
            raise InputError("The address of a server begins with http:// or https://.")
        self._address, self._key = address.rstrip("/"), api_key

    def send(self, address: str, content: bytes | None = None) -> tuple[int, dict[str, str], bytes]:
        """Status, headers and body; a busy server is asked again."""
        headers = {"Authorization": f"Bearer {self._key}", "Accept": "application/json", "Content-Type": "application/json"}
        message = urllib.request.Request(self._address + address, data=content, headers=headers)
        until = time.monotonic() + TUNING.promised
        while True:
            try:
                with urllib.request.urlopen(message, timeout=TUNING.promised) as answer:
                    return answer.status, {name.lower(): text for name, text in answer.headers.items()}, answer.read()
            except urllib.error.HTTPError as error:
                if error.code not in BUSY or time.monotonic() > until:
                    raise _error(error.code, _code(error.read())) from None
                time.sleep(min(float(error.headers.get("Retry-After", 1)), 10.0))
            except (OSError, http.client.HTTPException):
                raise ServerClosed("The server does not answer.", hint=_AWAY) from None


def check_access(address: str, api_key: str, dataset: str) -> None:
    """ServerClosed where nobody answers, or where this key may not ask about the data set."""
    _Connection(address, api_key).send(f"/v1/datasets/{quote(dataset, safe='')}")


def _code(body: bytes) -> str:
    """The code of a problem, if the body is one."""
    try:
        return str(json.loads(body).get("code", ""))
    except (ValueError, AttributeError):
        return ""


def _error(status: int, code: str = "") -> StatveilError:
    """A refusal of one table is one of our errors; who is turned away whatever they ask for finds the server closed."""
    if status in (401, 404) or code == "role":
        return ServerClosed(f"The server does not let us in: it answered with status {status}.", hint=_KEY)
    return _ERRORS.get(status, BackendError)(f"The server answered with status {status}.")


def table_of(content: Mapping[str, Any], trace: Trace) -> AnswerTable:
    """A JSON-stat 2.0 data set as numbers in whole units."""
    decimals = int(content.get("extension", {}).get("decimals", 0))
    axes = tuple(AnswerAxis(id=name, codes=_codes(content["dimension"][name]["category"])) for name in content["id"])
    shape = tuple(content["size"])
    values, shown = np.zeros(int(np.prod(shape)), dtype=np.int64), np.zeros(int(np.prod(shape)), dtype=np.bool_)
    found = content["value"]
    for place, number in found.items() if isinstance(found, Mapping) else enumerate(found):
        if number is not None:
            values[int(place)], shown[int(place)] = round(number * 10**decimals), True
    return AnswerTable(axes=axes, values=values.reshape(shape), shown=shown.reshape(shape), decimals=decimals, trace=trace)


def _codes(category: Mapping[str, Any]) -> tuple[str, ...]:
    index = category.get("index", list(category.get("label", {})))
    return tuple(sorted(index, key=index.__getitem__)) if isinstance(index, Mapping) else tuple(index)
