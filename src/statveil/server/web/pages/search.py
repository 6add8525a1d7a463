"""Search over datasets: by the words of their labels, measures, dimensions, codes and saved tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from statveil.server.dataset.dataset import Dataset
from statveil.server.dataset.layout import ServedDimension
from statveil.server.web.pages.choice import ROWS, FormChoice, saved_choice

MOST_PLACES = 6
"""Of a dataset, that a result names. By judgement."""


@dataclass(frozen=True, kw_only=True)
class FoundPlace:
    """Where a word of the search stands, and the table that shows it."""

    words: str
    address: str


@dataclass(frozen=True, kw_only=True)
class FoundDataset:
    """`more`: how many further places of it have been found."""

    dataset: Dataset
    places: Sequence[FoundPlace] = ()
    more: int = 0


def search(datasets: Iterable[Dataset], wanted: str) -> list[FoundDataset]:
    """The datasets in which every word stands somewhere, those with it in their names first. Without a word, all of them."""
    words = wanted.casefold().split()
    found = [made for dataset in datasets if (made := _found(dataset, words)) is not None]
    return sorted(found, key=lambda each: not all(word in _name(each.dataset).casefold() for word in words))


def _found(dataset: Dataset, words: Sequence[str]) -> FoundDataset | None:
    if not words:
        return FoundDataset(dataset=dataset)
    hits = [(text, table) for text, table in _places(dataset) if any(word in text.casefold() for word in words)]
    everything = "\n".join([_name(dataset), *(text for text, _ in hits)]).casefold()
    if not all(word in everything for word in words):
        return None
    hits.sort(key=lambda hit: -sum(word in hit[0].casefold() for word in words))
    shown = [FoundPlace(words=text, address=table().address) for text, table in hits[:MOST_PLACES]]
    return FoundDataset(dataset=dataset, places=shown, more=len(hits) - len(shown))


def _name(dataset: Dataset) -> str:
    return f"{dataset.label} {dataset.id}"


def _places(dataset: Dataset) -> Iterator[tuple[str, Callable[[], FormChoice]]]:
    """Everything that has a name, with what makes a table that shows it."""
    measure, first = dataset.measures[0].id, dataset.dimensions[0]
    for name, address in dataset.saved:
        yield name, partial(saved_choice, dataset, address)
    for each in dataset.measures:
        yield each.label, partial(_highest, each.id, first)
    for dimension in dataset.dimensions:
        yield dimension.label, partial(_highest, measure, dimension)
        for code, label in dimension.labels.items():
            if code != dimension.total:
                only = {dimension.id: (code,)}
                text = f"{dimension.label}: {label if label == code else f'{label} ({code})'}"
                yield text, partial(FormChoice, measure=measure, use={dimension.id: ROWS}, only=only)


def _highest(measure: str, dimension: ServedDimension) -> FormChoice:
    return FormChoice(measure=measure, use={dimension.id: ROWS}, level={dimension.id: dimension.levels[0].id})
