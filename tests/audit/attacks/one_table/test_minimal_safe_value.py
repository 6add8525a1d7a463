"""Guesses at the level: what chance explains, and what lies just at it."""

from __future__ import annotations

import dataclasses

import numpy as np

from statveil.audit.attacks.case import SystemOriginals
from statveil.audit.attacks.one_table.minimal_safe_value import best_factor, by_chance, guessed
from statveil.audit.attacks.verdict import VerdictStatus


def test_a_few_lucky_guesses_are_no_leak_and_many_are() -> None:
    assert by_chance(8, 0.1) == 3 / 8
    assert by_chance(1000, 0.1) == 0
    near = np.array([1101] * 3 + [1180] * 5)
    secret = SystemOriginals(value=np.full(8, 1000), sensitive=np.ones(8, dtype=bool), lower=np.full(8, 100), upper=np.full(8, 100))
    assert guessed(near, secret, cap=2.0).passed  # 3 of 8 lie near the level; half of them by the coin: 19%
    assert "of so few cells 25.0%" in guessed(near, secret, cap=2.0).number
    assert guessed(near, secret, cap=2.0).mark.endswith("% at p, 25.0% guessed"), "what the formula comes to"
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
