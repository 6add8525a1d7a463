"""What is said about the numbers of an answer: how they were made, how accurate they are, what stands for a number that is not told.

Accuracy is told by class, from what is public: how many dimensions a number shows below their totals, and how large it is. Classes
are of safe cells, which the reader cannot tell from others: no number has an accuracy of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from statveil.publish.formats.numbers import grouped
from statveil.server.dataset.dataset import AccuracyClass
from statveil.server.engine.answer import AnsweredTable

METHOD = (
    "Numbers are changed to protect respondents: they may differ from what was reported, small ones by more than large ones. "
    "They add up, and the same question always has the same answer."
)
_WORDS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


class NoteTuning(NamedTuple):
    most_sizes: int = 3
    """Sizes that readers are told of; classes of several sizes are told by the worst of them. By judgement."""


TUNING = NoteTuning()


def notes(answer: AnsweredTable) -> tuple[str, ...]:
    """The footnotes of a table."""
    return (METHOD, *accuracy_notes(answer), *count_notes(answer))


def count_notes(answer: AnsweredTable) -> list[str]:
    if not answer.withheld:
        return []
    most = answer.smallest - 1
    never = "A count of 1 is" if most == 1 else "Counts of 1 and 2 are" if most == 2 else f"Counts from 1 to {most} are"
    return [f"{answer.withheld} stands for a count below {answer.smallest}. {never} never told."]


@dataclass(frozen=True, kw_only=True)
class AccuracyTable:
    """Sizes across; down, for each number of dimensions, within what nine of ten numbers are, "" where there are too few of them."""

    sizes: tuple[str, ...]
    rows: tuple[tuple[str, tuple[str, ...]], ...]


def accuracy_table(answer: AnsweredTable) -> AccuracyTable | None:
    """For the detail that this table can show; None where nothing was measured."""
    most = len(answer.dimensions) + len(answer.filters)
    told = [each for each in answer.accuracy if each.dimensions <= most]
    if not told:
        return None
    runs = _runs(sorted({each.at_least for each in told}, reverse=True))
    details = sorted({each.dimensions for each in told})
    return AccuracyTable(
        sizes=tuple(_size_words(run, answer.decimals, last=run is runs[-1]) for run in runs),
        rows=tuple((_detail_words(detail), tuple(_worst(answer, told, detail, run) for run in runs)) for detail in details),
    )


def _runs(sizes: Sequence[int]) -> list[Sequence[int]]:
    """Neighbouring sizes together, so that there are few of them."""
    count = min(len(sizes), TUNING.most_sizes)
    return [sizes[len(sizes) * place // count : len(sizes) * (place + 1) // count] for place in range(count)]


def _worst(answer: AnsweredTable, classes: Sequence[AccuracyClass], detail: int, run: Sequence[int]) -> str:
    """In percent; counts, of which one more or less is much in percent, in numbers."""
    found = [each for each in classes if each.dimensions == detail and each.at_least in run]
    if not found:
        return ""
    return f"{max(each.within for each in found):,}" if answer.counts else f"{max(each.within_percent for each in found):g}%"


def _size_words(run: Sequence[int], decimals: int, *, last: bool) -> str:
    whole = min(run) % 10 ** max(decimals, 0) == 0
    least = grouped(min(run) // 10**decimals, 0) if whole and decimals > 0 else grouped(min(run), decimals)
    return "smaller ones" if last else f"{least} and more"


def _detail_words(dimensions: int) -> str:
    """How detailed a number is: in how many dimensions it is below the total."""
    word = _WORDS[dimensions] if dimensions < len(_WORDS) else str(dimensions)
    return "Grand total" if dimensions == 0 else f"Detail in {word} dimension{'s' if dimensions > 1 else ''}"


def accuracy_notes(answer: AnsweredTable) -> list[str]:
    """A sentence for each number of dimensions that a number of this table can show."""
    table = accuracy_table(answer)
    if table is None:
        return []
    return [f"{detail}: nine of ten numbers are within {_by_size(table, within)} of the true ones." for detail, within in table.rows]


def _by_size(table: AccuracyTable, within: Sequence[str]) -> str:
    """2% (1,000,000 and more), 9% (smaller ones); the sizes are left out where they make no difference."""
    known = [(size, word) for size, word in zip(table.sizes, within, strict=True) if word]
    return known[0][1] if len({word for _, word in known}) == 1 else ", ".join(f"{word} ({size})" for size, word in known)
