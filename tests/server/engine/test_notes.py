"""What readers are told about the numbers: by class, and about no number alone."""

from __future__ import annotations

from dataclasses import replace

from statveil.server.dataset.dataset import AccuracyClass
from statveil.server.dataset.query import DimensionChoice
from statveil.server.engine.notes import METHOD, accuracy_table, notes
from tests.server.web.test_formats import asked

REGION, SIZE = DimensionChoice(id="region"), DimensionChoice(id="size")


def of(dimensions: int, at_least: int, percent: float, within: int = 5) -> AccuracyClass:
    return AccuracyClass(
        dimensions=dimensions,
        at_least=at_least,
        cells=50,
        mean_percent=percent / 3,
        median_percent=percent / 4,
        within_percent=percent,
        within=within,
    )


CLASSES = (of(1, 10_000_000, 0.84), of(2, 10_000_000, 2.0), of(2, 10, 21, 2), of(3, 10, 40))


def test_accuracy_is_told_for_the_detail_that_the_table_shows():
    """The measure has one decimal, so that 10,000,000 units are a million."""
    both = replace(asked(REGION, SIZE), accuracy=CLASSES)
    assert notes(both) == (
        METHOD,
        "Detail in one dimension: nine of ten numbers are within 0.84% of the true ones.",
        "Detail in two dimensions: nine of ten numbers are within 2% (1,000,000 and more), 21% (smaller ones) of the true ones.",
    )
    one = replace(asked(REGION), accuracy=CLASSES)
    assert notes(one)[1:] == ("Detail in one dimension: nine of ten numbers are within 0.84% of the true ones.",)


def test_counts_are_within_a_number():
    counted = replace(asked(REGION, SIZE), accuracy=CLASSES, counts=True, smallest=3, decimals=0)
    assert notes(counted)[2:] == (
        "Detail in two dimensions: nine of ten numbers are within 5 (10,000,000 and more), 2 (smaller ones) of the true ones.",
        "<3 stands for a count below 3. Counts of 1 and 2 are never told.",
    )


def test_a_filter_is_a_dimension_of_detail():
    sliced = accuracy_table(replace(asked(REGION, size=("big",)), accuracy=CLASSES))
    assert sliced is not None
    assert sliced.sizes == ("1,000,000 and more", "smaller ones")
    assert sliced.rows == (("Detail in one dimension", ("0.84%", "")), ("Detail in two dimensions", ("2%", "21%")))


def test_many_sizes_are_told_as_three_each_by_its_worst():
    six = tuple(of(1, 10**power, 10 - power) for power in range(6))
    found = accuracy_table(replace(asked(REGION), accuracy=six, decimals=0))
    assert found is not None
    assert found.sizes == ("10,000 and more", "100 and more", "smaller ones")
    assert found.rows == (("Detail in one dimension", ("6%", "8%", "10%")),)


def test_without_a_measured_class_nothing_is_claimed():
    assert notes(asked(REGION)) == (METHOD,)
    assert accuracy_table(replace(asked(REGION), accuracy=CLASSES[1:])) is None
