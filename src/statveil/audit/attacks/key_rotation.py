"""T22: another key on the same store would answer everything anew."""

from __future__ import annotations

from statveil.audit.attacks.attacker import AttackJournal, plain
from statveil.audit.attacks.case import Case
from statveil.audit.attacks.verdict import Number, Threat, Verdict, judged, not_applicable
from statveil.core.errors import StatveilError

THREAT = Threat(
    id="T22",
    name="key rotation",
    does="Gets the server started with another key on a store that is not empty: two answers about the same cell.",
    mark="the server refuses to start: 0 answers",
)


def attack(case: Case) -> Verdict:
    journal = case.attacker.journal
    if case.operator is None or not journal.answers:
        return not_applicable(THREAT, "Needs the operator's side: a key and a store that is not empty.")
    try:
        server = case.operator.rekeyed()
    except StatveilError as error:
        return judged(THREAT, passed=True, number="refused, 0 answers", figures={"refused with": type(error).__name__})
    request = plain(case.attacker, case.measure)
    answered = AttackJournal(case.attacker.register, case.attacker.catalogue, server).ask(request) if request else None
    figures: dict[str, Number] = {"started": "yes", "answered": int(answered is not None)}
    return judged(THREAT, passed=False, number="started with another key", figures=figures)
