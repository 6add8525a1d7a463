"""The target as total minus what stands beside it (T04)."""

from __future__ import annotations

from statveil.audit.attacks.attacker import crossings
from statveil.audit.attacks.many_tables.complement import estimates
from tests.audit.attacks.stories import case, village
from tests.reference import servers


def test_bare_answers_leave_the_true_value() -> None:
    found = case(servers.Bare(village(records=200)))
    numbers = found.attacker.journal.ask_all(crossings(found.attacker, found.measure)[:4])
    seen = found.seen(numbers, measure=found.measure)
    assert seen.truth is not None
    guesses = estimates(found.attacker, numbers, seen.releases, seen.releases.key)
    truth = dict(zip(seen.releases.key.tolist(), seen.truth.value.tolist(), strict=True))
    assert guesses
    assert all(guess == (truth[key], truth[key], truth[key]) for key, guess in guesses.items())  # median, mode and mean
