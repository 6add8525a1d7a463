"""The gate: there is no release without a passed audit."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, replace

import numpy as np
import pandas as pd
import pytest

import statveil as sv
from statveil.audit.kept import KeptStatistic
from statveil.audit.tables import release_hash
from statveil.core.limits import Ending

TRUE_VALUES = (90125, 98113, 17814, 115927)
"""The vet of the north, the northern total, the baker total, and the grand total."""


@pytest.fixture(scope="module")
def release() -> sv.Release:
    firms = pd.DataFrame(
        {
            "region": ["north", "north", "north", "south", "south", "south", "south"],
            "trade": ["vet", "baker", "baker", "vet", "vet", "vet", "baker"],
            "turnover": [90125, 4011, 3977, 2503, 2604, 2705, 9826],
        }
    )
    spec = sv.TableSpec(dimensions={"region": None, "trade": None}, measure="turnover")
    return sv.protect_table(firms, spec, rules=[sv.MinimumFrequency(2)], limits=sv.Limits(seconds=300))


def with_value(release: sv.Release, value: np.ndarray) -> sv.Release:
    """The release with other numbers and a provenance that fits them."""
    protected = replace(release.protected, value=value)
    return replace(release, protected=protected, provenance=replace(release.provenance, release_hash=release_hash(protected)))


def test_a_release_carries_the_audit_that_let_it_through(release: sv.Release) -> None:
    assert release.audit.passed
    assert release.gap == release.adjustment.gap


def test_an_unprotected_table_cannot_be_released(release: sv.Release) -> None:
    with pytest.raises(sv.AuditFailed, match="nothing is released"):
        with_value(release, release.table.value)


def test_a_table_that_does_not_add_up_cannot_be_released(release: sv.Release) -> None:
    value = release.protected.value.copy()
    value[0] += 1
    with pytest.raises(sv.AuditFailed, match="FAILED  Every total is the sum of its parts"):
        with_value(release, value)


def test_numbers_with_another_hash_cannot_be_released(release: sv.Release) -> None:
    with pytest.raises(sv.AuditFailed, match="FAILED  The provenance names this input and these numbers"):
        replace(release, provenance=replace(release.provenance, release_hash=""))


def test_the_refusal_tells_no_confidential_value(release: sv.Release) -> None:
    with pytest.raises(sv.AuditFailed) as refused:
        with_value(release, release.table.value)
    assert not any(str(value) in str(refused.value) for value in TRUE_VALUES)


def test_the_audit_cannot_be_brought_along(release: sv.Release) -> None:
    with pytest.raises((TypeError, ValueError)):
        replace(release, audit=release.audit)


def test_a_release_shows_no_confidential_value(release: sv.Release) -> None:
    confidential = {str(value) for value in release.table.value} - {str(value) for value in release.protected.value}
    assert str(TRUE_VALUES[0]) in confidential
    assert not any(value in repr(release) or value in str(release) for value in confidential)
    for word in ("sensitivity", "requirements", "lower_level", "top=", "deviation"):
        assert word not in repr(release)


def test_a_release_cannot_be_changed(release: sv.Release) -> None:
    with pytest.raises(FrozenInstanceError):
        release.protected = release.protected  # type: ignore[misc]
    with pytest.raises(ValueError, match="read-only"):
        release.protected.value[0] = 1
    with pytest.raises(ValueError, match="read-only"):
        release.protected.views[0].cell[0] = 1


def test_an_adjustment_cannot_be_changed(release: sv.Release) -> None:
    for array in (release.adjustment.deviation, release.adjustment.senses):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


def test_a_release_and_its_parts_show_themselves_in_a_few_words(release: sv.Release) -> None:
    for part in (release.protected, release.protected.views[0], release.adjustment, release.table, release.sensitivity):
        assert "array" not in repr(part)
        assert len(repr(part)) < 600


def test_the_gap_of_a_table_proved_optimal_is_zero(release: sv.Release) -> None:
    proved = replace(release.adjustment, objective=1.0 + 2**-50, certified_bound=1.0, ending=Ending.OPTIMAL)
    assert proved.gap == proved.certified_gap == 0
    assert replace(proved, ending=Ending.FEASIBLE).gap > 0


def test_a_table_that_does_not_keep_the_mean_it_promises_cannot_be_released(release: sv.Release) -> None:
    vet = int(np.flatnonzero(release.sensitivity.sensitive)[0])
    promise = KeptStatistic(what="mean", words="the vet of the north", cells=(vet,))
    with pytest.raises(sv.AuditFailed, match="FAILED  Every mean that is said to be kept is kept to the unit"):
        replace(release, requirements=replace(release.requirements, kept=(promise,)))


def test_a_solvers_word_closes_no_gap(release: sv.Release) -> None:
    claimed = replace(release.adjustment, objective=8.0, bound=8.0, bound_by="solver", certified_bound=5.0, ending=Ending.CLAIMED)
    assert claimed.gap == claimed.certified_gap == 0.6
    assert replace(claimed, certified_bound=0.0).gap == float("inf")
