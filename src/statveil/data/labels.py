"""What statistical packages say about columns and values in words: kept, and given back when the file is written again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from statveil.data.packages import STATS_ENDINGS, STATS_READERS


@dataclass(frozen=True, kw_only=True)
class FileLabels:
    columns: Mapping[str, str] = field(default_factory=dict)
    values: Mapping[str, Mapping[Any, str]] = field(default_factory=dict)


def read_labels(origin: str) -> FileLabels:
    """The labels of a file of SPSS, Stata or SAS that was read before; of any other file there are none."""
    path = Path(origin)
    if path.suffix.lower() not in STATS_ENDINGS or not path.is_file():
        return FileLabels()
    import pyreadstat

    _, facts = getattr(pyreadstat, STATS_READERS[path.suffix.lower()])(str(path), metadataonly=True)
    columns = {name: label for name, label in facts.column_names_to_labels.items() if label}
    return FileLabels(columns=columns, values=facts.variable_value_labels)
