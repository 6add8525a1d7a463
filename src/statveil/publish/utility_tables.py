"""The utility section of the internal report: statistics before and after in words and rows. Confidential."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from statveil.arrays import IntArray
from statveil.protect.quality.statistics import QUANTILES, Statistics, largest_of
from statveil.publish.changes import Changes
from statveil.publish.comparison import cell_words
from statveil.publish.numbers import grouped, percent
from statveil.publish.utility import Kind, Subset, SubsetUtility

if TYPE_CHECKING:
    from statveil.release import Release

NOT_DEFINED = "n/d"
LARGE = 10_000.0
KINDS: Sequence[tuple[tuple[Kind, ...], str]] = (
    (("cells", "level"), "Sets of cells, and levels of aggregation (steps below the grand total)"),
    (("dimension",), "Levels of each dimension"),
    (("row",), "Rows that changed most (all cells of one code)"),
)


def utility_section(release: Release, changes: Changes, found: Sequence[SubsetUtility]) -> dict[str, Any]:
    """Everything that the section's template shows."""
    main = [each for each in found if each.subset.kind in ("cells", "level")]
    return {
        "sentence": _sentence(found[0]) if found else "The table has no cells.",
        "tables": [(caption, [statistics_row(each) for each in found if each.subset.kind in kinds]) for kinds, caption in KINDS],
        "undefined": [f"{each.subset.name}: {each.why_undefined}" for each in found if each.why_undefined],
        "shares": [f"{share:.0%}" for share in QUANTILES],
        "quantiles": [(each.subset.name, *_quantile_rows(each.statistics)) for each in main],
        "tops": [top_cells(release, changes, each.subset) for each in main if each.statistics.cells > 1],
    }


def _sentence(every: SubsetUtility) -> str:
    mean = every.statistics.mean
    moved = "is unchanged" if mean.before == mean.after else f"moves by {_relative(mean.before, mean.after)}"
    if every.correlation is None or every.slope is None or every.variance_ratio is None:
        return f"Over all cells the mean {moved}; correlation and slope are not defined ({every.why_undefined})."
    return (
        f"Over all cells the mean {moved}, the variance becomes {near_one(every.variance_ratio)} of what it was, "
        f"released and true values correlate at {near_one(every.correlation)} with a slope of {near_one(every.slope)}."
    )


def _relative(before: float, after: float) -> str:
    return percent((after - before) / abs(before)) if before else f"{amount(after)} from zero"


def statistics_row(each: SubsetUtility) -> list[str]:
    """Name, cells, mean and standard deviation before and after, then what compares the two."""
    found, top = each.statistics, each.statistics.top
    deviations = (found.variance.before**0.5, found.variance.after**0.5)
    compared = (each.variance_ratio, each.correlation, each.slope, each.rank_correlation)
    return [
        each.subset.name,
        f"{found.cells:,}",
        *(amount(value) for value in (*found.mean, *deviations)),
        *(NOT_DEFINED if value is None else near_one(value) for value in compared),
        f"{top.kept} of {top.size}",
        f"{top.in_place} of {top.size}",
    ]


def amount(value: float) -> str:
    """A mean or a deviation: whole where it is large, else four digits."""
    return f"{value:,.0f}" if abs(value) >= LARGE or value == int(value) else f"{value:,.{max(0, 4 - len(str(int(abs(value)))))}f}"


def near_one(value: float) -> str:
    """Five decimals: what is kept well differs from one in the last of them."""
    return f"{value:,.5f}" if abs(value) < LARGE else f"{value:,.0f}"


def _quantile_rows(found: Statistics) -> tuple[list[str], list[str]]:
    before, after = zip(*(each for _, each in found.quantiles), strict=True)
    return [amount(value) for value in before], [amount(value) for value in after]


def top_cells(release: Release, changes: Changes, subset: Subset) -> tuple[str, list[str], list[list[str]]]:
    """The ten largest cells before: what they are, their values and ranks before and after. Equal values rank in order of the cells."""
    original = changes.original[subset.cells]
    released = original + changes.change[subset.cells]
    first = largest_of(original)
    names, words = cell_words(release.table.views, subset.cells[first], changes.original.size)
    rows = [
        [
            *labels,
            grouped(int(original[place]), changes.decimals),
            grouped(int(released[place]), changes.decimals),
            f"{rank}",
            f"{_rank(released, place)}",
        ]
        for rank, (place, labels) in enumerate(zip(first.tolist(), words, strict=True), start=1)
    ]
    return subset.name, names, rows


def _rank(values: IntArray, place: int) -> int:
    """1 for the largest; of equal values the earlier cell is the larger."""
    return 1 + int((values > values[place]).sum()) + int((values[:place] == values[place]).sum())
