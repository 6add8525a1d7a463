"""A live server over HTTP as a door: an API key, the addresses under /v1, nothing else."""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import Any

import numpy as np

from statveil.attacked.sums import added_up
from statveil.audit.attacks.public import Catalogue, PublicAxis, PublicTable, Request, Trace
from statveil.errors import BackendError, DisclosureRefused, InputError, OutOfTime, StatveilError

PATIENCE = 300.0
"""Seconds to wait for a table that the server promised."""
BUSY = (429, 503)
_ERRORS: Mapping[int, type[StatveilError]] = {403: DisclosureRefused, 409: DisclosureRefused, 422: InputError, 504: OutOfTime}


class WebDoor:
    """Asks a server about one data set; `catalogue` is public knowledge of it."""

    def __init__(self, address: str, api_key: str, dataset: str, catalogue: Catalogue) -> None:
        self._address, self._key, self._dataset = address.rstrip("/"), api_key, dataset
        self.catalogue = catalogue

    def ask(self, request: Request) -> PublicTable:
        return added_up(self._ask, request)

    def _ask(self, request: Request) -> PublicTable:
        wish = {
            "dimensions": [{"id": axis.id, **({} if axis.codes is None else {"codes": list(axis.codes)})} for axis in request.axes],
            "measure": request.measure,
            "filters": {name: list(codes) for name, codes in request.filters},
            "totals": request.totals,
        }
        clock = time.perf_counter()
        status, headers, body = self._send(f"/v1/datasets/{self._dataset}/tables?format=json", json.dumps(wish).encode())
        if status == 202:
            status, headers, body = self._wait(headers["location"])
        trace = Trace(seconds=time.perf_counter() - clock, body=body, headers=headers)
        return table_of(json.loads(body), trace)

    def _wait(self, job: str) -> tuple[int, dict[str, str], bytes]:
        """Come back for a table that takes longer."""
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            state = json.loads(self._send(job, None)[2])
            if state.get("table"):
                return self._send(f"{state['table']}?format=json", None)
            if state.get("problem"):
                raise _error(int(state["problem"].get("status", 503)))
            time.sleep(0.2)
        raise OutOfTime("The server did not finish a table that it promised.")

    def _send(self, address: str, content: bytes | None) -> tuple[int, dict[str, str], bytes]:
        headers = {"Authorization": f"Bearer {self._key}", "Accept": "application/json", "Content-Type": "application/json"}
        message = urllib.request.Request(self._address + address, data=content, headers=headers)
        until = time.monotonic() + PATIENCE
        while True:
            try:
                with urllib.request.urlopen(message, timeout=PATIENCE) as answer:
                    return answer.status, {name.lower(): text for name, text in answer.headers.items()}, answer.read()
            except urllib.error.HTTPError as error:
                if error.code not in BUSY or time.monotonic() > until:
                    raise _error(error.code) from None
                time.sleep(min(float(error.headers.get("Retry-After", 1)), 10.0))
            except urllib.error.URLError:
                raise BackendError("The server does not answer.", hint="Is the address right, and is it running?") from None


def _error(status: int) -> StatveilError:
    kind = _ERRORS.get(status, BackendError)
    return kind(f"The server answered with status {status}.")


def table_of(content: Mapping[str, Any], trace: Trace) -> PublicTable:
    """A JSON-stat 2.0 data set as numbers in whole units."""
    decimals = int(content.get("extension", {}).get("decimals", 0))
    axes = tuple(PublicAxis(id=name, codes=_codes(content["dimension"][name]["category"])) for name in content["id"])
    shape = tuple(content["size"])
    values, shown = np.zeros(int(np.prod(shape)), dtype=np.int64), np.zeros(int(np.prod(shape)), dtype=np.bool_)
    found = content["value"]
    for place, number in found.items() if isinstance(found, Mapping) else enumerate(found):
        if number is not None:
            values[int(place)], shown[int(place)] = round(number * 10**decimals), True
    return PublicTable(axes=axes, values=values.reshape(shape), shown=shown.reshape(shape), decimals=decimals, trace=trace)


def _codes(category: Mapping[str, Any]) -> tuple[str, ...]:
    index = category.get("index", list(category.get("label", {})))
    return tuple(sorted(index, key=index.__getitem__)) if isinstance(index, Mapping) else tuple(index)
