"""Method `auto`: members chosen by structure and size, until the time, the gap or the ideas run out (docs/science.md, section 4).

Two teams work side by side, one a core, and do not talk, so that what each finds depends on the seed alone. Each is one of these:
- the *proof* team runs branch and bound, on relative signs or, after dives for a good table, with the cuts of the lower bound;
- the *search* team walks, polishes senses by the Ising form, flips them by dual prices, kicks them, and dives.
- the *blocks* team polishes shortly and then reopens neighbourhoods by branch and bound.
- the *cases* and *program* teams take tables whose costs lie on few cells (`search.heavy`).
Few choices need no search; very many leave no hope of a proof, and both teams search, from different seeds; where there are too
many for dives, the second one works by blocks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from statveil.core.arrays import IntArray
from statveil.protect.problem import ProtectionProblem
from statveil.protect.search_state import SIGN_TREES, Search, costs_on_few

if TYPE_CHECKING:
    from statveil.protect.bounds.lifted import LiftedRoot

ROLES = ("proof", "search", "blocks", "cases", "program")


class ChooseTuning(NamedTuple):
    """Sizes that decide who runs, and how much work each member gets; by judgement, but for what is said."""

    network_choices: int = 100  # cells with a choice from which on a network goes to method `network`, if it has many cells
    many_network_choices: int = 250  # and whatever its cells: no branch and bound would end
    network_cells: int = 2_000  # from which a network has many
    network_alone_from: int = 20_000
    """Cells of a network above which no second team reopens neighbourhoods: small networks are often as well served that way."""
    proof_alone_up_to: int = 12  # cells with a choice up to which nothing but a proof is needed
    proof_up_to: int = 250  # cells with a choice up to which branch and bound is worth a core
    dives_up_to: int = 800  # cells with a choice up to which a dive, a program at each step, is affordable
    dear_flips: int = 60
    """Rounds of flips before anything else on such a table: they bring all down from 7.15e16 to 6.54e16 in 1 s on an office's table."""
    dear_share: float = 0.95  # of the time left there, for the tree of cases: its bound rises to the end
    dives: int = 4  # in a row
    slow_program: int = 5_000  # cells from which one linear program may take seconds
    crowded: int = 50
    """Cells that each part is in, on average, from which walks are ahead of programs: 81 in four trees of two levels, 27 in three
    (benchmarks/RESULTS.md, linked codes)."""
    rest: float = 0.2  # of the time left, below which nothing else is tried after a tree of relative signs
    walks: int = 7  # rounds of moves, each twice as long as the one before, on large tables: before any program
    moves: int = 500_000  # of parts in the first of the two rounds of a turn
    few_rounds: int = 10
    """Of clauses and programs, where there is a table already: tables that need more of them are seldom worth the time."""
    first_flips: int = 20
    """Rounds of flips on senses from the products of signs: 200 took 40 of 60 s on hier16, and brought 16 of 76,292."""
    short_patience: int = 60
    """Tries in vain where new starts pay, instead of 150: of 50 CPU s on hier16 flips and kicks took 30 then, and brought nothing."""
    lifted_far: float = 1.02
    """Times the bound of cuts: where lifting brings more, but signs are too many for its tree, no other tree comes up to it."""
    kicks: int = 25  # of the best senses in a row that bring nothing: then the search goes on to something else
    idle_turns: int = 12  # of the search team in a row that bring nothing: then it ends


TUNING = ChooseTuning()


def teams_for(problem: ProtectionProblem) -> list[tuple[str, dict[str, str]]]:
    """The methods to run side by side, with their settings."""
    if not _is_large_network(problem):
        return [("auto", {"role": role}) for role in roles_for(problem)]
    if problem.size <= TUNING.network_alone_from:
        return [("network", {}), ("auto", {"role": "blocks"})]
    from statveil.protect.network import engine

    apart = engine.bound_takes_long(problem)
    return [("network", {"role": role}) for role in ("tables", "bound")] if apart else [("network", {})]


