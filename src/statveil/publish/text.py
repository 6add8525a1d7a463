"""Text cells that no spreadsheet takes for a formula, and names of files."""

from __future__ import annotations

import re

STARTS_FORMULA = r"\s*[=+\-@\t\r＝＋－＠]"
TO_GUARD = re.compile(f"'*{STARTS_FORMULA}")
GUARDED = re.compile(f"'+{STARTS_FORMULA}")


def guard(text: str) -> str:
    """A leading apostrophe for text that a spreadsheet might run; a text that looks guarded already gets one more."""
    return f"'{text}" if TO_GUARD.match(text) else text


def unguard(text: str) -> str:
    """The text as it was before `guard`."""
    return text[1:] if GUARDED.match(text) else text


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
