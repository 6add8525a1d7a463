"""Attacks on safe files by somebody who knows the method, counted by hand in small stories."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from statveil.audit.attacks import file_attacks
from statveil.audit.attacks.file_attacks import Edit, ExposedFile, attack_file, downcoded, minimality, rules_recover


def exposed(released: list[list[int]], truth: list[list[int]], records: list[int], **more: Any) -> ExposedFile:
    """Rows as they are written down: one list a row."""
    tables = more.pop("tables", [((0,), 2), ((1,), 2), ((0, 1), 2)])
    number = np.array(records, dtype=np.int64)
    return ExposedFile(
        fields=("town", "job"),
        released=np.array(released, dtype=np.int64).T,
        truth=np.array(truth, dtype=np.int64).T,
        records=number,
        amount=number,
        tables=tables,
        **more,
    )


# Towns: 0 Urk, 1 Ede. Jobs: 0 farmer, 1 baker, 2 vet. The only vet lives in Urk; bakers live in both.
VILLAGE = exposed(
    released=[[0, -1], [0, 0], [0, 1], [1, 0], [1, 1]],
    truth=[[0, 2], [0, 0], [0, 1], [1, 0], [1, 1]],
    records=[1, 5, 4, 6, 3],
)


def test_the_only_vet_is_pinned_because_no_other_job_is_rare() -> None:
    found = minimality(VILLAGE, 1)
    assert (found.blanks, found.right, found.baseline, found.pinned, found.candidates) == (1, 1, 0, 1, 1.0)
    assert minimality(VILLAGE, 0).blanks == 0


def test_everybody_with_the_same_town_is_a_candidate_where_extra_blanks_are_made() -> None:
    found = minimality(replace(VILLAGE, decoys=True, counted=[]), 1)
    assert (found.pinned, found.candidates) == (0, 3.0)


def test_a_decoy_that_holds_the_commonest_value_is_guessed_by_the_plain_guess_and_not_by_the_attack() -> None:
    story = exposed(
        released=[[0, -1], [0, -1], [0, 0], [0, 1], [1, 0]],
        truth=[[0, 2], [0, 0], [0, 0], [0, 1], [1, 0]],
        records=[1, 1, 4, 4, 6],
        decoys=True,
    )
    found = minimality(story, 1)
    assert (found.blanks, found.right, found.baseline, found.pinned) == (2, 1, 1, 0)
    verdict = {each.name: each.passed for each in attack_file(story)}
    assert verdict == {"M03 guessing": True, "M03 pinned": True, "M04": True, "M05": True}


def test_a_combination_of_which_another_field_is_blank_tells_nothing() -> None:
    both = exposed(released=[[-1, -1], [0, 0]], truth=[[1, 1], [0, 0]], records=[1, 9], tables=[((0, 1), 2)])
    assert minimality(both, 1).candidates == 0


def test_many_classes_are_sampled(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [[town, -1] for town in range(50)]
    truth = [[town, 0] for town in range(50)]
    monkeypatch.setattr(file_attacks, "TUNING", file_attacks.TUNING._replace(most_looks=30))
    assert minimality(exposed(rows, truth, [1] * 50), 1).blanks == 10


def test_a_file_that_is_too_large_is_attacked_by_its_smallest_combinations(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_attacks, "TUNING", file_attacks.TUNING._replace(most_work=5))
    assert attack_file(replace(VILLAGE, counted=[]))[0].findings[-1].startswith("The 2 largest combinations were left out")


def test_a_rule_of_the_released_file_gives_a_blank_back() -> None:
    """All but one of forty people in Ede are farmers: whoever hides a job there is taken for one."""
    story = exposed(
        released=[[1, 0], [1, 1], [1, -1], [1, -1], [0, 1]],
        truth=[[1, 0], [1, 1], [1, 0], [1, 2], [0, 1]],
        records=[39, 1, 1, 1, 5],
        tables=[((1,), 2)],
    )
    assert rules_recover(story) == 0.5
    assert rules_recover(replace(story, decoys=True)) == 0.0  # the farmer's blank hides nothing rare
    few = replace(story, records=np.array([9, 0, 1, 1, 5]), counted=[])
    assert rules_recover(few) == 0.0


def test_an_edit_rule_is_used_first() -> None:
    story = exposed(released=[[1, 0], [1, -1], [0, -1]], truth=[[1, 0], [1, 2], [0, 2]], records=[40, 1, 1], tables=[((1,), 2)])
    edit = Edit(when={0: frozenset({1})}, place=1, code=2)
    assert rules_recover(story) == 0.0
    assert rules_recover(replace(story, edits=[edit])) == 0.5


def test_pairs_of_fields_make_rules_only_where_fields_are_few(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [[a, b, (a + b) % 2] for a in (0, 1) for b in (0, 1)]
    number = np.array([20, 20, 20, 20, 1])
    story = ExposedFile(
        fields=("a", "b", "c"),
        released=np.array([*rows, [1, 1, -1]]).T,
        truth=np.array([*rows, [1, 1, 0]]).T,
        records=number,
        amount=number,
        tables=[((2,), 2)],
    )
    assert rules_recover(story) == 1.0
    monkeypatch.setattr(file_attacks, "TUNING", file_attacks.TUNING._replace(most_fields_in_pairs=2))
    assert rules_recover(story) == 0.0


def test_a_field_that_is_blank_everywhere_teaches_nothing() -> None:
    story = exposed(released=[[0, -1], [1, -1]], truth=[[0, 0], [1, 1]], records=[3, 3])
    assert rules_recover(story) == 0.0
    assert minimality(story, 1).candidates == 2.0


def test_a_new_code_for_one_old_code_is_refined_with_certainty() -> None:
    story = exposed(released=[[0, 0], [1, 0], [-1, 0]], truth=[[0, 0], [1, 0], [1, 0]], records=[1, 3, 1])
    assert downcoded(replace(story, refined={0: np.array([True, False])})) == 0.25
    assert downcoded(story) == 0.0


def test_words_name_the_fields_and_the_figures() -> None:
    first = attack_file(VILLAGE)[0]
    assert first.value == 1.0
    assert not first.passed
    assert first.findings == ("job: 100.0% right, 0.0% without knowing the method, 100.0% pinned, 1.0 candidates on average",)
