"""What readers are told about the numbers: by class, and about no number alone."""

from __future__ import annotations

from dataclasses import replace

from statveil.server.cube.cube import AccuracyClass
from statveil.server.engine.notes import METHOD, accuracy_of, accuracy_table, notes
from statveil.server.engine.query import DimensionChoice
from tests.server.web.test_formats import asked


def of(dimensions: int, at_least: int, within: float) -> AccuracyClass:
    return AccuracyClass(
        dimensions=dimensions, at_least=at_least, cells=50, mean_percent=within / 3, median_percent=within / 4, within_percent=within
    )


CLASSES = (of(1, 10_000_000, 0.84), of(2, 10_000_000, 2.0), of(2, 10, 21), of(3, 10, 40))


def test_accuracy_is_told_for_the_detail_that_the_table_shows():
    """The measure has one decimal, so that 10,000,000 units are a million."""
    both = replace(asked(DimensionChoice(id="region"), DimensionChoice(id="size")), accuracy=CLASSES)
    assert notes(both) == (
        METHOD,
        "Detail in one dimension: nine of ten numbers are within 0.84% (1,000,000.0 and more) of the true ones.",
        "Detail in two dimensions: nine of ten numbers are within 2% (1,000,000.0 and more), 21% (smaller ones) of the true ones.",
    )
    one = replace(asked(DimensionChoice(id="region")), accuracy=CLASSES)
    assert notes(one)[1:] == ("Detail in one dimension: nine of ten numbers are within 0.84% of the true ones.",)


def test_a_filter_is_a_dimension_of_detail():
    sliced = accuracy_table(replace(asked(DimensionChoice(id="region"), size=("big",)), accuracy=CLASSES))
    assert sliced is not None
    assert [detail for detail, _ in sliced.rows] == ["Detail in one dimension", "Detail in two dimensions"]


def test_many_sizes_are_told_as_three_each_by_its_worst():
    found = accuracy_of([of(1, 10**power, 10 - power) for power in range(6)], 0, most=1)
    assert found is not None
    assert found.sizes == ("10,000 and more", "100 and more", "smaller ones")
    assert found.rows == (("Detail in one dimension", (6, 8, 10)),)


def test_without_a_measured_class_nothing_is_claimed():
    assert notes(asked(DimensionChoice(id="region"))) == (METHOD,)
    assert accuracy_of(CLASSES, 0, most=0) is None
