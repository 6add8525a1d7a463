"""Whatever happens to a solver's process, its parent lives, hears all it said, and is told how it ended."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from statveil.core.errors import InfeasibleProblem, SolverFailed
from statveil.core.limits import Limits, Progress
from statveil.protect.adjust import adjust_problem
from statveil.solve import processes
from statveil.solve.processes import Halt, run_isolated
from statveil_lab.generators.random_tables import random_problem
from tests.protect.problems import problem_of
from tests.solve import jobs

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 60.0
"""Seconds that no test comes near unless something hangs."""


@pytest.fixture(autouse=True)
def _own_children(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Children that find the jobs of these tests, and none left over before or after."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT / "src"), str(ROOT)]))
    children: list[Any] = []
    monkeypatch.setattr(processes, "_idle", children)
    yield
    for child in children:
        processes._stop(child)


def heard(function: Callable[..., None], *arguments: Any, seconds: float = PATIENCE) -> tuple[Halt, list[Any]]:
    messages: list[Any] = []
    halt = run_isolated([(function, arguments)], seconds=seconds, on_message=messages.append)
    return halt, messages


def is_gone(process: int) -> bool:
    """Whether the process ends soon: ended and forgotten, or ended and waiting to be."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        try:
            os.kill(process, 0)
            if Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] == "Z":
                return True
        except (ProcessLookupError, FileNotFoundError):
            return True
        time.sleep(0.02)
    return False


# -- as it should be ----------------------------------------------------------------------------------------------------


def test_messages_arrive_in_order() -> None:
    assert heard(jobs.count_to, 4) == (Halt.FINISHED, [1, 2, 3, 4])


def test_the_process_is_another_one_and_is_used_again() -> None:
    (_, [first]), (_, [second]) = heard(jobs.tell_process), heard(jobs.tell_process)
    assert first == second != os.getpid()


def test_large_contents_travel_both_ways() -> None:
    content = np.arange(3_000_000)
    halt, [back] = heard(jobs.send_back, content)
    assert halt is Halt.FINISHED
    assert np.array_equal(content, back)


def test_what_a_solver_prints_does_not_disturb() -> None:
    assert heard(jobs.chatter) == (Halt.FINISHED, ["the answer"])


def test_several_calls_run_side_by_side() -> None:
    processes: list[int] = []
    assert run_isolated([(jobs.tell_process, ())] * 3, seconds=PATIENCE, on_message=processes.append) is Halt.FINISHED
    assert len(set(processes)) == 3


def test_no_call_is_finished_at_once() -> None:
    assert run_isolated([], seconds=PATIENCE, on_message=print) is Halt.FINISHED


# -- out of time --------------------------------------------------------------------------------------------------------


def test_a_child_that_sleeps_for_ever_is_killed_and_its_messages_are_kept() -> None:
    heard(jobs.tell_process)  # the child is awake
    halt, [process, words] = heard(jobs.sleep_for_ever, seconds=2.5)
    assert halt is Halt.OUT_OF_TIME
    assert words == "asleep"
    assert is_gone(process)


def test_a_child_that_never_stops_talking_is_killed_too() -> None:
    processes: set[int] = set()
    heard(jobs.tell_process)  # the child is awake
    assert run_isolated([(jobs.talk_for_ever, ())], seconds=2.5, on_message=processes.add) is Halt.OUT_OF_TIME
    assert is_gone(processes.pop())


def test_the_quick_of_two_is_heard_and_the_slow_one_killed() -> None:
    messages: list[Any] = []
    run_isolated([(jobs.tell_process, ())] * 2, seconds=PATIENCE, on_message=lambda _: None)  # the children are awake
    calls = [(jobs.sleep_for_ever, ()), (jobs.count_to, (2,))]
    assert run_isolated(calls, seconds=2.5, on_message=messages.append) is Halt.OUT_OF_TIME
    assert {1, 2, "asleep"} <= set(messages)
    assert len(processes._idle) == 1


def test_who_is_told_that_it_is_over_stops_before_the_time_given() -> None:
    """What is heard may shorten the time: what comes after it is to be paid for from it."""
    messages: list[Any] = []
    halt = run_isolated([(jobs.sleep_for_ever, ())], seconds=PATIENCE, on_message=messages.append, over=lambda: "asleep" in messages)
    assert halt is Halt.OUT_OF_TIME
    assert is_gone(messages[0])


