"""Line charts as SVG text: no dependency, readable on white and without colours.

Series differ in colour (Okabe and Ito's palette, made for colour-blind readers), mark and dash; their names stand beside the
plot, never on it, in the order in which the lines end.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import NamedTuple

from statveil.core.errors import InputError

Point = tuple[float, float]

PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
DASHES = ("", "7 3", "2 3")
WIDTH, HEIGHT = 860, 480
LEFT, TOP, BOTTOM, GAP = 84, 50, 60, 18
KEY_LINE, LETTER = 21, 7.2
"""Height of a line of the legend, and a letter's width in it: both generous."""
MOST_TICKS = 9
NARROW = 2.4
"""A range of values up to this ratio has evenly spaced ticks on a logarithmic axis too: none of them can be zero."""
INK, FAINT = "#222222", "#DDDDDD"


class Axis(NamedTuple):
    """One direction of the plot: `place` maps a value to pixels; each tick is a value with its words."""

    place: Callable[[float], float]
    ticks: Sequence[tuple[float, str]]


class Box(NamedTuple):
    """The plotting area in pixels."""

    left: float
    top: float
    right: float
    bottom: float


def line_chart(
    series: Mapping[str, Sequence[Point]],
    *,
    title: str,
    x_label: str,
    y_label: str,
    log_x: bool = False,
    log_y: bool = False,
    marks: bool = True,
) -> str:
    """Each series as a line through its points, in their order. A logarithmic axis takes positive values only."""
    points = [point for line in series.values() for point in line]
    _check(points, log_x=log_x, log_y=log_y)
    names = max(len(name) for name in series)
    box = Box(LEFT, TOP, WIDTH - GAP - 46 - names * LETTER, max(HEIGHT, TOP + BOTTOM + KEY_LINE * len(series)) - BOTTOM)
    across = _axis([x for x, _ in points], box.left, box.right, log=log_x, wanted=7)
    upward = _axis([y for _, y in points], box.bottom, box.top, log=log_y, wanted=6)
    height = box.bottom + BOTTOM
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:g}" width="{WIDTH}" height="{height:g}" role="img"'
            f' font-family="Helvetica, Arial, sans-serif" font-size="13" fill="{INK}">',
            f"<title>{escape(title)}</title>",
            f'<rect width="{WIDTH}" height="{height:g}" fill="#FFFFFF"/>',
            _text(box.left, 28, title, size=16, weight="bold"),
            *_grid(box, across, upward),
            _text((box.left + box.right) / 2, height - 16, x_label, anchor="middle"),
            _text(20, (box.top + box.bottom) / 2, y_label, anchor="middle", turned=True),
            *_lines(series, across, upward, box, marks=marks),
            "</svg>",
            "",
        ]
    )


def _check(points: Sequence[Point], *, log_x: bool, log_y: bool) -> None:
    if not points:
        raise InputError("A chart needs at least one point.")
    if not all(math.isfinite(x) and math.isfinite(y) for x, y in points):
        raise InputError("A chart shows finite numbers only.")
    if (log_x and min(x for x, _ in points) <= 0) or (log_y and min(y for _, y in points) <= 0):
        raise InputError("A logarithmic axis shows positive numbers only.")


def _axis(values: Sequence[float], first: float, last: float, *, log: bool, wanted: int) -> Axis:
    """An axis from round number to round number around the values, laid from pixel `first` to pixel `last`."""
    steps = _log_steps(min(values), max(values)) if log else _round_steps(min(values), max(values), wanted)
    scale: Callable[[float], float] = math.log10 if log else float
    low, high = scale(steps[0]), scale(steps[-1])
    ticks = _thinned(steps) if log else steps
    return Axis(
        lambda value: first + (last - first) * (scale(value) - low) / (high - low),
        [(tick, _words(tick, ticks, log=log)) for tick in ticks],
    )


def _round_steps(low: float, high: float, wanted: int) -> list[float]:
    """Multiples of 1, 2 or 5 times a power of ten around the values; from zero when that wastes little room."""
    if 0 <= low <= 0.4 * high:
        low = 0.0
    if high == low:
        low, high = low - (abs(low) or 1) / 2, high + (abs(high) or 1) / 2
    power = 10.0 ** math.floor(math.log10((high - low) / wanted))
    step = next(factor * power for factor in (1, 2, 5, 10) if (high - low) / (factor * power) <= wanted)
    start, stop = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [place * step for place in range(start, stop + 1)]


