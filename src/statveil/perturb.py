"""Safe files: columns that are no keys, perturbed by the classical methods."""

from __future__ import annotations

from statveil.records.perturb.figures import PerturbedColumn
from statveil.records.perturb.perturb import PerturbedRecords, perturb_records
from statveil.records.perturb.steps import Microaggregation, Noise, Pram, QuantileCoding, RankSwapping

__all__ = [
    "Microaggregation",
    "Noise",
    "PerturbedColumn",
    "PerturbedRecords",
    "Pram",
    "QuantileCoding",
    "RankSwapping",
    "perturb_records",
]
