"""Batches on the village."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from statveil.core.limits import Limits
from statveil.formats.argus.outputs import CodeValue, read_code_value
from statveil.jobs.batch.run import BatchSettings

Batch = Callable[..., Path]
QUICK = BatchSettings(limits=Limits(seconds=60))
INTERNAL = '<WRITETABLE> (1, 3, AS+, "out.txt")'


def read(path: Path) -> dict[tuple[str, ...], CodeValue]:
    return {line.codes: line for line in read_code_value(path, dimensions=2)}


def unsafe(path: Path) -> set[tuple[str, ...]]:
    return {codes for codes, line in read(path).items() if line.status and line.status.unsafe}
