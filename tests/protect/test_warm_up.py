"""Compiling after an installation: once; within the limit where there is a table, else before the clock starts."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from statveil.core.errors import OutOfTime
from statveil.core.limits import Limits
from statveil.protect import adjust, run_record, warm_up
from statveil.protect.options import NO_LIMIT
from statveil.protect.system import write_jj
from statveil.solve.processes import Halt
from statveil_lab.generators.random_tables import random_problem


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """As after an installation: nothing says that the loops are compiled."""
    (tmp_path / "marks").mkdir()
    monkeypatch.setattr(warm_up, "_mark", lambda part: tmp_path / "marks" / f"ready-{part}-1")
    monkeypatch.setattr(warm_up, "PACKAGE", tmp_path / "package")
    return tmp_path / "marks"


@pytest.mark.slow
@pytest.mark.parametrize("part", ["search", "network"])
def test_compiles_once_and_leaves_a_mark(fresh: Path, part: warm_up.KernelSet) -> None:
    (fresh / f"ready-{part}-0").touch()  # of an older version
    stages: list[str] = []
    warm_up.make_ready(part, stages.append)
    warm_up.make_ready(part, stages.append)
    assert stages == ["compiling, once after an installation"]
    assert [path.name for path in fresh.iterdir()] == [f"ready-{part}-1"]


RUN = """
import sys
from statveil.cli import main
sys.argv = ["statveil", "protect", *sys.argv[1:], "--seconds", "60", "--out", "table.sol"]
main()
"""


@pytest.mark.slow
def test_a_run_after_it_compiles_nothing_before_its_search(tmp_path: Path) -> None:
    """Reading, presolve and parts that stand alone are compiled too: it took fifteen seconds of the first run."""
    assert warm_up.make_ready("search", lambda _: None) is Halt.FINISHED
    write_jj(warm_up._apart(), tmp_path / "table.jj")
    told = {**os.environ, "NUMBA_DEBUG_CACHE": "1"}
    done = subprocess.run([sys.executable, "-c", RUN, "table.jj"], cwd=tmp_path, env=told, capture_output=True, text=True, check=True)
    assert "data loaded" in done.stdout
    saved = [line for line in done.stdout.splitlines() if "data saved" in line]
    assert [line for line in saved if "/formats/" in line or "/presolve/" in line] == []


def test_what_was_kept_for_other_sources_is_forgotten_first(fresh: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warm_up, "run_isolated", lambda calls, **_: Halt.FINISHED)
    kept = warm_up.PACKAGE / "protect" / "__pycache__" / "simplex.py311.nbi"
    kept.parent.mkdir(parents=True)
    kept.touch()
    warm_up.make_ready("search", lambda _: None)
    assert not kept.exists()
    kept.touch()  # of these very sources
    warm_up.make_ready("network", lambda _: None)
    assert kept.exists()


def test_the_mark_changes_with_the_sources_and_stays_with_them(monkeypatch: pytest.MonkeyPatch) -> None:
    mark = warm_up._mark("search")
    assert mark is not None
    assert mark == warm_up._mark("search")
    assert mark != warm_up._mark("network")
    monkeypatch.setattr(warm_up.numba, "__version__", "another")
    assert mark != warm_up._mark("search")


def test_nothing_is_compiled_where_nothing_can_be_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warm_up.os, "access", lambda path, mode: False)
    stages: list[str] = []
    warm_up.make_ready("network", stages.append)
    assert stages == []


@pytest.mark.parametrize("halt", [Halt.INTERRUPTED, Halt.OUT_OF_TIME])
def test_what_was_not_compiled_to_the_end_leaves_no_mark(fresh: Path, monkeypatch: pytest.MonkeyPatch, halt: Halt) -> None:
    monkeypatch.setattr(warm_up, "run_isolated", lambda calls, **_: halt)
    assert warm_up.make_ready("search", lambda _: None) is halt
    assert not any(fresh.iterdir())


def test_a_run_that_has_a_table_does_not_wait_for_the_compiler_beyond_its_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[float] = []
    monkeypatch.setattr(adjust, "make_ready", lambda part, tell, *, seconds: given.append(seconds) or Halt.OUT_OF_TIME)
    problem = replace(random_problem((3, 3), seed=1), variant="at-least", upper=np.full(16, NO_LIMIT))
    found = adjust.adjust_problem(problem, limits=Limits(seconds=7))
    assert problem.accepts(found.deviation)
    levels = float(problem.weight[problem.sensitive] @ problem.upper_level[problem.sensitive])
    assert (found.bound, found.certified_bound, found.bound_by) == (levels, levels, "cuts"), "what levels cost by themselves"
    assert len(given) == 1
    assert given[0] <= 7


def test_stopped_while_compiling_with_no_table_at_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adjust, "make_ready", lambda part, tell: Halt.INTERRUPTED)
    with pytest.raises(OutOfTime, match="before any safe table"):
        adjust.adjust_problem(random_problem((3, 3), seed=1), method="network")


def test_compiling_without_a_table_does_not_count_in_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(run_record.time, "monotonic", lambda: now[0])
    run = run_record.RunRecord(Limits(seconds=5), None)
    now[0] += 1
    with run.excused():
        now[0] += 40
    now[0] += 2
    assert run.seconds == 3


@pytest.mark.slow
def test_a_table_is_adjusted_after_its_part_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    parts: list[str] = []
    monkeypatch.setattr(adjust, "make_ready", lambda part, tell, **_: parts.append(part) or Halt.FINISHED)
    adjust.adjust_problem(random_problem((3, 3), seed=1))
    assert parts == ["search"]
    adjust.adjust_problem(random_problem((3, 3), seed=1), method="network")
    assert parts == ["search", "search", "network"]
