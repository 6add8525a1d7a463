"""Method `auto`: members chosen by structure and size, until the time, the gap or the ideas run out (docs/science.md, section 4).

Two teams work side by side, one a core, and do not talk, so that what each finds depends on the seed alone:
- the *proof* team dives for a good table and then runs branch and bound with the cuts of the lower bound;
- the *search* team walks, polishes senses by the Ising form, flips them by dual prices, kicks them, and dives.
- the *blocks* team polishes shortly and then reopens neighbourhoods by branch and bound.
Few choices need no search; very many leave no hope of a proof, and both teams search, from different seeds; where there are too
many for dives, the second one works by blocks.
"""

from __future__ import annotations

from collections.abc import Callable

from statveil.protect.problem import ProtectionProblem
from statveil.protect.search.exact import solve_exactly
from statveil.protect.search.local import anneal, dive, flips, ising, nearby, walk
from statveil.protect.search.papers import sat
from statveil.protect.search.state import Search

PROOF_ALONE_UP_TO = 12
PROOF_UP_TO = 250
"""Cells with a choice up to which branch and bound is worth a core."""
DIVES = 4
SLOW_PROGRAM = 5_000
"""Cells from which one linear program may take seconds."""
CROWDED = 50
"""Cells that each part is in, on average, from which walks are ahead of programs: 81 in four trees of two levels, 27 in three."""
WALKS = 7
"""Rounds of moves, each twice as long as the one before, on large tables: before any program."""
MOVES = 500_000
"""Of parts in the first of the two rounds of a turn."""
FEW_ROUNDS = 10
"""Of clauses and programs, where there is a table already: tables that need more of them are seldom worth the time."""
KICKS = 25
"""Of the best senses in a row that bring nothing: then the search goes on to something else."""
IDLE_TURNS = 12
"""Turns of the search team in a row that bring nothing: then it ends."""


def teams_for(problem: ProtectionProblem) -> list[str]:
    """The roles to run side by side."""
    choices = count_choices(problem)
    if choices <= PROOF_ALONE_UP_TO:
        return ["proof"]
    if problem.norm != "l1":
        return ["search", "blocks"]
    if choices <= PROOF_UP_TO:
        return ["proof", "search"]
    return ["search", "search"] if choices <= dive.MOST_CHOICES or problem.variant == "exact" else ["search", "blocks"]


def count_choices(problem: ProtectionProblem) -> int:
    return int((problem.can_go_up & problem.can_go_down).sum())


def run(search: Search, *, role: str = "proof") -> None:
    """A first table whatever happens, then the role's own work."""
    first_table(search)
    if search.done:
        return
    if walks(search):
        walk.walk_in_rounds(search, rounds=WALKS)
    if role == "proof":
        prove(search)
    elif role == "blocks":
        reopen(search)
    else:
        improve(search)


def first_table(search: Search) -> None:
    """Annealed senses; if they leave no table, all cells up, then senses near the annealed ones that satisfy all relations one by one.

    On a large table of many dimensions parts are raised instead, and the table walks from there: a program may take all the time.
    """
    if walks(search) and search.start is None:
        walk.raise_parts(search)
        walk.walk_in_rounds(search, rounds=1)
        if search.best is not None:
            return
    search.enter("balancing senses")
    senses = anneal.anneal_senses(search, start=search.start)
    if search.try_senses(senses):
        return
    search.enter("all up")
    search.try_senses(anneal.all_up(search.problem))
    search.enter("satisfying relations")
    sat.find_feasible(search, senses, rounds=sat.ROUNDS if search.best is None else FEW_ROUNDS)


def walks(search: Search) -> bool:
    """Whether programs are slow and hardly any senses leave a table, as in four dimensions, so that moves of parts take their place."""
    parts = search.program.parts_to_round if search.problem.size >= SLOW_PROGRAM else None
    return parts is not None and walk.fits(search) and walk.cells_of_a_part(parts) >= CROWDED


def prove(search: Search) -> None:
    """Dives for a good incumbent, which tightens every bound; then branch and bound to the end."""
    if count_choices(search.problem) > 8:
        dive.run(search, dives=DIVES, patience=2 * DIVES)
    if not search.done:
        solve_exactly(search)


class Resting:
    """A member that takes long: each time it brings nothing it sits out more turns, one, then three, then seven."""

    def __init__(self, act: Callable[[], None]) -> None:
        self._act, self._missed, self._resting = act, 0, 0

    def take_turn(self, search: Search) -> None:
        if self._resting > 0:
            self._resting -= 1
            return
        before = search.objective
        self._act()
        self._missed = 0 if search.objective < before else self._missed + 1
        self._resting = 2**self._missed - 1


def improve(search: Search) -> None:
    """Members in turn, until several turns in a row bring nothing. For L2 they are those that need no duals of a linear program."""
    linear = search.problem.norm == "l1"
    walking = Resting(lambda: walk.walk_in_rounds(search, rounds=2, moves=MOVES))
    shaking = Resting(lambda: flips.kick(search, patience=KICKS) if linear else nearby.run(search, patience=20))
    diving = Resting(lambda: dive.run(search, dives=DIVES, patience=40))
    idle = 0
    while idle < IDLE_TURNS and not search.done:
        before = search.objective
        if walk.pays(search):
            walking.take_turn(search)
        if ising.fits(search.problem) and not search.done:
            search.enter("polishing senses")
            ising.polish(search)
        if linear and search.best is not None and not search.done:
            search.enter("flipping senses")
            flips.flip_while_better(search, search.problem.senses_of(search.best))
        if search.problem.size < SLOW_PROGRAM and not search.done:
            shaking.take_turn(search)
        if linear and count_choices(search.problem) <= dive.MOST_CHOICES and not search.done:
            diving.take_turn(search)
        idle = 0 if search.objective < before else idle + 1


def reopen(search: Search) -> None:
    """A short polish, then neighbourhoods of the best table until a whole turn brings nothing."""
    if ising.fits(search.problem):
        search.enter("polishing senses")
        ising.polish(search, restarts=1, patience=10)
    if not search.done:
        nearby.run(search, patience=200)
