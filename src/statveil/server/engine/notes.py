"""What is said about the numbers of an answer: how they were made, how accurate they are, what stands for a number that is not told.

Accuracy is told by class, from what is public: how many dimensions a number shows below their totals, and how large it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from statveil.server.engine.answer import AnsweredTable
from statveil.server.engine.dataset import AccuracyClass

METHOD = (
    "Numbers are changed to protect respondents: they may differ from what was reported, small ones by more than large ones. "
    "They add up, and the same question always has the same answer."
)
_WORDS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def notes(answer: AnsweredTable) -> tuple[str, ...]:
    """The footnotes of a table."""
    return (METHOD, *accuracy_notes(answer), *count_notes(answer))


def count_notes(answer: AnsweredTable) -> list[str]:
    if not answer.withheld:
        return []
    return [f"{answer.withheld} stands for a count below {answer.smallest} that is not told; no count from 1 to {answer.smallest - 1} is."]


def accuracy_notes(answer: AnsweredTable) -> list[str]:
    """A sentence for each number of dimensions that a number of this table can show."""
    return [f"{detail_words(row.dimensions)}: nine of ten numbers lie {_by_size(row)} of the true ones." for row in accuracy_rows(answer)]


def _by_size(row: AccuracyRow) -> str:
    """Within 2% (1,000,000 and more), within 9% (10,000 and more), within 20% (smaller ones)."""
    if len(row.classes) == 1:
        return within_words(row.classes[0])
    return ", ".join(f"{within_words(each)} ({size_words(each)})" for each in row.classes)


@dataclass(frozen=True, kw_only=True)
class AccuracyRow:
    """The classes of one number of dimensions, from the largest numbers down."""

    dimensions: int
    classes: tuple[AccuracyClass, ...]


def accuracy_rows(answer: AnsweredTable) -> list[AccuracyRow]:
    return rows_of(answer.accuracy, most=len(answer.dimensions) + len(answer.filters))


def rows_of(classes: Sequence[AccuracyClass], *, most: int) -> list[AccuracyRow]:
    """Classes by dimensions, those of at most so many."""
    found = sorted({each.dimensions for each in classes if each.dimensions <= most})
    return [
        AccuracyRow(
            dimensions=number,
            classes=tuple(sorted((each for each in classes if each.dimensions == number), key=lambda each: -each.at_least)),
        )
        for number in found
    ]


def detail_words(dimensions: int) -> str:
    """How detailed a number is: in how many dimensions it is below the total."""
    if dimensions == 0:
        return "Grand total"
    word = _WORDS[dimensions] if dimensions < len(_WORDS) else str(dimensions)
    return f"Detail in {word} dimension{'s' if dimensions > 1 else ''}"


def within_words(each: AccuracyClass) -> str:
    if each.within is not None:
        return f"within {each.within:,}"
    return f"within {each.within_percent:.2g}%"


def size_words(each: AccuracyClass) -> str:
    return f"{each.at_least:,} and more" if each.at_least > 1 else "smaller ones"


@dataclass(frozen=True, kw_only=True)
class AccuracyTable:
    """For people: sizes across, detail down."""

    sizes: tuple[str, ...]
    rows: tuple[tuple[str, tuple[str, ...]], ...]


def accuracy_table(rows: Sequence[AccuracyRow]) -> AccuracyTable:
    """A number belongs to the class of its detail with the largest `at_least` that it reaches."""
    largest = {each.at_least: each for row in rows for each in row.classes}
    sizes = sorted(largest, reverse=True)
    return AccuracyTable(
        sizes=tuple(size_words(largest[size]) if len(sizes) > 1 else "numbers of any size" for size in sizes),
        rows=tuple((detail_words(row.dimensions), tuple(_class_words(row, size) for size in sizes)) for row in rows),
    )


def _class_words(row: AccuracyRow, size: int) -> str:
    return next((within_words(each) for each in row.classes if each.at_least <= size), "not known")
