"""Files that are either there in full or not at all."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path

from statveil.core.errors import InputError
from statveil.tables.table import View

STARTS_FORMULA = r"\s*[=+\-@\t\r＝＋－＠]"
TO_GUARD = re.compile(f"'*{STARTS_FORMULA}")


def guard(text: str) -> str:
    """A leading apostrophe for text that a spreadsheet might run; a text that looks guarded already gets one more."""
    return f"'{text}" if TO_GUARD.match(text) else text


def csv_field(text: str) -> str:
    """A guarded text cell, quoted where CSV (RFC 4180) asks for it."""
    safe = guard(text)
    needs_quotes = any(mark in safe for mark in ',"\r\n') or safe != safe.strip()
    return '"' + safe.replace('"', '""') + '"' if needs_quotes else safe


def file_word(name: str) -> str:
    """The name of a view as part of a file name: letters of any script, digits, dot, dash and underscore."""
    return re.sub(r"[^\w.-]+", "_", name).strip("._") or "table"


def identifier(name: str) -> str:
    """The name as an SDMX identifier."""
    word = re.sub(r"[^A-Za-z0-9_]+", "_", name).strip("_").upper() or "X"
    return word if word[0].isalpha() else f"X_{word}"


_SDMX_WORD = re.compile(r"\.sdmx$", re.IGNORECASE)
"""A view called so would take the file of another view in another format."""


def paths_of(path: Path, views: Sequence[View]) -> list[Path]:
    """One path per view: `path` itself for a single view, otherwise with the view's name in it."""
    if len(views) == 1:
        return [path]
    start, found = path.name.removesuffix(ending(path)), list[str]()
    for view in views:
        stem = f"{start}-{_SDMX_WORD.sub('_sdmx', file_word(view.name))}"
        taken = {other.casefold() for other in found}
        number = next(n for n in range(1, len(views) + 1) if _numbered(stem, n).casefold() not in taken)
        found.append(_numbered(stem, number))
    return [path.with_name(stem + ending(path)) for stem in found]


def ending(path: Path) -> str:
    """The last suffix, or both of `.sdmx.csv`."""
    return "".join(path.suffixes[-2:]) if path.name.endswith(".sdmx.csv") else path.suffix


def _numbered(stem: str, number: int) -> str:
    return stem if number == 1 else f"{stem}-{number}"


def write_whole(path: Path, write: Callable[[Path], object]) -> Path:
    """Let `write` fill a temporary file beside `path`, then put it in place in one step."""
    if not path.parent.is_dir():
        raise InputError(f"Cannot write {path.name!r}: the folder {str(path.parent)!r} does not exist.", hint="Create the folder first.")
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        write(temporary)
        os.replace(temporary, path)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise InputError(f"Cannot write {str(path)!r}: {reason}.", hint="Check that the folder can be written to and has room.") from error
    finally:
        temporary.unlink(missing_ok=True)
    return path


def write_bytes(path: Path, content: bytes) -> Path:
    return write_whole(path, lambda temporary: temporary.write_bytes(content))
