"""Attacks on the distinct cells of one release: units, samples, respondents, few cells."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from statveil.audit.attacks.attacker import TUNING, Effort
from statveil.audit.attacks.case import Contributions, Respondents, ReverseProblem, SystemCase, SystemOriginals
from statveil.audit.attacks.one_table import coalitions, singletons
from statveil.audit.attacks.one_table.last_digits import finer_than, last_digits
from statveil.audit.attacks.one_table.lower_sense import lowered
from statveil.audit.attacks.one_table.minimal_safe_value import best_factor, by_chance, guessed
from statveil.audit.attacks.one_table.reverse_optimisation import part_of, reversed_verdict
from statveil.audit.attacks.public import ReleasedSystem
from statveil.audit.attacks.suite import attack_system
from statveil.audit.attacks.verdict import VerdictStatus

PARTS = np.array([400, 300, 200, 100])


def chain(rows: int, *, value: int = 1000) -> tuple[ReleasedSystem, SystemOriginals]:
    """Cells in a row, each with the next two in a sum: 0 + 1 = 2, 2 + 3 = 4, ... Every cell is sensitive."""
    cells = 2 * rows + 1
    matrix = np.zeros((rows, cells), dtype=np.int64)
    for number in range(rows):
        matrix[number, 2 * number : 2 * number + 3] = (1, 1, -1)
    flat = np.full(cells, value)
    public = ReleasedSystem(
        relations=csr_matrix(matrix),
        rhs=np.zeros(rows, dtype=np.int64),
        released=flat,
        low=np.zeros(cells),
        high=np.full(cells, np.inf),
        known_bounds=False,
    )
    level = np.full(cells, 100)
    return public, SystemOriginals(value=flat - 100, sensitive=np.ones(cells, dtype=bool), lower=level, upper=level)


def test_a_part_of_a_large_system_keeps_the_relations_that_lie_in_it() -> None:
    rng = np.random.Generator(np.random.PCG64(1))
    public, secret = chain(50)
    assert part_of(public, secret, 101, rng)[0] is public
    less, part = part_of(public, secret, 20, rng)
    assert part.value.size == less.released.size == less.relations.shape[1] == 20
    assert 0 < less.relations.shape[0] < 50
    assert (np.diff(less.relations.indptr) == 3).all()


def test_a_part_ends_where_relations_end() -> None:
    public, secret = chain(3)
    alone = dataclasses.replace(public, relations=csr_matrix((3, 7), dtype=np.int64))
    less, part = part_of(alone, secret, 5, np.random.Generator(np.random.PCG64(1)))
    assert part.value.size == 1
    assert less.relations.shape == (0, 1)


def test_a_system_without_sensitive_cells_is_left_whole() -> None:
    public, secret = chain(3)
    nothing = dataclasses.replace(secret, sensitive=np.zeros(7, dtype=bool))
    assert part_of(public, nothing, 5, np.random.Generator(np.random.PCG64(1)))[0] is public


def test_the_way_back_is_looked_for_in_published_units() -> None:
    """Published in thousands: the solver is given 1 and a level of 1, and what it says is meant in thousands."""
    public, secret = chain(1)
    heard: list[ReverseProblem] = []

    def reverse(task: ReverseProblem) -> np.ndarray:
        heard.append(task)
        return task.published.released - 1

    verdict = reversed_verdict([(public, dataclasses.replace(secret, upper=secret.upper * 150))], reverse, 2.0, unit=1000)
    assert heard[0].published.released.tolist() == [1, 1, 1]
    assert heard[0].upper.tolist() == [15, 15, 15]
    assert heard[0].lower.tolist() == [1, 1, 1]
    assert verdict.figures["cells"] == 3
    assert verdict.figures["recovered within 0.1 p"] == 1.0


def test_a_few_lucky_guesses_are_no_leak_and_many_are() -> None:
    assert by_chance(8, 0.1) == 3 / 8
    assert by_chance(1000, 0.1) == 0
    near = np.array([1101] * 3 + [1180] * 5)
    secret = SystemOriginals(value=np.full(8, 1000), sensitive=np.ones(8, dtype=bool), lower=np.full(8, 100), upper=np.full(8, 100))
    assert guessed(near, secret, cap=2.0).passed  # 3 of 8 lie near the level; half of them by the coin: 19%
    assert "of so few cells 25.0%" in guessed(near, secret, cap=2.0).number
    assert guessed(np.full(8, 1101), secret, cap=2.0).status is VerdictStatus.FAILED


def test_cells_of_one_leader_are_one_draw() -> None:
    """Of two leaders one is near its level, by bad luck, and so are all its cells: that is no fault of eight cells."""
    near = np.array([1101] * 4 + [1180] * 4)
    secret = SystemOriginals(value=np.full(8, 1000), sensitive=np.ones(8, dtype=bool), lower=np.full(8, 100), upper=np.full(8, 100))
    assert secret.draws(secret.sensitive) == 8
    led = dataclasses.replace(secret, leader=np.array([7] * 4 + [9] * 4))
    assert led.draws(led.sensitive) == 2
    assert led.take(np.arange(4)).draws(np.ones(4, dtype=bool)) == 1
    assert guessed(near, led, cap=2.0).passed


def test_the_best_factor_is_told() -> None:
    """Levels of 100: moved by 100, 110, 118 and 145: three of four within a window of 20, half of them by the coin."""
    assert best_factor(np.array([100, -110, 118, 145]), np.full(4, 100)) == 0.375


def test_whole_amounts_meet_small_levels_by_chance() -> None:
    """Of 300 levels of 10 units 60 lie just there: of whole numbers from 10 to 14 that is nothing; of levels of 900 it is."""
    small = SystemOriginals(value=np.full(300, 100), sensitive=np.ones(300, dtype=bool), lower=np.full(300, 10), upper=np.full(300, 10))
    at = np.arange(300) < 60
    assert guessed(np.where(at, 110, 114), small, cap=2.0).passed
    large = SystemOriginals(value=np.full(300, 9000), sensitive=np.ones(300, dtype=bool), lower=np.full(300, 900), upper=np.full(300, 900))
    assert guessed(np.where(at, 9900, 10_300), large, cap=2.0).status is VerdictStatus.FAILED


def test_at_the_level_means_the_first_published_number_beyond_it() -> None:
    secret = SystemOriginals(value=np.array([10_040]), sensitive=np.array([True]), lower=np.array([1500]), upper=np.array([1500]))
    at = guessed(np.array([11_545]), secret, cap=2.0, unit=6)
    assert at.figures["exactly at the level"] == 1
    assert guessed(np.array([11_546]), secret, cap=2.0, unit=6).figures["exactly at the level"] == 0
    assert "level of 10 units" in guessed(np.array([11_600]), secret, cap=2.0, unit=1000).reason


def test_numbers_with_decimals_that_the_values_lack_tell_themselves() -> None:
    """Whole values in tenths: 50.0 and 20.0, released as 44.5 and 20.0."""
    assert finer_than(np.array([445, 200]), np.array([500, 200]), 1) == 1
    assert finer_than(np.array([445, 200]), np.array([505, 200]), 1) == 0
    assert finer_than(np.array([44, 20]), np.array([50, 20]), 0) == 0  # whole numbers may end in any digit
    verdict = last_digits(np.array([445, 200]), np.array([500, 200]), np.array([True, False]), constant=True, decimals=1)
    assert verdict.status is VerdictStatus.FAILED
    assert verdict.number == "1 numbers have more decimals than the values"


def test_halves_are_rounded_to_the_even_digit_and_that_is_no_leak() -> None:
    """Values that end in a half are published with even digits; those that were moved have any."""
    rng = np.random.Generator(np.random.PCG64(5))
    whole, halves = rng.integers(10_000, 99_999, 3000), rng.integers(10_000, 99_999, 3000) * 2
    value = np.concatenate([whole * 10, halves * 10 + 5])
    touched = np.arange(6000) % 3 == 0
    released = np.where(touched, rng.integers(10_000, 99_999, 6000) * 10, value // 10 * 10)
    verdict = last_digits(released, value, np.zeros(6000, dtype=bool), constant=True, decimals=1, unit=10)
    assert verdict.passed
    assert verdict.figures["left out, rounded from half-way"] == 3000


def test_what_rounds_to_zero_may_be_published_as_zero() -> None:
    value, lower, sensitive = np.array([400, 600]), np.zeros(2, dtype=np.int64), np.zeros(2, dtype=bool)
    assert lowered(np.array([0, 0]), value, lower, sensitive, unit=1000).figures["positive cells released as zero"] == 1
    assert lowered(np.array([0, 0]), value, lower, sensitive).figures["positive cells released as zero"] == 2


def people(*amounts: list[int], protected: bool = True, coalition: int = 1) -> Respondents:
    """Cells with these contributions."""
    return Respondents(
        number=np.array([len(each) for each in amounts]),
        protected=np.full(len(amounts), protected),
        percent=0.1,
        coalition=coalition,
        contributions=lambda cells: [
            Contributions(amount=np.array(amounts[cell]), protected=np.full(len(amounts[cell]), protected)) for cell in cells
        ],
    )


RNG = np.random.Generator(np.random.PCG64(0))


def together(released: int, respondents: Respondents) -> coalitions.Verdict:
    return coalitions.of_cells(np.array([released]), np.array([True]), respondents, RNG)


def test_one_of_two_subtracts_itself() -> None:
    """90 + 50 = 140, released as 144: the second takes 94 for 90, which is within 10%; the first takes 54 for 50, which is too."""
    assert together(144, people([90, 50])).number == "2 of 2 coalitions within p% (100.0%)"
    assert together(144, people([90, 50])).status is VerdictStatus.FAILED
    assert together(150, people([90, 50])).passed


def test_who_waived_protection_is_no_victim() -> None:
    assert together(144, people([90, 50], protected=False)).status is VerdictStatus.NOT_APPLICABLE


def test_coalitions_larger_than_the_rule_are_told_and_not_judged() -> None:
    """Two of three know the third to the unit; the rule speaks of single attackers."""
    alone, two = (together(141, people([60, 50, 30], coalition=size)) for size in (1, 2))
    assert alone.passed
    assert alone.figures["successful, 2"] == 3
    assert two.status is VerdictStatus.FAILED


def test_of_many_cells_some_are_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coalitions, "TUNING", TUNING._replace(most_coalition_cells=2))
    verdict = coalitions.of_cells(np.array([144] * 5), np.ones(5, dtype=bool), people(*[[90, 50]] * 5), RNG)
    assert verdict.figures["sensitive cells"] == 2


def test_of_many_pairs_of_single_respondents_some_are_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(singletons, "TUNING", TUNING._replace(most_pairs=4))
    cells = singletons.Singles(released=PARTS, value=PARTS, single=np.ones(4, dtype=bool), victim=np.array([True, False, True, True]))
    row, part = np.array([0, 0, 1, 1]), np.arange(4)
    assert singletons.errors(row, part, cells, RNG).tolist() in ([0.0], [0.0, 0.0])


def system(respondents: Respondents | None) -> SystemCase:
    """Two single respondents in one sum, moved against each other: 100 down, 100 up."""
    public = ReleasedSystem(
        relations=csr_matrix([[1, 1, 1, -1]]),
        rhs=np.zeros(1, dtype=np.int64),
        released=np.array([400, 600, 1000, 2000]),
        low=np.zeros(4),
        high=np.full(4, np.inf),
        known_bounds=False,
    )
    level = np.array([50, 50, 0, 0])
    secret = SystemOriginals(value=np.array([500, 500, 1000, 2000]), sensitive=level > 0, lower=level, upper=level)
    return SystemCase(published=public, originals=secret, cap=2.0, effort=Effort(), respondents=respondents)


def test_a_single_respondent_knows_the_counterweight() -> None:
    heard: list[str] = []
    known = attack_system(
        system(people([500], [500], [500, 500], [2000, 0])), target="two", only=("T13", "T14", "T20"), on_progress=heard.append
    )
    assert known["T14"].number == "100.0% of 2 pairs within p%, 2 exact"
    assert known["T13"].status is VerdictStatus.NOT_APPLICABLE  # nobody is with another in a sensitive cell
    assert known["T20"].status is VerdictStatus.NOT_APPLICABLE
    assert [each[:3] for each in heard] == ["T13", "T14"]
    waived = attack_system(system(people([500], [500], [500, 500], [2000, 0], protected=False)), target="two", only=("T14",))
    assert waived["T14"].status is VerdictStatus.NOT_APPLICABLE


def test_a_system_without_respondents_cannot_tell_of_them() -> None:
    report = attack_system(system(None), target="none", only=("T13", "T14"))
    assert {each.status for each in report.verdicts} == {VerdictStatus.NOT_APPLICABLE}