@pytest.mark.parametrize("failing", [jobs.stumble, jobs.kill_itself], ids=["it raises", "it is killed"])
def test_a_failure_of_one_is_told_once_the_others_have_ended(failing: Callable[..., None]) -> None:
    messages: list[Any] = []
    with pytest.raises(SolverFailed):
        run_isolated([(failing, ()), (jobs.count_late, (3,))], seconds=PATIENCE, on_message=messages.append)
    assert {1, 2, 3} <= set(messages)


def test_a_failure_does_not_outlast_the_time() -> None:
    messages: list[Any] = []
    assert run_isolated([(jobs.sleep_for_ever, ()), (jobs.stumble, ())], seconds=2.0, on_message=messages.append) is Halt.OUT_OF_TIME
    assert all(is_gone(process) for process in messages if process != "asleep")


def test_a_table_found_outlives_the_process_that_found_it() -> None:
    """A process killed in mid-run, as by a system short of memory: the best table so far is the answer."""
    problem = random_problem((12, 12, 12), seed=0)
    stages: list[str] = []
    killed: list[int] = []

    def kill_at_the_first_table(progress: Progress) -> None:
        stages.append(progress.stage)
        if np.isfinite(progress.objective) and not killed:
            killed.extend(children_of(os.getpid()))
            for child in killed:
                os.kill(child, signal.SIGKILL)

    adjustment = adjust_problem(problem, method="ising", limits=Limits(seconds=PATIENCE), on_progress=kill_at_the_first_table)
    assert problem.accepts(adjustment.deviation)
    assert stages[-2:] == ["a process failed; the best table so far is kept", "bound checked"]


def children_of(parent: int) -> list[int]:
    """The solver's processes whose parent this is; others may belong to other tests, such as a server."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            own = int(path.read_text(encoding="utf-8").rpartition(")")[2].split()[1]) == parent
            if own and b"statveil.solve.processes" in path.with_name("cmdline").read_bytes():
                found.append(int(path.parent.name))
    return found


def test_after_a_killed_child_the_next_call_works() -> None:
    heard(jobs.sleep_for_ever, seconds=1.0)
    assert heard(jobs.count_to, 2) == (Halt.FINISHED, [1, 2])


# -- failures -----------------------------------------------------------------------------------------------------------


def test_an_error_in_the_child_tells_its_kind_and_no_value() -> None:
    with pytest.raises(SolverFailed) as failure:
        heard(jobs.stumble)
    assert "ValueError" in str(failure.value)
    assert "4711" not in str(failure.value)
    assert "90125" not in str(failure.value)


def test_a_child_that_failed_is_not_used_again() -> None:
    messages: list[int] = []
    with pytest.raises(SolverFailed):
        run_isolated([(jobs.stumble, ())], seconds=PATIENCE, on_message=messages.append)
    assert is_gone(messages[0])


def test_our_own_errors_pass_through_with_their_hint() -> None:
    with pytest.raises(InfeasibleProblem) as failure:
        heard(jobs.find_nothing)
    assert str(failure.value) == "There is none. Widen the bounds."
    assert (failure.value.message, failure.value.hint) == ("There is none.", "Widen the bounds.")


def test_a_child_out_of_memory_says_so() -> None:
    with pytest.raises(SolverFailed, match="out of memory"):
        heard(jobs.eat_all_memory)


def test_a_child_that_dies_is_told_and_its_last_words_are_kept() -> None:
    messages: list[str] = []
    with pytest.raises(SolverFailed, match="ended without an answer"):
        run_isolated([(jobs.kill_itself, ())], seconds=PATIENCE, on_message=messages.append)
    assert messages == ["last words"]


def test_what_cannot_be_sent_is_a_failure_of_the_child() -> None:
    with pytest.raises(SolverFailed):
        heard(jobs.send_what_cannot_be_sent)


def test_a_call_that_the_child_cannot_read_fails_at_once() -> None:
    with pytest.raises(SolverFailed) as failure:
        heard(jobs.send_back, jobs.Unreadable())
    assert "4711" not in str(failure.value)


def test_an_idle_child_that_died_meanwhile_is_replaced() -> None:
    _, [process] = heard(jobs.tell_process)
    os.kill(process, signal.SIGKILL)
    assert is_gone(process)
    halt, [other] = heard(jobs.tell_process)
    assert halt is Halt.FINISHED
    assert other != process


def test_an_error_of_the_listener_ends_the_child() -> None:
    processes: list[int] = []

    def listen(message: Any) -> None:
        processes.append(message)
        raise RuntimeError("no more")

    with pytest.raises(RuntimeError, match="no more"):
        run_isolated([(jobs.sleep_for_ever, ())], seconds=PATIENCE, on_message=listen)
    assert is_gone(processes[0])


# -- ctrl-C -------------------------------------------------------------------------------------------------------------


def test_ctrl_c_ends_the_child_and_is_not_raised() -> None:
    processes: list[int] = []

    def listen(message: Any) -> None:
        processes.append(message)
        raise KeyboardInterrupt

    assert run_isolated([(jobs.sleep_for_ever, ())], seconds=PATIENCE, on_message=listen) is Halt.INTERRUPTED
    assert is_gone(processes[0])


def test_ctrl_c_keeps_the_best_table_so_far() -> None:
    problem = problem_of([10, 20, 30, 60], [[1, 1, 1, -1]], levels={0: 4})

    def stop_at_the_first_table(progress: Progress) -> None:
        if np.isfinite(progress.objective):
            raise KeyboardInterrupt

    adjustment = adjust_problem(problem, limits=Limits(seconds=PATIENCE), on_progress=stop_at_the_first_table)
    assert problem.accepts(adjustment.deviation)
    assert adjustment.objective == problem.cost(adjustment.deviation)


HARD = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
import numpy as np
from statveil.protect.adjust import adjust_problem
from statveil.core.limits import Limits
from tests.protect.problems import problem_of
from tests.protect.problems import two_way_relations
from tests.protect.problems import with_margins
rng = np.random.default_rng(3)
value = with_margins(rng.integers(1, 1000, (40, 40))).ravel()
cells = rng.choice(value.size, 300, replace=False)
levels = {cell: tuple(pair) for cell, pair in zip(cells.tolist(), rng.integers(1, 150, (300, 2)).tolist())}
problem = problem_of(value, two_way_relations(40, 40), levels=levels)
told = []
def tell(progress):
    if np.isfinite(progress.objective) and not told:
        told.append(progress)
        print("a table", flush=True)
adjustment = adjust_problem(problem, method="exact", limits=Limits(seconds=500), on_progress=tell)
print("accepted" if problem.accepts(adjustment.deviation) else "refused", adjustment.ending, flush=True)
"""


