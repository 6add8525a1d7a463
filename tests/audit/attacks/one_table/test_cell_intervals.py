"""What the equations of released tables leave open, by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_matrix

import statveil as sv
from statveil.audit.attacks.attacker import Attacker, AttackJournal, Effort
from statveil.audit.attacks.case import Case, Truth
from statveil.audit.attacks.one_table.cell_intervals import infer
from statveil.audit.attacks.public import AnswerTable, Catalogue, Register, ReleasedSystem, TableRequest
from statveil.audit.attacks.suite import ATTACKS
from statveil.audit.attacks.verdict import VerdictStatus
from statveil.tables.spec import Dimension
from tests.audit.attacks.stories import case, village
from tests.reference.servers import Anchored

COUNTIES = {"county-1": ["A", "B", "I", "J"], "county-2": ["K", "L", "M", "N"]}
GROUPS = {"small": ["A", "B", "I", "J", "K", "N"], "BIG": ["L", "M"]}
RESPONDENTS = {"A": 2, "B": 2, "I": 8, "J": 8, "K": 3, "L": 3, "M": 3, "N": 7}


def row(low: list[float], high: list[float]) -> ReleasedSystem:
    """total = one + two, released as 100 = 60 + 40."""
    return ReleasedSystem(
        relations=csr_matrix([[1, 1, -1]]),
        rhs=np.zeros(1, dtype=np.int64),
        released=np.array([60, 40, 100]),
        low=np.array(low),
        high=np.array(high),
        known_bounds=True,
    )


def test_a_cell_is_what_total_and_neighbour_leave_to_it() -> None:
    """The total is 95 to 105 and the neighbour 38 to 42: the cell is 53 to 67, whatever its own bounds."""
    found = infer(row([0, 38, 95], [np.inf, 42, 105]), np.array([0, 1]))
    assert found.possible
    assert found.low == pytest.approx([53, 38])
    assert found.high == pytest.approx([67, 42])


def test_without_time_no_cell_is_looked_at() -> None:
    found = infer(row([0, 38, 95], [np.inf, 42, 105]), np.array([0, 1]), until=0.0)
    assert found.possible
    assert found.cells.size == found.low.size == found.high.size == 0


def test_nothing_bounds_a_cell_without_known_bounds() -> None:
    found = infer(row([0, 0, 0], [np.inf] * 3), np.array([0]))
    assert found.low[0] == 0
    assert found.high[0] == np.inf


def test_bounds_that_contradict_each_other_leave_nothing() -> None:
    assert not infer(row([70, 50, 0], [80, 60, 100]), np.array([0])).possible


class Regions:
    """Eight regions that two authorities add up differently (UserSupport 136): counties, and groups by size.

    A and B have two respondents each and are sensitive. `release` gives what is published of each region in each tree.
    """

    def __init__(self, most_change: float | None, *releases: dict[str, int]) -> None:
        trees = (sv.Hierarchy.from_dict(COUNTIES), sv.Hierarchy.from_dict(GROUPS))
        region = Dimension(name="region", trees=trees)
        codes = np.concatenate([np.full(count, region.position[name]) for name, count in RESPONDENTS.items()])
        self.register = Register((region,), {"region": codes}, np.arange(codes.size))
        self.catalogue = Catalogue(dimensions=(region,), measures=("turnover",), percent=20, most_change=most_change)
        self.truth = Truth(self.register, {"turnover": np.full(codes.size, 100)}, [sv.MinimumFrequency(3, level=20)])
        self.releases = releases
        self.trees = trees

    def ask(self, request: TableRequest) -> AnswerTable:
        from statveil.audit.attacks.public import AnswerAxis

        codes = request.axes[0].codes
        tree = next(number for number, each in enumerate(self.trees) if each.codes == codes)
        values = {name: 100 * count + self.releases[tree].get(name, 0) for name, count in RESPONDENTS.items()}
        for name, parts in (COUNTIES, GROUPS)[tree].items():
            values[name] = sum(values[part] for part in parts)
        values["Total"] = sum(values[name] for name in RESPONDENTS)
        numbers = np.array([values[code] for code in codes])
        return AnswerTable(axes=(AnswerAxis(id="region", codes=codes),), values=numbers, shown=np.ones(numbers.size, np.bool_))

    def case(self) -> Case:
        return Case(attacker=Attacker(journal=AttackJournal(self.register, self.catalogue, self), effort=Effort()), truth=self.truth)


def test_two_geographies_protected_apart_disclose_a_region_exactly() -> None:
    """A up by a fifth in one table and down by a fifth in the other: only the truth fits both."""
    verdict = ATTACKS["T08"](Regions(0.2, {"A": 40, "B": -40}, {"A": -40, "B": 40}).case())
    assert verdict.status is VerdictStatus.FAILED
    assert verdict.figures["least width / 2p, bounds known"] == 0
    assert verdict.figures["known to within 0.1 p, bounds known"] == 2


def test_two_geographies_protected_together_leave_the_whole_interval() -> None:
    together = {"A": 40, "B": -40}
    verdict = ATTACKS["T08"](Regions(0.7, together, together).case())
    assert verdict.passed, verdict
    assert verdict.figures["tables"] == 2
    assert ATTACKS["T08"](Regions(1.5, together, together).case()).passed


def test_releases_that_no_truth_fits_are_told_as_such() -> None:
    verdict = ATTACKS["T08"](Regions(0.01, {"A": 40, "I": -40}, {"B": 40, "J": -40}).case())
    assert verdict.figures["bounds known"] == "contradicted by the releases"


def test_a_forest_is_asked_tree_by_tree() -> None:
    place = village(forest=True)
    verdict = ATTACKS["T08"](case(Anchored(place)))
    assert verdict.figures["tables"] == 2
    assert verdict.passed
