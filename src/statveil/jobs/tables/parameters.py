"""What was asked as JSON, for the provenance: what decides the numbers, in an order that does not depend on the run."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from statveil.core.errors import InputError
from statveil.core.limits import Limits
from statveil.data.hierarchy import Hierarchy
from statveil.jobs.tables.assess import Links
from statveil.protect.adjustment import Adjustment
from statveil.protect.infeasible.table_repair import TableRepair
from statveil.protect.keep.wishes import Keep
from statveil.protect.options import Options

WIDENED = "widened"


def as_json(thing: Any) -> Any:
    """A setting as JSON."""
    if isinstance(thing, Hierarchy):
        return {"total": thing.total, "parent": dict(thing.parent)}
    if dataclasses.is_dataclass(thing) and not isinstance(thing, type):
        fields = {field.name: as_json(getattr(thing, field.name)) for field in dataclasses.fields(thing)}
        return {"kind": type(thing).__name__, **fields}
    if isinstance(thing, Mapping):
        return {str(key): as_json(content) for key, content in thing.items()}
    if isinstance(thing, list | tuple):
        return [as_json(part) for part in thing]
    thing = thing.item() if isinstance(thing, np.generic) else thing
    if thing is None or isinstance(thing, bool | int | float | str):
        return thing
    if isinstance(thing, Decimal | Fraction):
        return str(thing)
    raise InputError(f"A setting of type {type(thing).__name__} cannot be written into the provenance.")


def run_as_json(options: Options, limits: Limits, method: str, seed: int) -> dict[str, Any]:
    return {"options": as_json(options), "limits": as_json(limits), "method": method, "seed": as_json(seed)}


def links_as_json(links: Links) -> dict[str, Any]:
    """The links that were asked for; none, nothing."""
    return {field.name: as_json(asked) for field in dataclasses.fields(links) if (asked := getattr(links, field.name))}


def repair_as_json(repair: TableRepair | None) -> dict[str, Any]:
    """What may give; where nothing may, nothing."""
    return {} if repair is None else {"repair": as_json(repair)}


def keep_as_json(keep: Keep | None) -> dict[str, Any]:
    """The statistics to keep, measures by their names; where none are, nothing."""
    if keep is None:
        return {}
    names = [getattr(each, "name", str(each)) for each in keep.measures]
    return {"keep": as_json(dataclasses.replace(keep, measures=())) | {"measures": names} if keep.asked else {"measures": names}}


def widened_as_json(adjustment: Adjustment) -> dict[str, Any]:
    """The cap that had to be widened so that statistics are kept: the audit is against it; where none was, nothing."""
    quality = adjustment.quality
    return {} if quality is None or quality.cap is None else {WIDENED: quality.cap}
