"""A batch file by itself, without what a run makes of it."""

from __future__ import annotations

from pathlib import Path

from statveil.formats.argus.batch_commands import Batch, scan_batch, together


def read_batch(path: Path) -> Batch:
    """Its commands; wrong lines are refused all in one message, as a run refuses them."""
    batch = scan_batch(path)
    if batch.faults:
        raise together(batch.faults)
    return batch
