"""Damaged samples: a read that says what the file says, or a FormatError with file and line; `benchmarks/malformed.py` tries 5,000."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from statveil.core.errors import FormatError
from tests.jobs.batch.mutations import READERS, collect, mutants
from tests.reference.argus import read, said

MUTANTS = 300


@pytest.mark.shared
def test_a_damaged_file_is_read_or_refused_with_file_and_line(shared_data: Path, tmp_path: Path) -> None:
    outcomes = [_outcome(sample, content) for sample, content in mutants(collect(shared_data, tmp_path), MUTANTS, seed=20_261_116)]
    assert [told for told in outcomes if told and not re.search(r"\w+\.\w+, line \d+: ", told)] == []
    assert sum(map(bool, outcomes)) > MUTANTS // 3


def _outcome(sample: Path, content: bytes) -> str:
    """What the FormatError says, or nothing when the file was read; any other error fails the test."""
    original = sample.read_bytes()
    sample.write_bytes(content)
    try:
        reading = READERS[sample.suffix](sample)
    except FormatError as error:
        return str(error)
    else:
        assert read(sample, reading) == said(sample)
        return ""
    finally:
        sample.write_bytes(original)
