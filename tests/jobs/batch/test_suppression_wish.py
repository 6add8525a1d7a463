"""What SUPPRESS asks for, by its numbers."""

from __future__ import annotations

import pytest

from statveil.core.errors import InputError
from statveil.core.limits import Limits
from statveil.formats.argus.batch_commands import Suppress
from statveil.jobs.batch.run import run_batch
from statveil.jobs.batch.suppression_wish import suppression_ask
from tests.formats.argus.batches import read_batch
from tests.jobs.batch.with_gaps import RULE, Batch


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("GH(1,100,2)", "line 6: hypercube reads GH"),
        ("GH(1,x)", "line 6: hypercube reads GH"),
        ("GH(1,100,0,7)", "line 6: hypercube reads GH"),
        ("MOD(1,0)", "line 6: modular reads MOD"),
        ("MOD(1,5,1,1,1,1,1.5,1)", "line 6: modular reads MOD"),
        ("OPT(1,0)", "line 6: optimal reads OPT"),
        ("OPT(0,5)", r"SUPPRESS OPT\(0\) \(all tables linked\) is not done"),
        ("NET(1,5)", "line 6: network reads NET"),
        ("CKM(1)", r"SUPPRESS CKM \(cell key\) is not done"),
    ],
)
def test_numbers_that_say_nothing_are_refused_before_anything_runs(batch: Batch, command: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        run_batch(batch(RULE, f"<SUPPRESS> {command}"))


def test_every_number_is_obeyed(batch: Batch) -> None:
    def ask(words: str):
        (command,) = (each for each in read_batch(batch(RULE, f"<SUPPRESS> {words}")).commands if isinstance(each, Suppress))
        return suppression_ask(command)

    cubes = ask("GH(1,75,0,0)").options.hypercube
    assert (cubes.known_percent, cubes.singleton) == (75.0, False)
    asked = ask("MOD(1,5,0,1,1,20000,0.9,1.1)")
    modules = asked.options.modular
    assert (modules.minutes, modules.two_singletons, modules.singleton_and_other, modules.margins) == (5.0, False, True, (0.9, 1.1))
    assert asked.sums_of_two
    assert ask("OPT(1,2)").limits(Limits(seconds=300)).seconds == 120
    assert ask("MOD(1)").limits(Limits(seconds=300)).seconds == 300
