"""The same problem with fewer cells and relations, and the way back."""

from typing import NamedTuple


class PresolveTuning(NamedTuple):
    """How much work presolve takes on. All by judgement: each is far above what tables have needed."""

    passes: int = 20  # rounds of merging, fixing and tightening
    most_steps: int = 20_000_000  # multiplications of elimination after which the relations not yet looked at are kept unseen
    few_single: int = 50  # components of one relation up to which they are left to the method, which gives proofs with its bounds
    most_choices: int = 10  # cells with a choice in such a component up to which all senses are tried


TUNING = PresolveTuning()