def test_ctrl_c_in_a_hard_problem_gives_the_best_table_at_once() -> None:
    with subprocess.Popen([sys.executable, "-c", HARD], stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout is not None
        assert run.stdout.readline() == "a table\n"
        run.send_signal(signal.SIGINT)
        out, _ = run.communicate(timeout=PATIENCE)
    assert out == "accepted feasible\n"
    assert run.returncode == 0


ORPHAN = """
from statveil.solve.processes import run_isolated
from tests.solve.jobs import sleep_for_ever
run_isolated([(sleep_for_ever, ())], seconds=500, on_message=lambda message: print(message, flush=True))
"""


def test_a_child_dies_with_its_parent() -> None:
    with subprocess.Popen([sys.executable, "-c", ORPHAN], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        process = int(parent.stdout.readline())
        parent.kill()
    assert is_gone(process)


GIANT = 2**50


def test_a_child_counts_while_it_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """A child holds some 60 megabytes and says so; what is seen is this process and at least that."""
    monkeypatch.setattr(processes, "_most_memory", [0])
    processes.note_memory([])
    alone = processes._most_memory[0]
    program = "block = b'x' * 60_000_000; print(len(block), flush=True); input()"
    with subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        processes.note_memory([child.pid])
        child.kill()
    assert processes._most_memory[0] > alone + 60_000_000


def test_peaks_at_different_moments_are_not_added(monkeypatch: pytest.MonkeyPatch) -> None:
    """The child had much when this process had little, and little when it had much: 70, not 110."""
    monkeypatch.setattr(processes, "_most_memory", [0])
    for own, child in ((10, 60), (50, 5)):
        used = {os.getpid(): own * GIANT, 1: child * GIANT}
        monkeypatch.setattr(processes, "_resident", used.__getitem__)
        processes.note_memory([1])
    assert processes.peak_mb() == 70 * GIANT / 2**20


def test_a_process_that_is_gone_uses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "_most_memory", [0])
    assert processes._resident(2**22 + 1) == 0


def test_without_a_word_on_memory_the_peak_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes.sys, "platform", "win32")
    assert processes.peak_mb() is None
