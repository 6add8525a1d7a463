"""TOML files that people write: read whole, with words that help."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any, NamedTuple

from statveil.errors import FormatError, InputError


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
