"""Tables in JJ files: method `auto` beside plain HiGHS at equal time, one after the other.

Plain HiGHS gets S3's program (4) on the file's own cells, with no cuts, no start and no preprocessing of ours; where a cell has
no upper bound, all that is forced on the table stands for it. Its figures are as claimed; ours are of whole, verified tables.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from statveil.errors import InputError, StatveilError
from statveil.protect.cta import adjust
from statveil.protect.exact import Disjunctions
from statveil.protect.options import Limits
from statveil.protect.problem import ProtectionProblem
from statveil.protect.search import Search
from statveil.protect.system import SystemWeights, read_jj
from statveil.solve.isolate import Send, run_isolated

GRACE = 5.0
Claim = tuple[float, float, str]


def compare_folder(folder: Path, *, seconds: float, weights: Sequence[SystemWeights], method: str = "auto") -> Iterator[str]:
    """Lines of a Markdown table, one per file and weighting, as they come."""
    files = sorted(folder.glob("*.jj"))
    if not files:
        raise InputError(f"{folder} holds no .jj files.")
    yield f"| table | weights | cells | sensitive | relations | HiGHS | its bound | {method} | bound | gap | ending | s |"
    yield "|" + "---|" * 12
    for path in files:
        for weighting in weights:
            yield _line(path, weighting, seconds, method)


def _line(path: Path, weights: SystemWeights, seconds: float, method: str) -> str:
    problem = read_jj(path, weights=weights)
    objective, bound, native = claim(problem, seconds)
    start = f"| {path.stem} | {weights} | {problem.size} | {int(problem.sensitive.sum())} | {problem.rhs.size}"
    theirs = f"{_number(objective) if objective < float('inf') else native} | {_number(bound)}"
    try:
        ours = adjust(problem, method=method, limits=Limits(seconds=seconds))
    except StatveilError as error:
        return f"{start} | {theirs} | {type(error).__name__} | | | | |"
    found = f"{_number(ours.objective)} | {_number(ours.bound)} | {100 * ours.gap:.3g}% | {ours.ending} | {ours.seconds:.1f}"
    return f"{start} | {theirs} | {found} |"


def claim(problem: ProtectionProblem, seconds: float) -> Claim:
    """What plain HiGHS claims after so many seconds: objective, bound and its own words."""
    answers: list[Claim] = []

    def hear(answer: Any) -> None:
        answers.append(answer)

    run_isolated([(run_plainly, (problem, seconds))], seconds=seconds + GRACE, on_message=hear)
    return answers[0] if answers else (float("inf"), 0.0, "killed")


def run_plainly(problem: ProtectionProblem, seconds: float, send: Send) -> None:
    """HiGHS on the untouched program, in the isolated process."""
    from statveil.solve import highs

    program = Disjunctions(Search(problem, Limits(seconds=seconds), 0, lambda found: None))
    solution = highs.solve(program.model, seconds=seconds)
    objective = program.in_costs(solution.objective) if solution.x is not None else float("inf")
    send((objective, program.in_costs(solution.bound), solution.native))


def _number(amount: float) -> str:
    return f"{amount:.8g}"
