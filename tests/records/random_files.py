"""Ugly random files, made safe by the product and judged by plain code that reads the written file with the csv module alone."""

from __future__ import annotations

import csv
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

import statveil as sv
from statveil.recode import Extremes, Menu

WORDS = (
    *("missing", "NA", "N/A", "nan", "null", "None", "?", ".", "-", " ", "missing_", "unknown", "as it is", "*"),
    *("ä", "Ω≈ç√", "日本", "🙂", "a,b", 'say "hi"', "it's", "1", "1.0", "01", "-0", "1e3", "x;y", " lead", "trail ", "A", "a", "B", "--"),
    *("\u200b", "e\u0301", "\u00e9", "true", "0", "NULL"),
)


@dataclass(frozen=True, kw_only=True)
class UglyFile:
    """What was asked of which file; `menus` are the ways to write each field, as the product calls them."""

    path: Path
    names: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    keys: sv.KeyVariables
    recoding: Mapping[str, str] | None


def ugly_file(seed: int, folder: Path) -> UglyFile:
    rng = np.random.default_rng(seed)
    fields, records = int(rng.integers(1, 5)), int(rng.choice([1, 2, 5, 20, 60]))
    names = tuple(["key", "missing", "NA", "Größe", "a b"][: fields + 1][int(rng.random() < 0.5) :][:fields]) or ("key",)
    columns = [_column(rng, records) for _ in names]
    menus = {name: _menu(rng, column) for name, column in zip(names, columns, strict=True)}
    rows = [(*(column[row] for column in columns), str(row)) for row in range(records)]
    path = folder / f"ugly{seed}.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, quoting=csv.QUOTE_MINIMAL)
        writer.writerow([*names, "id"])
        writer.writerows(rows)
    rule = str(rng.choice(["original", "recount", "wildcard"], p=[0.45, 0.4, 0.15]))
    codes = {name: _codes(rng, column) for name, column in zip(names, columns, strict=True) if rng.random() < 0.3}
    settings: dict[str, Any] = {
        "threshold": int(rng.integers(1, 5)),
        "order": "full" if rng.random() < 0.3 else int(rng.integers(1, 4)),
        "rule": rule,
        "missing": str(rng.choice(["unknown", "category"])),
        "missing_codes": codes,
    }
    if rule != "wildcard" and rng.random() < 0.2:
        settings |= {"linked": [[names[0], names[-1]]]} if len(names) > 1 else {}
    keys = sv.KeyVariables(fields=menus, **settings)
    forced = {name: str(rng.choice([each.name for each in menu.recodings])) for name, menu in menus.items() if menu and menu.recodings}
    return UglyFile(path=path, names=names, rows=rows, keys=keys, recoding=forced if forced and rng.random() < 0.5 else None)


def _column(rng: np.random.Generator, records: int) -> list[str]:
    kind = rng.random()
    if kind < 0.1:
        return [""] * records
    if kind < 0.2:
        return [str(rng.choice(WORDS))] * records
    if kind < 0.45:
        return [
            str(rng.choice(["", "NA", "7", "7.0", "99", f"{rng.integers(0, 40)}"], p=[0.1, 0.05, 0.1, 0.05, 0.1, 0.6]))
            for _ in range(records)
        ]
    few = rng.choice(WORDS, int(rng.integers(1, 7)))
    return [str(rng.choice(few)) if rng.random() > 0.15 else "" for _ in range(records)]


def _codes(rng: np.random.Generator, column: Sequence[str]) -> list[str]:
    return [str(value) for value in rng.choice([*column, "1", "missing", ""], int(rng.integers(1, 3)))]


def _menu(rng: np.random.Generator, column: Sequence[str]) -> Menu | None:
    if rng.random() < 0.4:
        return None
    words = sorted({value for value in column if value})
    special = [value for value in words if not value.strip().isdigit()]
    if len(special) < len(words) or not words:
        widths = Menu.intervals(5, 20, special=[value.strip() for value in special])
        return widths + Menu(recodings=(Extremes(name="top", top=30, special=tuple(value.strip() for value in special)),))
    halves = {word: ("missing" if place % 2 else "NA") for place, word in enumerate(words)}
    return Menu.own({"halves": halves, "all": dict.fromkeys(words, "*")})


def judge(ugly: UglyFile, folder: Path) -> str:
    """Make the file safe and say in one word what came of it: `safe`, `refused`, or the fault."""
    target = folder / f"{ugly.path.stem}-safe.csv"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            data = sv.read_microdata(ugly.path)
            release = sv.apply_plan(data, sv.plan_recoding(data, ugly.keys, recoding=ugly.recoding, limits=sv.Limits(seconds=10)), target)
    except sv.errors.AuditFailed:
        return "AUDIT FAILED"
    except (sv.InputError, sv.InfeasibleProblem) as error:
        return f"refused: {type(error).__name__}"
    except Exception as error:
        return f"CRASH {type(error).__name__}"
    return "safe" if not recounted(ugly, release.plan, target) else "UNSAFE"


def recounted(ugly: UglyFile, plan: sv.FilePlan, target: Path) -> int:
    """Records that the declared rule calls unsafe, by pairs; which values are missing and how they are written is worked out anew."""
    with target.open(encoding="utf-8", newline="") as file:
        lines = list(csv.reader(file))
    after = {line[-1]: line[:-1] for line in lines[1:]}
    if sorted(after) != sorted(row[-1] for row in ugly.rows):
        return len(ugly.rows)
    mapping = plan.mapping()
    word = dict(zip(ugly.names, plan.coded.missing_as, strict=True))
    before, released = [], []
    for row in ugly.rows:
        old = [_known(ugly, name, value) for name, value in zip(ugly.names, row, strict=False)]
        new = [None if value is None else mapping.get(name, {}).get(value, value) for name, value in zip(ugly.names, old, strict=True)]
        before.append([word[name] if value is None else value for name, value in zip(ugly.names, new, strict=True)])
        shown = after[row[-1]]
        if any(text not in ("", value if value is not None else raw, word[name])
               for text, value, raw, name in zip(shown, new, row, ugly.names, strict=False)):  # fmt: skip
            return len(ugly.rows)
        released.append([own if text != "" else None for text, own in zip(shown, before[-1], strict=True)])
    tables = [(places, least) for places, least in _tables(ugly.keys)]
    return sum(
        any(_rare(before, released, place, fields, least, ugly.keys.rule) for fields, least in tables) for place in range(len(before))
    )


def _known(ugly: UglyFile, name: str, value: str) -> str | None:
    codes = [code.strip() for code in ugly.keys.missing_codes.get(name, ())]
    return None if value == "" or value.strip(" ") in codes else value


def _tables(keys: sv.KeyVariables) -> list[tuple[tuple[int, ...], int]]:
    most = len(keys.names) if keys.order == "full" else min(int(keys.order), len(keys.names))
    least: Any = keys.threshold
    return [(places, least) for size in range(1, most + 1) for places in combinations(range(len(keys.names)), size)]


def _rare(
    before: Sequence[Sequence[str | None]],
    released: Sequence[Sequence[str | None]],
    row: int,
    fields: tuple[int, ...],
    least: int,
    rule: str,
) -> bool:
    record = released[row]
    if rule == "wildcard":
        return sum(all(None in (record[f], other[f]) or record[f] == other[f] for f in fields) for other in released) < least
    if any(record[f] is None for f in fields):
        return False
    counted = before if rule == "original" else released
    return sum(all(other[f] == record[f] for f in fields) for other in counted) < least
