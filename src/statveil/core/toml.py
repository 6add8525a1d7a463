"""TOML files that people write: read whole, with words that help."""

from __future__ import annotations

import json
import math
import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from statveil.core.errors import FormatError, InputError

BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


def to_toml(content: Mapping[str, Any]) -> str:
    """Plain values first, then tables and lists of tables; what is None is left out, as TOML has no word for it.

    Below the top, where keys may be names of the user's, their order is kept: the order of dimensions is that of a table's columns.
    """
    return "\n".join(_lines(content, ())).strip() + "\n"


def _lines(content: Mapping[str, Any], path: tuple[str, ...]) -> list[str]:
    given = [(key, item) for key, item in content.items() if item is not None]
    last_plain = max((place for place, (_, item) in enumerate(given) if not _is_table(item)), default=-1)
    inline = [not _is_table(item) or (path and place < last_plain) for place, (_, item) in enumerate(given)]
    plain = [f"{_key(key)} = {_value(item)}" for (key, item), here in zip(given, inline, strict=True) if here]
    tables = [line for (key, item), here in zip(given, inline, strict=True) if not here for line in _table_lines(item, (*path, key))]
    return [*plain, *tables]


def _table_lines(item: Any, path: tuple[str, ...]) -> list[str]:
    name = ".".join(_key(key) for key in path)
    if isinstance(item, Mapping):
        only_tables = bool(item) and all(_is_table(each) for each in item.values())
        return _lines(item, path) if only_tables else ["", f"[{name}]", *_lines(item, path)]
    return [line for each in item for line in ("", f"[[{name}]]", *_lines(each, path))]


def _is_table(item: Any) -> bool:
    return isinstance(item, Mapping) or (_is_list(item) and len(item) > 0 and all(isinstance(each, Mapping) for each in item))


def _is_list(item: Any) -> bool:
    return isinstance(item, Sequence) and not isinstance(item, str)


def _key(key: str) -> str:
    return key if BARE_KEY.fullmatch(key) else _string(key)


def _value(item: Any) -> str:
    if isinstance(item, bool):
        return "true" if item else "false"
    if isinstance(item, int):
        return str(item)
    if isinstance(item, float):
        return repr(item) if math.isfinite(item) else str(item)
    if isinstance(item, Mapping):
        return "{" + ", ".join(f"{_key(key)} = {_value(each)}" for key, each in item.items() if each is not None) + "}"
    if _is_list(item):
        return "[" + ", ".join(_value(each) for each in item) + "]"
    return _string(str(item))


def _string(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


class TomlFile(NamedTuple):
    text: str
    content: dict[str, Any]


def read_toml(path: Path, *, start_from: str) -> TomlFile:
    """The text as it is and what it says; `start_from` tells where to find an example."""
    if path.is_dir():
        raise InputError(f"{path} is a folder, not a file.")
    if not path.is_file():
        raise InputError(f"There is no file {path}.", hint=start_from)
    try:
        text = path.read_bytes().decode("utf-8-sig")
        return TomlFile(text, tomllib.loads(text))
    except UnicodeDecodeError as error:
        raise FormatError(f"{path} is not UTF-8 text (byte {error.start}).", hint="Save the job file as UTF-8.") from None
    except tomllib.TOMLDecodeError as error:
        raise FormatError(
            f"{path} is not valid TOML: {error}.", hint=f"Text stands in quotes; {start_from[:1].lower()}{start_from[1:]}"
        ) from None
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}.") from None
