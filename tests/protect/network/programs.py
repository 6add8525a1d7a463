"""Programs on networks."""

from __future__ import annotations

import numpy as np
from hypothesis import HealthCheck, settings

from statveil.protect.network.detect import Network, detect
from statveil.protect.network.flow import FlowProgram
from statveil.protect.problem import ProtectionProblem

RELAXED = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def program_of(problem: ProtectionProblem) -> FlowProgram:
    network = detect(problem)
    assert isinstance(network, Network), network
    return FlowProgram(problem, network)


def some_senses(problem: ProtectionProblem, seed: int) -> np.ndarray:
    coin = np.random.default_rng(seed).choice([-1, 1], problem.size)
    either = problem.can_go_up & problem.can_go_down
    return np.where(problem.sensitive, np.where(either, coin, np.where(problem.can_go_up, 1, -1)), 0)


def open_somewhere(problem: ProtectionProblem) -> bool:
    return not (problem.sensitive & ~problem.can_go_up & ~problem.can_go_down).any()
