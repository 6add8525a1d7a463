"""What processes use together is looked at while they run, not added up from peaks at different times."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from statveil.solve import memory

GIANT = 2**50


def test_a_child_counts_while_it_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """A child holds some 60 megabytes and says so; what is seen is this process and at least that."""
    monkeypatch.setattr(memory, "_together", [0])
    memory.look([])
    alone = memory._together[0]
    program = "block = b'x' * 60_000_000; print(len(block), flush=True); input()"
    with subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        memory.look([child.pid])
        child.kill()
    assert memory._together[0] > alone + 60_000_000


def test_peaks_at_different_moments_are_not_added(monkeypatch: pytest.MonkeyPatch) -> None:
    """The child had much when this process had little, and little when it had much: 70, not 110."""
    monkeypatch.setattr(memory, "_together", [0])
    for own, child in ((10, 60), (50, 5)):
        used = {os.getpid(): own * GIANT, 1: child * GIANT}
        monkeypatch.setattr(memory, "_resident", used.__getitem__)
        memory.look([1])
    assert memory.peak_mb() == 70 * GIANT / 2**20


def test_a_process_that_is_gone_uses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "_together", [0])
    assert memory._resident(2**22 + 1) == 0


def test_without_a_word_on_memory_the_peak_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory.sys, "platform", "win32")
    assert memory.peak_mb() is None