def _is_large_network(problem: ProtectionProblem) -> bool:
    """Whether the problem is a network with so many choices that no branch and bound would end."""
    choices = problem.choices.size
    if choices <= TUNING.network_choices or (choices <= TUNING.many_network_choices and problem.size <= TUNING.network_cells):
        return False
    from statveil.protect.network import engine

    return engine.fits(problem)


def roles_for(problem: ProtectionProblem) -> list[str]:
    """The roles of `auto` to run side by side."""
    choices = problem.choices.size
    if choices <= TUNING.proof_alone_up_to:
        return ["proof"]
    if problem.norm != "l1":
        return ["search", "blocks"]
    if costs_on_few(problem):
        return ["cases", "program"]
    if choices <= TUNING.proof_up_to:
        return ["proof", "search"]
    return ["search", "search"] if choices <= TUNING.dives_up_to or problem.variant == "exact" else ["search", "blocks"]


def run(search: Search, *, role: str = "proof") -> None:
    """A first table whatever happens, then the lower bound, then the role's own work."""
    from statveil.protect.bounds.cuts import bound_by_cuts
    from statveil.protect.bounds.lifted import bound_by_copies
    from statveil.protect.search.local import walk

    lifted = None
    first_table(search)
    if search.bounded:
        search.enter("lower bound")
        bound_by_cuts(search)
    if search.bounded and not search.done and not (role == "search" and SIGN_TREES.fit(search.problem)):
        lifted = bound_by_copies(search)  # where there is a tree, that is the other team's
    if search.done:
        return
    if walks(search):
        walk.walk_in_rounds(search, rounds=TUNING.walks)
    if lifted is not None:
        start_lifted(search, lifted)
    if role in ("cases", "program"):
        settle_dear_cells(search, role)
    elif role == "proof" and not no_tree_helps(lifted):
        prove(search, lifted)
    elif role == "blocks":
        reopen(search)
    else:
        improve(search)


def no_tree_helps(lifted: LiftedRoot | None) -> bool:
    """Whether only lifting brings the bound up, and signs are too many for a tree of it: then both teams search, from different seeds."""
    return lifted is not None and lifted.model.cells.size > SIGN_TREES.most_copies and lifted.far(TUNING.lifted_far)


def settle_dear_cells(search: Search, role: str) -> None:
    """The work of both teams on a table whose costs lie on few cells; what time is left goes to the search's members.

    A dear cell that falls is made good by cheap ones that rise, one that rises needs dear ones to fall: all down is a better start than
    all up. Flips come first: their programs take a tenth of a second, and a tree or a solver that begins at a good table leaves more out.
    """
    from statveil.protect.bounds.branch_and_bound import prove_by_tree
    from statveil.protect.search import heavy
    from statveil.protect.search.local import flips

    def polish(senses: IntArray) -> None:
        flips.flip_while_better(search, senses, rounds=TUNING.dear_flips)

    search.enter("all down")
    search.try_senses(search.problem.all_down())
    if search.best is not None:
        search.enter("flipping senses")
        polish(search.problem.senses_of(search.best))
    if role == "cases":
        prove_by_tree(search, polish=polish, share=TUNING.dear_share)
    else:
        heavy.solve_program(search, polish=polish)
    if not search.done:
        search.enter("flipping senses")
        flips.kick(search, patience=TUNING.kicks)
        improve(search)


def first_table(search: Search) -> None:
    """Parts raised, where that is quick: a table at once, however long programs take. Then annealed senses; if they leave no table, all
    cells up, then senses near the annealed ones that satisfy all relations one by one.

    On a large table of many dimensions the table walks from raised parts instead: a program may take all the time.
    """
    from statveil.protect.search.local import anneal, walk
    from statveil.protect.search.papers import sat

    if search.start is None and walk.fits(search):
        walk.raise_parts(search)
        if walks(search):
            walk.walk_in_rounds(search, rounds=1)
            if search.best is not None:
                return
    search.enter("balancing senses")
    senses = anneal.anneal_senses(search, start=search.start)
    if search.try_senses(senses):
        return
    search.enter("all up")
    search.try_senses(search.problem.all_up())
    search.enter("satisfying relations")
    sat.find_feasible(search, senses, rounds=sat.TUNING.rounds if search.best is None else TUNING.few_rounds)


