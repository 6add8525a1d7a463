"""Runs to tell stories with."""

from __future__ import annotations

from typing import Any

from statveil_lab.runner import Run


def a_run(**changes: Any) -> Run:
    """A run on a small square table, with what a story changes about it."""
    usual: dict[str, Any] = {
        "group": "squares",
        "table": "4x4",
        "size": 4,
        "method": "random",
        "seed": 0,
        "limit": 1.0,
        "cells": 25,
        "sensitive": 5,
        "relations": 10,
        "objective": 110.0,
        "bound": 100.0,
        "ending": "feasible",
        "seconds": 0.5,
    }
    return Run(**({"certified": changes.get("bound", usual["bound"])} | usual | changes))
