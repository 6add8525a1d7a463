"""A few of the ugly random files of `benchmarks/ugly_files.py`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.records.random_files import judge, ugly_file


@pytest.mark.parametrize("seed", range(5000, 5012))
def test_ugly_files_come_out_safe_or_are_refused_with_words(tmp_path: Path, seed: int) -> None:
    found = judge(ugly_file(seed, tmp_path), tmp_path)
    assert found == "safe" or found.startswith("refused")
