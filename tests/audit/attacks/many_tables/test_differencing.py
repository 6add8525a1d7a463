"""Cells of two answers that differ by one record are found, and no others (T07)."""

from __future__ import annotations

import itertools

from statveil.audit.attacks.attacker import less_one_code
from statveil.audit.attacks.many_tables.differencing import attack, nested_pairs
from statveil.audit.attacks.verdict import VerdictStatus
from tests.audit.attacks.stories import case, village
from tests.reference import servers


def test_every_pair_is_one_record_apart() -> None:
    attacker = case(servers.Bare(village(records=40))).attacker
    journal, register = attacker.journal, attacker.register
    numbers = journal.ask_all(less_one_code(attacker, "wages"))
    sets = set()
    for number in numbers:
        members: dict[int, set[int]] = {}
        for record, cell in zip(*register.members(journal.answers[number].request, journal.answers[number].table), strict=True):
            members.setdefault(int(cell), set()).add(int(record))
        sets |= {frozenset(each) for each in members.values()}
    wanted = sum(len(one - other) == 1 for one, other in itertools.permutations(sets, 2) if other < one)
    found = nested_pairs(attacker, numbers)
    assert found.record.size == wanted > 0


def test_bare_answers_give_each_record_away() -> None:
    verdict = attack(case(servers.Bare(village(records=300))))
    assert verdict.status is VerdictStatus.FAILED
    assert verdict.figures["exact"] == verdict.figures["pairs"]
