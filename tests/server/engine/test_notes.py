"""What readers are told about the numbers: by class, and about no number alone."""

from __future__ import annotations

from dataclasses import replace

from statveil.server.engine.dataset import AccuracyClass
from statveil.server.engine.notes import METHOD, accuracy_rows, notes
from statveil.server.engine.query import DimensionChoice
from tests.server.web.test_formats import asked

CLASSES = (
    AccuracyClass(dimensions=2, at_least=1, within_percent=21.4),
    AccuracyClass(dimensions=2, at_least=1_000_000, within_percent=2.0),
    AccuracyClass(dimensions=1, at_least=1, within_percent=0.84),
    AccuracyClass(dimensions=3, at_least=1, within_percent=40),
)


def test_accuracy_is_told_for_the_detail_that_the_table_shows():
    both = replace(asked(DimensionChoice(id="region"), DimensionChoice(id="size")), accuracy=CLASSES)
    assert notes(both) == (
        METHOD,
        "Detail in one dimension: nine of ten numbers lie within 0.84% of the true ones.",
        "Detail in two dimensions: nine of ten numbers lie within 2% (1,000,000 and more), within 21% (smaller ones) of the true ones.",
    )
    one = replace(asked(DimensionChoice(id="region")), accuracy=CLASSES)
    assert [row.dimensions for row in accuracy_rows(one)] == [1]


def test_a_filter_is_a_dimension_of_detail():
    sliced = replace(asked(DimensionChoice(id="region"), size=("big",)), accuracy=CLASSES)
    assert [row.dimensions for row in accuracy_rows(sliced)] == [1, 2]


def test_counts_are_within_a_number_and_the_grand_total_has_its_own_word():
    counted = replace(
        asked(DimensionChoice(id="region")), counts=True, smallest=3, accuracy=(AccuracyClass(dimensions=0, at_least=1, within=1),)
    )
    assert notes(counted)[1] == "Grand total: nine of ten numbers lie within 1 of the true ones."


def test_without_a_measured_class_nothing_is_claimed():
    assert notes(asked(DimensionChoice(id="region"))) == (METHOD,)