def _log_steps(low: float, high: float) -> list[float]:
    """Round numbers around the values: multiples of powers of ten, more of them in less than a decade; evenly spaced in much less."""
    if low < high <= NARROW * low:
        return _round_steps(low, high, MOST_TICKS // 2)
    factors = (1, 2, 5) if high >= 10 * low else (1, 1.5, 2, 3, 5, 7)
    powers = range(math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 2)
    steps = [factor * 10.0**power for power in powers for factor in factors]
    first = max(place for place, step in enumerate(steps) if step <= low * (1 + 1e-9))
    last = min(place for place, step in enumerate(steps) if step >= high * (1 - 1e-9) and place > first)
    return steps[first : last + 1]


def _thinned(steps: list[float]) -> list[float]:
    """Powers of ten only, or every second or third of them, where there would be too many words."""
    if len(steps) <= MOST_TICKS:
        return steps
    powers = [step for step in steps if math.isclose(math.log10(step), round(math.log10(step)), abs_tol=1e-9)]
    return powers[:: math.ceil(len(powers) / MOST_TICKS)]


def _words(tick: float, ticks: Sequence[float], *, log: bool) -> str:
    largest = max(abs(number) for number in ticks)
    if largest >= 1e7 or (log and tick < 1e-4):
        return "0" if tick == 0 else f"{tick:.4g}".replace("e+0", "e").replace("e-0", "e-").replace("e+", "e")
    if log:
        return f"{tick:,.10g}"
    step = ticks[1] - ticks[0]
    return f"{tick:,.{max(0, -math.floor(math.log10(step) + 1e-9))}f}"


def _grid(box: Box, across: Axis, upward: Axis) -> list[str]:
    parts = []
    for value, words in upward.ticks:
        y = upward.place(value)
        parts += [_segment(box.left, y, box.right, y, FAINT), _text(box.left - 8, y + 4.5, words, anchor="end")]
    for value, words in across.ticks:
        x = across.place(value)
        parts += [_segment(x, box.bottom, x, box.bottom + 5, INK), _text(x, box.bottom + 20, words, anchor="middle")]
    return [*parts, _segment(box.left, box.bottom, box.right, box.bottom, INK)]


def _lines(series: Mapping[str, Sequence[Point]], across: Axis, upward: Axis, box: Box, *, marks: bool) -> list[str]:
    """The lines with their names; a line's look follows its place in `series`, the order of names the heights where lines end."""
    ends = {name: upward.place(line[-1][1]) if line else box.bottom for name, line in series.items()}
    rank = {name: place for place, name in enumerate(sorted(series, key=lambda name: ends[name]))}
    parts = []
    for number, (name, line) in enumerate(series.items()):
        places = [(across.place(x), upward.place(y)) for x, y in line]
        x, y = box.right + GAP, box.top + 8 + KEY_LINE * rank[name]
        parts += [_polyline(places, number), _polyline([(x, y), (x + 30, y)], number), _text(x + 38, y + 4.5, name)]
        parts += [_mark(place, number) for place in [*places, (x + 15, y)]] if marks else []
    return parts


def _polyline(places: Sequence[Point], number: int) -> str:
    dash = DASHES[number // len(PALETTE) % len(DASHES)]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    dashes = f' stroke-dasharray="{dash}"' if dash else ""
    return f'<polyline points="{path}" fill="none" stroke="{_colour(number)}" stroke-width="2" stroke-linejoin="round"{dashes}/>'


def _mark(place: Point, number: int) -> str:
    x, y = place
    shapes = (
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.6"',
        f'<rect x="{x - 3.3:.1f}" y="{y - 3.3:.1f}" width="6.6" height="6.6"',
        f'<path d="M{x:.1f} {y - 4.5:.1f}l4.3 7.8h-8.6z"',
        f'<path d="M{x:.1f} {y - 4.8:.1f}l4.8 4.8l-4.8 4.8l-4.8 -4.8z"',
        f'<path d="M{x:.1f} {y + 4.5:.1f}l4.3 -7.8h-8.6z"',
    )
    filled = _colour(number) if number // len(PALETTE) % 2 == 0 else "#FFFFFF"
    return f'{shapes[number % len(shapes)]} fill="{filled}" stroke="{_colour(number)}" stroke-width="1.4"/>'


def _colour(number: int) -> str:
    return PALETTE[number % len(PALETTE)]


def _segment(x1: float, y1: float, x2: float, y2: float, colour: str) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}"/>'


def _text(x: float, y: float, words: str, *, anchor: str = "start", size: int = 13, weight: str = "normal", turned: bool = False) -> str:
    turn = f' transform="rotate(-90 {x:.1f} {y:.1f})"' if turned else ""
    style = f'text-anchor="{anchor}" font-size="{size}" font-weight="{weight}"{turn}'
    return f'<text x="{x:.1f}" y="{y:.1f}" {style}>{escape(words)}</text>'
