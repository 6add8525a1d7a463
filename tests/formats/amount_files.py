"""Amounts read from a file of one line."""

from __future__ import annotations


def text(pieces: object) -> str:
    return b"".join(pieces).decode("ascii")  # type: ignore[call-overload]
