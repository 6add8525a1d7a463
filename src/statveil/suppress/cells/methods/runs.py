"""What runs a method that has rules of its own: its pattern first, then whatever is still open, met by cheapest deviations."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from statveil.core.arrays import BoolArray
from statveil.core.errors import InputError
from statveil.suppress.cells.auto import PatternNews, repaired
from statveil.suppress.cells.classes import ClassSystem
from statveil.suppress.cells.heuristic import Cover, construct
from statveil.suppress.cells.methods.elimination import elimination_pattern
from statveil.suppress.cells.methods.hypercube import hypercube_pattern
from statveil.suppress.cells.methods.modular import modular_pattern
from statveil.suppress.cells.options import BY_TABLES, SuppressionOptions
from statveil.suppress.cells.problem import SuppressionProblem


class RunTuning(NamedTuple):
    """By judgement."""

    for_rules: float = 0.6
    """Of the time, for a method's own rules."""


TUNING = RunTuning()


def check_method(problem: SuppressionProblem, method: str) -> None:
    """Whether a method is made for this problem."""
    if method in BY_TABLES and not problem.shapes:
        raise InputError(
            f"The method {method} works by the codes of a table, and a linear system has none.",
            hint="Give the table itself (.tab, .sbs, a job), or take auto, optimal or elimination.",
        )
    if method != "network":
        return
    two = len(problem.shapes) == 1 and len(problem.shapes[0].families) == 2
    if not two or problem.shapes[0].hierarchies not in ([], [0]):
        raise InputError(
            "The method network is for one table of two variables, a hierarchy in the first one only.",
            hint="Put the variable with the hierarchy first, or take auto or modular.",
        )


def run_hypercube(
    problem: SuppressionProblem, system: ClassSystem, options: SuppressionOptions, seconds: float, send: Callable[[Any], None]
) -> None:
    began = time.monotonic()
    cubes = hypercube_pattern(problem, problem.shapes, options.hypercube)
    words = f"{cubes.narrowed} cells in a narrower cube than wanted, {cubes.without} in none" if cubes.narrowed + cubes.without else ""
    _mended(problem, system, cubes.suppressed, began + seconds, send, words)


def run_modular(
    problem: SuppressionProblem, system: ClassSystem, options: SuppressionOptions, seconds: float, send: Callable[[Any], None]
) -> None:
    began = time.monotonic()
    modules = modular_pattern(problem, problem.shapes, options.modular, began + TUNING.for_rules * seconds)
    words = f"{modules.reopened} tables solved again, {modules.without} without a pattern" if modules.reopened + modules.without else ""
    _mended(problem, system, modules.suppressed, began + seconds, send, words)


def run_network(
    problem: SuppressionProblem, system: ClassSystem, options: SuppressionOptions, seconds: float, send: Callable[[Any], None]
) -> None:
    """The cheapest flow for each need in turn; of such tables the cheapest deviation is a flow, and whole."""
    del options
    cover = construct(system, time.monotonic() + seconds)
    own = _cells_of(problem, system, cover.suppressed)
    repaired(cover, system.needs)
    send(PatternNews("cheapest flows", cover.suppressed.copy(), dict(cover.proofs), own=own))


def run_elimination(
    problem: SuppressionProblem, system: ClassSystem, options: SuppressionOptions, seconds: float, send: Callable[[Any], None]
) -> None:
    """Nothing is shown of intervals: the audit's algebra is what such a pattern must pass."""
    del options
    cover = Cover(system, time.monotonic() + seconds)
    cover.suppressed = elimination_pattern(system)
    own = _cells_of(problem, system, cover.suppressed)
    repaired(cover, ())
    send(PatternNews("elimination", cover.suppressed.copy(), dict(cover.proofs), own=own))


def _mended(
    problem: SuppressionProblem, system: ClassSystem, cells: BoolArray, deadline: float, send: Callable[[Any], None], words: str
) -> None:
    """Classes with a suppressed cell are suppressed; needs without a witness within them get one, with what it takes."""
    cover = Cover(system, deadline)
    cover.suppressed[system.of_cell[cells & (system.of_cell >= 0)]] = True
    own = _cells_of(problem, system, cover.suppressed)
    cover.meet_all(system.needs)
    repaired(cover, system.needs)
    stage = "by its own rules, mended" + (f" ({words})" if words else "")
    send(PatternNews(stage, cover.suppressed.copy(), dict(cover.proofs), own=own))


def _cells_of(problem: SuppressionProblem, system: ClassSystem, classes: BoolArray) -> int:
    """Secondary cells of these classes."""
    return int(np.count_nonzero(system.cells(classes) & ~problem.primary & ~problem.hidden))
