"""Files of tau-ARGUS: batches run, files converted."""

from __future__ import annotations

from statveil.jobs.batch.run import BatchResult, BatchSettings, run_batch
from statveil.jobs.convert import Conversion, convert

__all__ = [
    "BatchResult",
    "BatchSettings",
    "Conversion",
    "convert",
    "run_batch",
]
