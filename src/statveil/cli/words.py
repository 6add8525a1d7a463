"""Words of the command line as settings: `what=cells` of --keep and `key=value` of --set."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

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
