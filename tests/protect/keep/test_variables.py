"""Several variables on the same cells: each safe by itself, their relations to one another kept."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import statveil as sv
from statveil.core.errors import InputError
from tests.protect.keep.tables import AMPLE, INNER, small_table
from tests.protect.problems import problem_of, two_way_relations, with_margins


def second_variable() -> sv.ProtectionProblem:
    value = with_margins(INNER * 3 + np.array([[40, -20, 10], [0, 30, -60]])).ravel()
    bounds = {"lower": value - value // 2, "upper": value + value // 2}
    return problem_of(value, two_way_relations(2, 3), levels={1: 50, 4: 90}, **bounds)


@pytest.mark.slow
@pytest.mark.usefixtures("ends_soon")
def test_two_variables_are_kept_together() -> None:
    problems = {"turnover": small_table(), "wages": second_variable()}
    found = sv.adjust(problems, limits=AMPLE)
    for name, problem in problems.items():
        deviation = found.adjustments[name].deviation
        assert problem.accepts(deviation)
        assert deviation.sum() == 0  # the mean of all cells
    before, after = (np.corrcoef(values)[0, 1] for values in (
        [problem.value for problem in problems.values()],
        [problem.value + found.adjustments[name].deviation for name, problem in problems.items()],
    ))  # fmt: skip
    assert found.correlations[1][0, 1] == pytest.approx(after)
    assert found.correlation_change == pytest.approx(abs(after - before), abs=1e-12)
    assert found.correlation_change < 0.01
    assert found.slope_change < 0.03


def test_variables_on_other_cells_are_refused() -> None:
    with pytest.raises(InputError, match="same cells"):
        sv.adjust({"a": small_table(), "b": problem_of([1, 1], [[1, -1]], levels={})})
    with pytest.raises(InputError, match="Several"):
        sv.adjust({"a": small_table()})
    with pytest.raises(InputError, match="same variant"):
        sv.adjust({"a": small_table(), "b": small_table(variant="exact")})
    with pytest.raises(InputError, match="not widened"):
        sv.adjust({"a": small_table(), "b": small_table()}, keep=sv.keep.Keep(mean="all", widen=(2,)))
    with pytest.raises(InputError, match="Measures are of one variable"):
        sv.adjust({"a": small_table(), "b": small_table()}, keep=sv.keep.Keep(mean="all", measures=["gini"]))
    with pytest.raises(InputError, match="different cells"):
        sv.adjust({"a": small_table(), "b": second_variable()}, keep=sv.keep.Keep(slope="sensitive"))


def test_what_variables_do_not_take_is_refused_at_once() -> None:
    with pytest.raises(InputError, match="keep must be Keep, not str"):
        sv.protect_table("nowhere.csv", [], rules={}, keep="all")  # type: ignore[call-overload]
    with pytest.raises(InputError, match="several tables"):
        sv.protect_table("nowhere.csv", [], rules={})
    with pytest.raises(InputError, match="without repairs"):
        sv.adjust({"a": small_table(), "b": small_table()}, method=sv.Method(settings={"groups": 3}))


@pytest.mark.slow
@pytest.mark.usefixtures("ends_soon")
def test_a_distance_holds_for_the_relations_of_the_variables_too() -> None:
    problems = {"turnover": small_table(), "wages": second_variable()}
    keep = sv.keep.Keep(variance="all", within=0.02, by="programs")
    found = sv.adjust(problems, keep=keep, limits=AMPLE)
    assert found.correlation_change <= 0.02
    assert found.slope_change <= 0.02


@pytest.mark.slow
@pytest.mark.usefixtures("ends_soon")
def test_variables_of_records_are_released_one_by_one() -> None:
    rng = np.random.Generator(np.random.PCG64(1))
    people = rng.integers(1, 60, 90)
    records = pa.table(
        {
            "region": [f"R{k % 3}" for k in range(90)],
            "trade": [f"T{k % 4}" for k in range(90)],
            "people": people,
            "wages": people * 30 + rng.integers(0, 200, 90),
        }
    )
    specs = [sv.TableSpec(dimensions={"region": None, "trade": None}, measure=name, name=name) for name in ("people", "wages")]
    rules = {"people": [sv.PPercent(60)], "wages": [sv.PPercent(80)]}
    found = sv.protect_table(records, specs, rules=rules, limits=AMPLE)
    assert all(release.audit.passed for release in found.releases.values())
    assert found.together.correlation_change < 0.01
    with pytest.raises(InputError, match="name of its own"):
        sv.protect_table(records, [specs[0], specs[0]], rules=rules)
