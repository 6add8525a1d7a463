"""Single respondents in one sum, each of which may be the other's counterweight."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from statveil.audit.attacks.attacker import TUNING, Effort
from statveil.audit.attacks.case import Contributions, Respondents, SystemCase, SystemOriginals
from statveil.audit.attacks.one_table import singletons
from statveil.audit.attacks.public import ReleasedSystem
from statveil.audit.attacks.suite import attack_system
from statveil.audit.attacks.verdict import VerdictStatus

PARTS = np.array([400, 300, 200, 100])


def people(*amounts: list[int], protected: bool = True, coalition: int = 1) -> Respondents:
    """Cells with these contributions."""
    return Respondents(
        number=np.array([len(each) for each in amounts]),
        protected=np.full(len(amounts), protected),
        percent=0.1,
        coalition=coalition,
        contributions=lambda cells: [
            Contributions(amount=np.array(amounts[cell]), protected=np.full(len(amounts[cell]), protected)) for cell in cells
        ],
    )


RNG = np.random.Generator(np.random.PCG64(0))


def test_of_many_pairs_of_single_respondents_some_are_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(singletons, "TUNING", TUNING._replace(most_pairs=4))
    cells = singletons.Singles(released=PARTS, value=PARTS, single=np.ones(4, dtype=bool), victim=np.array([True, False, True, True]))
    row, part = np.array([0, 0, 1, 1]), np.arange(4)
    assert singletons.errors(row, part, cells, RNG).tolist() in ([0.0], [0.0, 0.0])


def system(respondents: Respondents | None) -> SystemCase:
    """Two single respondents in one sum, moved against each other: 100 down, 100 up."""
    public = ReleasedSystem(
        relations=csr_matrix([[1, 1, 1, -1]]),
        rhs=np.zeros(1, dtype=np.int64),
        released=np.array([400, 600, 1000, 2000]),
        low=np.zeros(4),
        high=np.full(4, np.inf),
        known_bounds=False,
    )
    level = np.array([50, 50, 0, 0])
    secret = SystemOriginals(value=np.array([500, 500, 1000, 2000]), sensitive=level > 0, lower=level, upper=level)
    return SystemCase(published=public, originals=secret, cap=2.0, effort=Effort(), respondents=respondents)


def test_a_single_respondent_knows_the_counterweight() -> None:
    heard: list[str] = []
    known = attack_system(
        system(people([500], [500], [500, 500], [2000, 0])), target="two", only=("T13", "T14", "T20"), on_progress=heard.append
    )
    assert known["T14"].number == "100.0% of 2 pairs within p%, 2 exact"
    assert known["T13"].status is VerdictStatus.NOT_APPLICABLE  # nobody is with another in a sensitive cell
    assert known["T20"].status is VerdictStatus.NOT_APPLICABLE
    assert [each[:3] for each in heard] == ["T13", "T14"]
    waived = attack_system(system(people([500], [500], [500, 500], [2000, 0], protected=False)), target="two", only=("T14",))
    assert waived["T14"].status is VerdictStatus.NOT_APPLICABLE


def test_a_system_without_respondents_cannot_tell_of_them() -> None:
    report = attack_system(system(None), target="none", only=("T13", "T14"))
    assert {each.status for each in report.verdicts} == {VerdictStatus.NOT_APPLICABLE}
