"""Annealed blanks: safe once a recount has had its say, never below the optimum, and near it."""

from __future__ import annotations

import numpy as np
import pytest

import statveil as sv
from statveil.records.coding import code_file
from statveil.records.suppress import recount
from statveil.records.suppress.problem import problem_of
from statveil.records.suppress.recount_annealing import RecountAnnealing, shown_cells
from statveil.records.suppress.suppress import fewest_blanks
from tests.records.stories import microdata, random_records, released
from tests.reference.files import tables_up_to, unsafe


def quick(seed: int, **settings: object) -> tuple[sv.recode.Suppression, sv.recode.Suppression]:
    """Blanks by annealing alone, and the optimum."""
    rows = random_records(seed, records=120, sizes=(7, 5, 4, 2), missing=0.05)
    keys = sv.KeyVariables(fields=dict.fromkeys("abcd"), threshold=3, order="full", rule="recount", **settings)  # type: ignore[arg-type]
    coded = code_file(microdata(rows), keys)
    limits = sv.Limits(seconds=60)
    return tuple(fewest_blanks(coded, (0,) * 4, limits=limits, quick=fast) for fast in (True, False))  # type: ignore[return-value]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_annealed_blanks_are_safe_and_no_cheaper_than_the_optimum(seed: int) -> None:
    fast, best = quick(seed)
    assert unsafe(*released(fast), tables_up_to(4, 4, 3), "recount") == 0
    assert fast.bound <= best.cost <= fast.cost <= 1.25 * best.cost
    assert fast.records.sum() == 120


@pytest.mark.slow
def test_linked_fields_are_blanked_together_and_the_same_file_gets_the_same_blanks() -> None:
    one, two = (quick(5, linked=[["a", "b"]])[0] for _ in range(2))
    assert (one.mask == two.mask).all()
    assert not any(mask & 0b11 in (0b01, 0b10) for mask in one.mask[one.problem.missing[one.key] & 0b11 == 0].tolist())


def test_weights_are_counted_where_they_are_what_makes_a_combination_safe() -> None:
    """Three records of weight 2 are safe from a threshold of 6, two are not."""
    table = {"a": ["x"] * 3 + ["y"] * 2 + ["z"] * 3, "w": [2] * 8}
    import pyarrow as pa

    keys = sv.KeyVariables(fields={"a": None}, threshold=6, order=1, rule="recount", counting="weights", weight="w")
    found = sv.recode.suppress(sv.read_microdata(pa.table(table)), keys)
    assert (found.total, str(found.ending)) == (2, "optimal")


def test_counts_kept_while_rows_answer_are_those_of_a_recount() -> None:
    rows = random_records(8, records=80, sizes=(6, 4, 3))
    coded = code_file(microdata(rows), sv.KeyVariables(fields=dict.fromkeys("abc"), threshold=3, order=3, rule="recount"))
    problem = problem_of(coded, (0, 0, 0))
    program = recount.RecountProgram(problem, problem.patterns())
    annealing = RecountAnnealing(problem, (np.arange(coded.size), program.free, coded.count), program.required, program.kind, program.cells)
    annealing.cool(float("inf"))
    key, units, records = annealing.settle(lambda: False)
    assert (annealing.shown.total == shown_cells(problem, key, units, records, program.cells).total).all()
    required = [program.required[int(kind)] for kind in program.kind[key]]
    assert all(mask & each for mask, sets in zip(units.tolist(), required, strict=True) for each in sets)


def test_a_file_with_many_cells_in_doubt_is_annealed_before_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the program finds nothing in time, what annealing found is there, with the optimum of `original` as the bound."""
    monkeypatch.setattr(recount, "TUNING", recount.TUNING._replace(few_cells=0))
    monkeypatch.setattr(recount, "_solve", lambda *_arguments, **_options: None)
    rows = random_records(2, records=120, sizes=(7, 5, 4, 2))
    keys = sv.KeyVariables(fields=dict.fromkeys("abcd"), threshold=3, order="full", rule="recount")
    found = sv.recode.suppress(microdata(rows), keys)
    assert unsafe(*released(found), tables_up_to(4, 4, 3), "recount") == 0
    assert 0 < found.bound <= found.cost
