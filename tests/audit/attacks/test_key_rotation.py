"""A server that another key may open on the same store answers everything anew (T22)."""

from __future__ import annotations

import pytest

from statveil.audit.attacks.attacker import plain
from statveil.audit.attacks.case import Case
from statveil.audit.attacks.key_rotation import attack
from statveil.audit.attacks.verdict import VerdictStatus
from tests.audit.attacks.stories import OperatorSide, case, village
from tests.reference import servers


def asked(*, careful: bool) -> Case:
    server = servers.Bare(village(records=50))
    found = case(server, operator=OperatorSide(server, careful=careful))
    request = plain(found.attacker, found.measure)
    assert request is not None
    found.attacker.journal.ask(request)
    return found


@pytest.mark.parametrize(("careful", "status"), [(True, VerdictStatus.PASSED), (False, VerdictStatus.FAILED)])
def test_a_store_knows_its_key(careful: bool, status: VerdictStatus) -> None:
    assert attack(asked(careful=careful)).status is status


def test_without_an_operator_nothing_is_tried() -> None:
    assert attack(case(servers.Bare(village(records=50)))).status is VerdictStatus.NOT_APPLICABLE
