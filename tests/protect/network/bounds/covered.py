"""Networks with open totals."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

from statveil.protect.network.detect import Network, detect
from statveil.protect.problem import ProtectionProblem

RELAXED = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def network_of(problem: ProtectionProblem) -> Network:
    network = detect(problem)
    assert isinstance(network, Network), network
    return network


def open_somewhere(problem: ProtectionProblem) -> bool:
    return not (problem.sensitive & ~problem.can_go_up & ~problem.can_go_down).any()
