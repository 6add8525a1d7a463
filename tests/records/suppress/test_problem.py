"""What blanks cost, in bits; rows of one key and mask are one."""

from __future__ import annotations

import numpy as np
import pytest

from statveil.records.suppress.problem import merged, shannon_entropy


@pytest.mark.parametrize(
    ("codes", "records", "bits"),
    [
        ([0, 1], [5, 5], 1.0),
        ([0, 1, 2, 3], [1, 1, 1, 1], 2.0),
        ([0, 0], [3, 4], 0.0),
        ([0, 1, -1], [2, 2, 100], 1.0),
        ([-1, -1], [1, 1], 0.0),
        ([0, 1], [1, 3], 0.811278),
    ],
)
def test_entropy_in_bits_by_hand_missing_values_left_out(codes: list[int], records: list[int], bits: float) -> None:
    assert shannon_entropy(np.array(codes), np.array(records)) == pytest.approx(bits, abs=1e-6)


def test_rows_of_the_same_key_and_mask_are_added_up_and_sorted() -> None:
    key, mask, records = merged(np.array([2, 1, 2, 1]), np.array([0, 3, 0, 1]), np.array([5, 7, 2, 1]))
    assert key.tolist() == [1, 1, 2]
    assert mask.tolist() == [1, 3, 0]
    assert records.tolist() == [1, 7, 7]


def test_no_rows_are_no_rows() -> None:
    nothing = np.zeros(0, dtype=np.int64)
    assert [each.tolist() for each in merged(nothing, nothing, nothing)] == [[], [], []]
