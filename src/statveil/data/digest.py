"""Digests of what records hold, keyed by a secret: the only ones by which safe files are ranked and ordered.

An engine's own `hash()` changes between its versions; MD5 of a fenced text does not, so that an update of the engine moves no byte.
"""

from __future__ import annotations

from collections.abc import Sequence


def keyed_digest(secret: int, texts: Sequence[str]) -> str:
    """An expression of 32 hexadecimal digits: equal for equal records, and without a pattern to whoever lacks the secret."""
    return f"md5(concat('statveil order {secret} ', {', '.join(_fenced(text) for text in texts)}))"


def _fenced(text: str) -> str:
    """The text with its length before it, so that ('a', 'bc') and ('ab', 'c') differ; a missing one has no length."""
    return f"coalesce(length({text}) || ':' || {text}, '-')"
