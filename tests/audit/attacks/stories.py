"""Cases for the attacks: a village, a server, and as much effort as a test can spare."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from statveil.audit.attacks.attacker import Attacker, AttackJournal, Effort
from statveil.audit.attacks.case import Case, Truth
from statveil.audit.attacks.public import TableServer
from statveil.core.errors import DisclosureRefused
from tests.reference.servers import RULES, Server, Village

LITTLE = Effort(tables=24, rows=4, sets=50, pairs=40, cells=15, reversals=2)


@cache
def village(**settings: Any) -> Village:
    return Village(**settings)


def case(server: Server, *, effort: Effort = LITTLE, **more: Any) -> Case:
    place = server.village
    journal = AttackJournal(place.register, server.catalogue, server)
    return Case(attacker=Attacker(journal=journal, effort=effort), truth=server.truth, **more)


def closed(server: Server) -> Case:
    """The same with nobody to ask: nothing was released."""
    place = server.village
    return Case(attacker=Attacker(journal=AttackJournal(place.register, server.catalogue), effort=LITTLE), truth=server.truth)


class OperatorSide:
    """The operator of a reference server. `permanent`: units keep their factors from period to period."""

    def __init__(self, server: Server, *, permanent: bool = True, careful: bool = True) -> None:
        self.server, self.permanent, self.careful = server, permanent, careful

    def reopened(self) -> Sequence[TableServer]:
        key = self.server.key if self.careful else "another key"
        return [type(self.server)(self.server.village, catalogue=self.server.catalogue, key=key)]

    def rekeyed(self) -> TableServer:
        if self.careful:
            raise DisclosureRefused("The store belongs to another key.")
        return type(self.server)(self.server.village, catalogue=self.server.catalogue, key="another key")

    def periods(self, count: int) -> Sequence[tuple[TableServer, Truth]]:
        place, found = self.server.village, []
        for number in range(count):
            rng = np.random.Generator(np.random.PCG64(number))
            values = {name: np.rint(v * rng.uniform(0.995, 1.005, v.size)).astype(np.int64) for name, v in place.values.items()}
            key = self.server.key if self.permanent else f"{self.server.key} {number}"
            server = type(self.server)(place, catalogue=self.server.catalogue, key=key, values=values)
            found.append((server, Truth(place.register, values, RULES)))
        return found
