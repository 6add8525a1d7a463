"""Charts of the report on a safe file, as Vega-Lite specifications."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from statveil.core.arrays import FloatArray, IntArray
from statveil.publish.report.charts import chart
from statveil.records.plan import FilePlan
from statveil.records.risk import KeyClasses

Spec = dict[str, Any]
BEFORE, AFTER = "#D55E00", "#0072B2"  # Okabe and Ito: told apart with any colour vision
STAGES = ("before", "after")
HEIGHT = 220
MOST_VALUES = 24
MOST_MOSAIC = 10
BLANK = "(blank)"
OTHER = "(all others)"


def _stage_colour() -> Spec:
    return {"field": "stage", "type": "nominal", "scale": {"domain": list(STAGES), "range": [BEFORE, AFTER]}, "sort": list(STAGES)}


def unsafe_by_size(before: Mapping[int, int], after: Mapping[int, int]) -> Spec:
    values = [
        {"size": str(size), "stage": stage, "records": found.get(size, 0)}
        for stage, found in zip(STAGES, (before, after), strict=True)
        for size in before
    ]
    encoding = {
        "x": {"field": "size", "type": "ordinal", "title": "fields in the combination", "axis": {"labelAngle": 0}},
        "xOffset": {"field": "stage", "sort": list(STAGES)},
        "y": {"field": "records", "type": "quantitative", "title": "records", "axis": {"format": "~s"}},
        "color": _stage_colour(),
        "tooltip": [{"field": "stage"}, {"field": "size"}, {"field": "records", "format": ","}],
    }
    return chart(values, "bar", encoding, height=HEIGHT)


def blanks_by_field(blanks: Mapping[str, int]) -> Spec:
    values = [{"field": name, "blanks": number} for name, number in blanks.items()]
    encoding = {
        "y": {"field": "field", "type": "nominal", "title": None, "sort": list(blanks), "axis": {"labelLimit": 160}},
        "x": {"field": "blanks", "type": "quantitative", "title": "blanks", "axis": {"format": "~s"}},
        "color": {"value": AFTER},
        "tooltip": [{"field": "field"}, {"field": "blanks", "format": ","}],
    }
    return chart(values, "bar", encoding, height=max(90, 24 * len(blanks)))


def distribution(plan: FilePlan, place: int, before: FloatArray, after: KeyClasses) -> Spec:
    """Shares of the released classes, with and without the blanks made."""
    level = plan.coded.levels[place][plan.levels[place]]
    row = after.codes[place]
    rows = _largest(level.values, before, field_counts(after, place, level.size))
    blank = float(after.count[row < 0].sum())
    if blank:
        rows.append((BLANK, 0.0, blank))
    total = float(after.count.sum())
    values = [
        {"value": value, "stage": stage, "share": number / total}
        for value, *numbers in rows
        for stage, number in zip(STAGES, numbers, strict=True)
    ]
    encoding = {
        "x": {"field": "value", "type": "nominal", "title": None, "sort": [row[0] for row in rows], "axis": {"labelLimit": 90}},
        "xOffset": {"field": "stage", "sort": list(STAGES)},
        "y": {"field": "share", "type": "quantitative", "title": "share of records", "axis": {"format": "%"}},
        "color": _stage_colour(),
        "tooltip": [{"field": "value"}, {"field": "stage"}, {"field": "share", "format": ".2%"}],
    }
    return chart(values, "bar", encoding, height=HEIGHT)


def _largest(names: Sequence[str], before: FloatArray, after: FloatArray) -> list[tuple[str, float, float]]:
    """Values in their own order; where there are many, the largest, and the rest in one."""
    if len(names) <= MOST_VALUES:
        return [(name, float(before[code]), float(after[code])) for code, name in enumerate(names)]
    kept = sorted(np.argsort(-before, kind="stable")[:MOST_VALUES].tolist())
    rest = [code for code in range(len(names)) if code not in set(kept)]
    rows = [(names[code], float(before[code]), float(after[code])) for code in kept]
    return [*rows, (OTHER, float(before[rest].sum()), float(after[rest].sum()))]


def in_new_classes(plan: FilePlan) -> KeyClasses:
    """The original keys written as the plan recodes them, before any blank."""
    codes = plan.suppression.problem.written_codes(np.arange(plan.coded.size))
    return KeyClasses(codes=codes, count=plan.coded.count, weight=None)


def field_counts(classes: KeyClasses, place: int, size: int) -> FloatArray:
    row = classes.codes[place]
    return np.bincount(row[row >= 0], weights=classes.count[row >= 0], minlength=size).astype(np.float64)


def closest_pair(plan: FilePlan, classes: KeyClasses) -> tuple[int, int] | None:
    """The two fields of few classes that tell most about each other."""
    sizes = [plan.coded.levels[place][level].size for place, level in enumerate(plan.levels)]
    narrow = [place for place, size in enumerate(sizes) if 2 <= size <= MOST_MOSAIC]
    pairs = list(combinations(narrow, 2))
    if not pairs:
        return None
    return max(pairs, key=lambda pair: _mutual(_crossed(classes, pair, sizes)))


def _crossed(classes: KeyClasses, pair: tuple[int, int], sizes: Sequence[int]) -> FloatArray:
    first, second = (classes.codes[place] for place in pair)
    here = (first >= 0) & (second >= 0)
    index = first[here].astype(np.int64) * sizes[pair[1]] + second[here]
    counts = np.bincount(index, weights=classes.count[here], minlength=sizes[pair[0]] * sizes[pair[1]])
    return np.asarray(counts, dtype=np.float64).reshape(sizes[pair[0]], sizes[pair[1]])


def _mutual(table: FloatArray) -> float:
    share = table / max(table.sum(), 1.0)
    expected = share.sum(axis=1, keepdims=True) * share.sum(axis=0, keepdims=True)
    positive = share > 0
    return float((share[positive] * np.log(share[positive] / expected[positive])).sum())


def mosaic(plan: FilePlan, classes: KeyClasses, pair: tuple[int, int]) -> Spec:
    """Rectangles as large as their share of records."""
    levels = [plan.coded.levels[place][plan.levels[place]] for place in pair]
    names = [[*level.values, BLANK] for level in levels]
    codes = [np.where(classes.codes[place] < 0, level.size, classes.codes[place]) for place, level in zip(pair, levels, strict=True)]
    values = _rectangles(names, codes, classes.count)
    first, title = (plan.keys.names[place] for place in pair)
    share = {"axis": {"format": "%"}, "scale": {"domain": [0, 1]}}
    encoding = {
        "x": {"field": "x0", "type": "quantitative", "title": first, **share},
        "x2": {"field": "x1"},
        "y": {"field": "y0", "type": "quantitative", "title": title, **share},
        "y2": {"field": "y1"},
        "color": {"field": "second", "type": "nominal", "sort": names[1], "legend": {"columns": 4, "title": title}},
        "tooltip": [{"field": "first"}, {"field": "second"}, {"field": "records", "format": ","}],
    }
    return chart(values, {"type": "rect", "stroke": "white", "strokeWidth": 1}, encoding, height=260)


def _rectangles(names: list[list[str]], codes: list[IntArray], count: IntArray) -> list[Spec]:
    total, left, found = float(count.sum()), 0.0, list[Spec]()
    for first, label in enumerate(names[0]):
        column = codes[0] == first
        width = float(count[column].sum()) / total
        bottom = 0.0
        for second, other in enumerate(names[1]):
            records = int(count[column & (codes[1] == second)].sum())
            if records:
                height = records / (width * total)
                place = {"x0": left, "x1": left + width, "y0": bottom, "y1": bottom + height}
                found.append({"first": label, "second": other, "records": records, **place})
                bottom += height
        left += width
    return found
