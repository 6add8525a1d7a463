"""Small random files with a risk model each, as the product takes them and as the reference does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

import statveil as sv
from statveil.records.models import MODELS, IndividualRisk, RecursiveDiversity, RiskModel
from tests.reference.models import PlainFile, PlainModel, tables_up_to

KINDS = tuple(MODELS)


def random_model_file(seed: int, *, rule: str, records: int, fields: int) -> tuple[sv.Microdata, sv.KeyVariables, PlainFile]:
    """A file, what is asked of it, and the same for the reference; kinds of models take turns."""
    rng = np.random.default_rng(seed)
    kind = [each for each in KINDS if rule == "original" or each != "household-risk"][seed % (6 if rule == "original" else 5)]
    rows = [tuple(None if rng.random() < 0.05 else f"v{int(rng.random() ** 1.5 * 4)}" for _ in range(fields)) for _ in range(records)]
    numbers = bool(rng.random() < 0.5)
    values = [str(int(rng.random() ** 2 * 4)) if numbers else "abcd"[int(rng.random() ** 2 * 4)] for _ in range(records)]
    weights = [round(float(1 + 9 * rng.random()), 2) for _ in range(records)]
    homes = [f"h{int(rng.integers(0, max(2, records // 2)))}" for _ in range(records)]
    model, plain = _models(kind, rng)
    order = int(rng.integers(1, fields + 1))
    threshold = int(rng.integers(1, 4))
    data = sv.read_microdata(
        pa.table(
            {
                **{name: pa.array([row[f] for row in rows], pa.string()) for f, name in enumerate("abc"[:fields])},
                "s": values,
                "w": [f"{weight:.2f}" for weight in weights],
                "home": homes,
            }
        )
    )
    names = "abc"[:fields]
    settings: dict[str, Any] = {"household": "home"} if kind == "household-risk" else {}
    costs = {name: {"pairs": float(rng.integers(1, 6)), "all": float(rng.integers(6, 12))} for name in names}
    keys = sv.KeyVariables(
        fields={name: sv.recode.Menu.own({"pairs": _pairs(), "all": dict.fromkeys(_pairs(), "*")}) for name in names},
        threshold=threshold, order=order, rule=rule, weight="w", models=[model], recoding_costs=costs, **settings,
    )  # fmt: skip
    file = PlainFile(
        records=rows, values=values, weights=weights, homes=homes, tables=tables_up_to(fields, order), threshold=threshold, model=plain
    )
    return data, keys, file


def menus(keys: sv.KeyVariables) -> list[Sequence[tuple[float, Callable[[str], str]]]]:
    costs: Any = keys.recoding_costs
    return [
        [(0.0, lambda value: value), (costs[name]["pairs"], _pairs().__getitem__), (costs[name]["all"], lambda _value: "*")]
        for name in keys.names
    ]


def _pairs() -> dict[str, str]:
    return {"v0": "low", "v1": "low", "v2": "high", "v3": "high"}


def _models(kind: str, rng: np.random.Generator) -> tuple[RiskModel, PlainModel]:
    if kind == "recursive-diversity":
        c = float(rng.choice([1, 1.5, 2, 3]))
        return RecursiveDiversity("s", c, 2), PlainModel(kind=kind, limit=2, c=c)
    if kind in ("individual-risk", "household-risk"):
        most = float(rng.choice([0.1, 0.2, 0.3, 0.5]))
        found: RiskModel = MODELS[kind](most)  # type: ignore[call-arg, arg-type]
        assert isinstance(found, IndividualRisk)
        return found, PlainModel(kind=kind, limit=most)
    limit = {"distinct-diversity": int(rng.integers(1, 4)), "entropy-diversity": float(rng.choice([1.5, 2, 2.5]))}.get(
        kind, float(rng.choice([0.1, 0.25, 0.4]))
    )
    return MODELS[kind]("s", limit), PlainModel(kind=kind, limit=limit)  # type: ignore[call-arg, arg-type]