def walks(search: Search) -> bool:
    """Whether programs are slow and hardly any senses leave a table, as in four dimensions, so that moves of parts take their place."""
    from statveil.protect.search.local import walk

    parts = search.program.parts_to_round if search.problem.size >= TUNING.slow_program else None
    return parts is not None and walk.fits(search) and walk.cells_of_a_part(parts) >= TUNING.crowded


def start_lifted(search: Search, lifted: LiftedRoot) -> None:
    """Senses from the products of signs, and what flips make of the best."""
    from statveil.protect.bounds.lifted import draw_senses
    from statveil.protect.search.local import flips

    draw_senses(search, lifted)
    if search.best is not None and not search.done:
        search.enter("flipping senses")
        flips.flip_while_better(search, search.problem.senses_of(search.best), rounds=TUNING.first_flips)


def prove(search: Search, lifted: LiftedRoot | None) -> None:
    """Branch and bound on relative signs where copies of the table help: best first, it comes to the best table before anything above it.
    Else dives for a good incumbent, which tightens every bound; then branch and bound to the end.
    """
    from statveil.protect.bounds.sign_tree import prove_by_signs
    from statveil.protect.search.exact import solve_exactly
    from statveil.protect.search.local import dive

    left = search.seconds_left
    if lifted is not None and search.problem.choices.size >= SIGN_TREES.fewest_copies:
        prove_by_signs(search, lifted)
    if search.done or search.seconds_left < TUNING.rest * left:
        return
    if search.problem.choices.size > 8:
        dive.run(search, dives=TUNING.dives, patience=2 * TUNING.dives)
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
    from statveil.protect.search.local import dive, flips, ising, nearby, walk

    linear, dear = search.problem.norm == "l1", starts_pay(search.problem)
    walking = Resting(lambda: walk.walk_in_rounds(search, rounds=2, moves=TUNING.moves))
    shaking = Resting(lambda: flips.kick(search, patience=TUNING.kicks) if linear else nearby.run(search, patience=20))
    diving = Resting(lambda: dive.run(search, dives=TUNING.dives, patience=40))
    idle = 0
    while idle < TUNING.idle_turns and not search.done:
        before = search.objective
        if walk.pays(search):
            walking.take_turn(search)
        if ising.fits(search.problem) and not search.done:
            search.enter("polishing senses")
            ising.polish(search, **({"patience": TUNING.short_patience} if dear else {}))
        if linear and search.best is not None and not search.done:
            search.enter("flipping senses")
            flips.flip_while_better(search, search.problem.senses_of(search.best), **({"rounds": TUNING.first_flips} if dear else {}))
        if search.problem.size < TUNING.slow_program and not dear and not search.done:
            shaking.take_turn(search)
        if linear and not dear and search.problem.choices.size <= TUNING.dives_up_to and not search.done:
            diving.take_turn(search)
        idle = 0 if search.objective < before else idle + 1


def starts_pay(problem: ProtectionProblem) -> bool:
    """Whether a program takes as long as several tries of the Ising form: then new starts bring more than flips, kicks and dives do."""
    from statveil.protect.search.local import ising

    return problem.size < TUNING.slow_program and ising.is_slow(problem)


def reopen(search: Search) -> None:
    """A short polish, then neighbourhoods of the best table until a whole turn brings nothing."""
    from statveil.protect.search.local import ising, nearby

    if ising.fits(search.problem):
        search.enter("polishing senses")
        ising.polish(search, restarts=1, patience=10)
    if not search.done:
        nearby.run(search, patience=200)
