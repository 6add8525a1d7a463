"""An attack that cannot be made says why."""

from __future__ import annotations

import dataclasses

import pytest

import statveil as sv
from statveil.audit.attacks.attacker import Attacker, AttackJournal
from statveil.audit.attacks.case import Case
from statveil.audit.attacks.public import Catalogue, RequestAxis, TableRequest
from statveil.audit.attacks.suite import ATTACKS, attack_all
from statveil.audit.attacks.verdict import VerdictStatus
from statveil.core.errors import DisclosureRefused
from tests.audit.attacks.stories import LITTLE, OperatorSide, case, closed, village
from tests.reference.servers import Anchored, Bare, Closed, Naive, Section4, Server


@pytest.mark.parametrize("threat", list(ATTACKS))
def test_nothing_was_released(threat: str) -> None:
    verdict = ATTACKS[threat](closed(Bare(village())))
    assert verdict.status is VerdictStatus.NOT_APPLICABLE
    assert verdict.reason


@pytest.mark.parametrize("threat", ["T02", "T04", "T05", "T06", "T07", "T09", "T10", "T20", "T21", "T23", "T24"])
def test_a_table_of_one_dimension_cannot_be_crossed(threat: str) -> None:
    place = village()
    catalogue = Catalogue(dimensions=place.dimensions[:1], measures=("turnover",), counts=None)
    server = Bare(place, catalogue=catalogue)
    assert ATTACKS[threat](case(server, operator=OperatorSide(server))).status is VerdictStatus.NOT_APPLICABLE


def test_the_interval_of_a_cell_can_be_asked_of_a_single_dimension() -> None:
    server = Bare(village(), catalogue=Catalogue(dimensions=village().dimensions[:1], measures=("turnover",)))
    assert ATTACKS["T08"](case(server)).reason == "No cell is sensitive."


def test_a_server_without_filters_gives_no_populations() -> None:
    server = Section4(village(), catalogue=village().catalogue(filters=()))
    report = attack_all(case(server), target="", only=("T06", "T07"))
    assert {each.reason for each in report.verdicts} == {"The server lets nobody choose populations: no filters."}


def test_a_server_that_refuses_every_population_withstands_differencing() -> None:
    verdict = ATTACKS["T07"](case(Closed(village())))
    assert verdict.passed
    assert verdict.number == "every nested population refused"
    assert ATTACKS["T06"](case(Closed(village()))).status is VerdictStatus.NOT_APPLICABLE


def test_without_sensitive_cells_there_are_no_targets() -> None:
    class Lenient(Server):
        def __init__(self) -> None:
            super().__init__(village())
            self.truth.rules = (sv.MinimumFrequency(1),)

    report = attack_all(case(Lenient()), target="", only=("T02", "T03", "T05", "T06", "T08", "T11", "T13", "T15", "T20"))
    assert {each.status for each in report.verdicts} == {VerdictStatus.NOT_APPLICABLE}


def test_periods_in_which_different_cells_are_sensitive_have_nothing_to_average() -> None:
    class Lenient(OperatorSide):
        def periods(self, count: int):  # type: ignore[no-untyped-def]
            found = super().periods(2)
            for _, truth in found:
                truth.rules = (sv.MinimumFrequency(1),)
            return found

    server = Section4(village())
    assert ATTACKS["T21"](case(server, operator=Lenient(server))).reason == "No cell is sensitive in every period."


def test_as_many_populations_are_asked_for_as_the_effort_allows() -> None:
    made = case(Section4(village()), effort=dataclasses.replace(LITTLE, sets=5))
    ATTACKS["T06"](made)
    assert len(made.attacker.journal.answers) == 5


def test_levels_of_a_few_units_meet_the_mark_by_chance_and_are_left_out() -> None:
    class Tiny(Server):
        """One respondent of value 5 in a cell: a level of one unit."""

        def __init__(self) -> None:
            super().__init__(village(records=200), values={name: (v > 0) * 5 for name, v in village(records=200).values.items()})

    assert "level of 10 units" in ATTACKS["T11"](_asked(Tiny())).reason
    assert "could be adjusted backwards" in ATTACKS["T12"](case(Tiny(), reverse=lambda task: None)).reason


def test_no_solver_no_reverse_optimisation() -> None:
    assert "No solver" in ATTACKS["T12"](case(Section4(village()))).reason


def test_records_of_their_own_are_no_holdings() -> None:
    class Alone(Server):
        def __init__(self) -> None:
            super().__init__(village())

    place = Alone()
    register = type(place.village.register)(place.village.dimensions, place.village.register.codes, place.village.register.owner.argsort())
    attacker = Attacker(journal=AttackJournal(register, place.catalogue, place), effort=LITTLE)
    assert ATTACKS["T15"](Case(attacker=attacker, truth=place.truth)).reason == "No holding has two records."


def test_a_server_that_starts_with_another_key_fails() -> None:
    server = Section4(village())
    attacked = _asked(server, operator=OperatorSide(server, careful=False))
    assert ATTACKS["T22"](attacked).status is VerdictStatus.FAILED
    assert ATTACKS["T03"](attacked).status is VerdictStatus.FAILED


def test_factors_drawn_anew_each_period_average_out() -> None:
    kept, lost = (case(s, operator=OperatorSide(s, permanent=p)) for s, p in ((Section4(village()), True), (Section4(village()), False)))
    assert ATTACKS["T21"](kept).passed
    assert ATTACKS["T21"](lost).status is VerdictStatus.FAILED


def test_one_period_is_not_enough() -> None:
    class Once(OperatorSide):
        def periods(self, count: int):  # type: ignore[no-untyped-def]
            return super().periods(1)

    server = Section4(village())
    assert "two periods" in ATTACKS["T21"](case(server, operator=Once(server))).reason


def test_times_in_steps_of_a_quarter_second_tell_nothing() -> None:
    class Quantised(Naive):
        def seconds(self, request, table):  # type: ignore[no-untyped-def]
            return 0.25 + 0.25 * float(self.truth.cells(request, table).sensitive.any())

    verdict = ATTACKS["T20"](case(Quantised(village())))
    assert verdict.figures["quantised to 250 ms"] == "yes"
    assert verdict.passed


def test_a_server_that_refuses_what_it_gave_before_is_not_the_same() -> None:
    class Forgetful(Anchored):
        def ask(self, request):  # type: ignore[no-untyped-def]
            if request in self.__dict__.setdefault("given", set()):
                raise DisclosureRefused("Not again.")
            self.given.add(request)
            return super().ask(request)

    verdict = ATTACKS["T20"](case(Forgetful(village())))
    assert verdict.figures["different bytes or headers"] == verdict.figures["asked twice"]


def test_equal_times_have_no_effect_size() -> None:
    from statveil.audit.attacks.side_channels import cohen

    assert cohen([1.0, 1.0], [1.0, 1.0]) == 0
    assert cohen([1.0, 3.0], [0.0, 2.0]) == pytest.approx(1 / 2**0.5)


def _asked(server: Server, **more: object) -> Case:
    """A case in which the plain table was asked for."""
    made = case(server, **more)
    made.attacker.journal.ask(TableRequest(axes=(RequestAxis(id="region"), RequestAxis(id="trade")), measure="turnover"))
    return made


def test_a_server_that_refuses_everything_gives_no_sets() -> None:
    class Shut(Server):
        def ask(self, request):  # type: ignore[no-untyped-def]
            raise DisclosureRefused("Closed.")

    assert ATTACKS["T06"](case(Shut(village()))).reason == "Every population was refused."
