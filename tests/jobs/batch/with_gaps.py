"""Batches that suppress."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

Batch = Callable[..., Path]
RULE = "FREQ(3,20)|MIS(1)"
