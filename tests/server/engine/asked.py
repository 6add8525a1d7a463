"""The village, asked."""

from __future__ import annotations

from pathlib import Path

from statveil.server.engine.answer import AnsweredTable


def value(answer: AnsweredTable, *codes: str) -> int:
    return int(answer.values[tuple(dimension.codes.index(code) for dimension, code in zip(answer.dimensions, codes, strict=True))])


def make(folder: Path) -> Path:
    folder.mkdir()
    return folder
