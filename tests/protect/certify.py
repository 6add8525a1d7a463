"""The certificate of one proof, for tests that have no more than one."""

from __future__ import annotations

from statveil.protect.bounds.certificate import Certified, Certifier
from statveil.protect.presolve.reduce import Reduction
from statveil.protect.search_state import Proof


def certify(reduction: Reduction, proof: Proof, objective: float) -> Certified | None:
    return Certifier(reduction, objective).certified(proof)
