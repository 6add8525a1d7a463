"""Options that several commands have in the same words."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from statveil.core.errors import InputError

if TYPE_CHECKING:
    from statveil.protect.keep.wishes import Keep

LISTED = ("mean", "variance", "correlation", "slope", "measures")
"""Keys of --keep that may be given several times."""
KNOWN = (*LISTED, "within", "senses", "by", "widen")


def keep_from(words: Sequence[str]) -> Keep:
    """`what=cells` words, and `within`, `senses`, `by` and `widen` in the same way, as what is to be kept."""
    from statveil.protect.keep.wishes import Keep

    asked: dict[str, Any] = {}
    for word in words:
        key, equals, value = (part.strip() for part in word.partition("="))
        if key not in KNOWN or not (equals and value):
            hint = f"For example --keep mean=sensitive. Known: {', '.join(KNOWN)}."
            raise InputError(f"--keep {word!r} is not WHAT=CELLS.", hint=hint)
        if key in LISTED:
            asked.setdefault(key, []).append(value)
        elif key in asked:
            raise InputError(f"--keep {key} is given twice.")
        else:
            asked[key] = value if key in ("senses", "by") else _numbers(key, value)
    return Keep(**asked)


def _numbers(key: str, value: str) -> Any:
    try:
        numbers = [float(each) for each in value.split(",")]
    except ValueError:
        raise InputError(f"--keep {key}={value} holds something that is not a number.") from None
    return tuple(numbers) if key == "widen" else numbers[0]


def settings_of(words: Sequence[str]) -> dict[str, Any]:
    """`key=value` words as settings; a value that reads as a number, true, false or a list is one, any other is text."""
    settings: dict[str, Any] = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not (key.strip() and equals):
            raise InputError(f"--set {word!r} is not KEY=VALUE.", hint="For example: --set sweeps=400.")
        if key.strip() in settings:
            raise InputError(f"--set {key.strip()} is given twice.")
        try:
            settings[key.strip()] = json.loads(value)
        except ValueError:
            settings[key.strip()] = value.strip()
    return settings


def decimals_of(word: str | None) -> int | Literal["all"] | None:
    """A choice of decimals, as it is typed."""
    if word is None or word == "all":
        return "all" if word else None
    if not (word.isascii() and word.isdigit() and len(word) < 3):
        raise InputError(f"--decimals {word!r} is not a number, or all.", hint="For example --decimals 1.")
    return int(word)


OutOption = Annotated[Path | None, typer.Option("--out", "-o", metavar="DIR", help="Folder to write to.", show_default=False)]
SecondsOption = Annotated[float | None, typer.Option("--seconds", metavar="S", help="Time limit of the optimisation.", show_default=False)]
GapOption = Annotated[float, typer.Option("--gap", metavar="G", help="Stop once the certified gap is this small (0.01 is 1%).")]
MethodOption = Annotated[str, typer.Option("--method", metavar="M", help="How to search; an unknown name lists the known ones.")]
SeedOption = Annotated[int, typer.Option("--seed", metavar="N", help="Seed of the random numbers.")]
WeightsOption = Annotated[str, typer.Option("--weights", metavar="file|unit|value|inverse", help="What it costs to move a cell by one.")]
VariantOption = Annotated[
    str, typer.Option("--variant", metavar="at-least|exact", help="Sensitive cells move by at least, or exactly, their level.")
]
NonAdditiveOption = Annotated[bool, typer.Option("--non-additive", help="Accept a file whose relations do not hold.")]
NegativeLevelsOption = Annotated[bool, typer.Option("--negative-levels", help="Take levels below zero as zero.")]
DecimalsOption = Annotated[
    str | None,
    typer.Option(
        "--decimals", metavar="N|all", help="Of what is released; else those of the values. all: of levels too.", show_default=False
    ),
]
DelimiterOption = Annotated[
    str | None, typer.Option("--delimiter", metavar="C", help="Of a CSV file; found if not given.", show_default=False)
]
EncodingOption = Annotated[
    str | None, typer.Option("--encoding", metavar="E", help="Of a CSV file; found if not given.", show_default=False)
]
DecimalOption = Annotated[
    str | None, typer.Option("--decimal", metavar=".|,", help="Decimal mark in numbers written as text.", show_default=False)
]
AsJsonOption = Annotated[bool, typer.Option("--json", help="One JSON object on stdout, progress as JSON lines on stderr.")]
ForceOption = Annotated[bool, typer.Option("--force", help="Replace an earlier release in the folder.")]
DebugOption = Annotated[bool, typer.Option("--debug", help="Show the traceback of an internal error. It may hold confidential values.")]
