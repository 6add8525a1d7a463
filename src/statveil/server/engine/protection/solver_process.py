"""Stage two in a process of its own: solvers hang, crash and eat memory, and then only that process is lost (docs/threats.md, section 10;
F06).

The child gets the cells of one table and nothing else: no key, no handle of the store, no records. It may use so much memory and so
much time; one second later it is killed.
"""

from __future__ import annotations

import resource
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from statveil.core.errors import OutOfTime
from statveil.jobs.server_config import Mode
from statveil.server.engine.dataset import NO_PRINTS, MeasureBlock
from statveil.server.engine.protection.stage_one import CellTable
from statveil.server.engine.protection.stage_two import ASK_OTHERWISE, Fences, Pins, Solved, solve_table
from statveil.solve.processes import Halt, Send, run_isolated

GRACE_SECONDS = 1.0
_NOTHING = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, kw_only=True)
class SolverApart:
    """`solve_table` with a limit of memory that is kept, and a limit of time that is kept whatever the solver does."""

    memory_megabytes: int

    def __call__(
        self, cells: CellTable, block: MeasureBlock, *, mode: Mode, cap: float, pins: Pins, fences: Fences, seconds: float
    ) -> Solved:
        told = {"mode": mode, "cap": cap, "pins": pins, "fences": fences, "seconds": seconds}
        found: list[Solved] = []
        call = (_solve, (cells, _without_records(block), told, self.memory_megabytes << 20))
        halt = run_isolated([call], seconds=seconds + GRACE_SECONDS, on_message=found.append)
        if halt is not Halt.FINISHED or not found:
            raise OutOfTime("The table was not protected in the time allowed.", hint=ASK_OTHERWISE)
        return found[0]


def warm_up() -> None:
    """Start a child and let it import what it needs, so that the first request does not wait for that."""
    run_isolated([(_ready, ())], seconds=60, on_message=lambda _: False)


def _ready(send: Send) -> None:
    """In the child: what this module imports is there by now, but for the solver."""
    import statveil.solve.highs

    send(statveil.solve.highs.__name__)


def _without_records(block: MeasureBlock) -> MeasureBlock:
    """What stage two asks about a measure; it does not ask about records."""
    unused: dict[str, Any] = dict.fromkeys(("start", "leaf", "value", "reference", "low", "high", "sign", "tie"), _NOTHING)
    return replace(block, **unused, settled=NO_PRINTS)


def _solve(cells: CellTable, block: MeasureBlock, told: dict[str, Any], memory: int, send: Send) -> None:
    """In the child."""
    limit_child(memory)
    send(solve_table(cells, block, **told))


def limit_child(memory: int) -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
