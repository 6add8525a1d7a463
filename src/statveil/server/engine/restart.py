"""Starting again in seconds: a dataset whose files have not changed is not read again, for its cubes hold all that is answered.

What readers may know of it (codes, labels, decimals) is kept in the store, sealed, under a fingerprint of records, trees and settings.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

from statveil.core.secret import SecretKey
from statveil.data.hierarchy import Hierarchy
from statveil.jobs.server_config import DatasetPart, ServerConfig
from statveil.server.dataset.dataset import DatasetMeasure, ServedData
from statveil.server.dataset.layout import ServedDimension, served_dimension
from statveil.server.engine.cubes import cube_name, opened
from statveil.server.store.protocol import Store, StoreReader
from statveil.tables.spec import Dimension

DESCRIPTION = "description"


def fingerprint(config: ServerConfig, part: DatasetPart, key: SecretKey) -> str:
    """Of the records and trees, byte for byte, and of all settings of the dataset but its label.

    Keyed, for a plain hash of records would let guesses be checked.
    """
    digest = key.hasher("fingerprint", size=32)
    digest.update(json.dumps(part.model_dump(mode="json", exclude={"label"}), sort_keys=True).encode())
    trees = [file for each in part.dimensions.values() for file in (each.hierarchy, *(each.hierarchies or ())) if file is not None]
    for file in (part.file, *trees):
        with config.path(file).open("rb") as read:
            digest.update(hashlib.file_digest(read, "sha256").digest())
    return digest.hexdigest()


def described_before(config: ServerConfig, part: DatasetPart, key: SecretKey, store: StoreReader) -> ServedData | None:
    """The dataset without its records, if all its cubes are stored. The paper's mode needs the records."""
    if part.mode != "cube":
        return None
    body = opened(store, key, DESCRIPTION, f"{DESCRIPTION} {fingerprint(config, part, key)}")
    if body is None:
        return None
    told = json.loads(body)
    dimensions = tuple(_dimension(each, part) for each in told["dimensions"])
    measures = {each["id"]: DatasetMeasure(**each) for each in told["measures"]}
    ready = all(store.sealed(cube_name(key, told["version"], measure)) is not None for measure in measures)
    return ServedData(part=part, version=told["version"], dimensions=dimensions, measures=measures) if ready else None


def describe(config: ServerConfig, data: ServedData, key: SecretKey, store: Store) -> None:
    """Keep what `described_before` needs."""
    told = {
        "version": data.version,
        "dimensions": [_written(each) for each in data.dimensions],
        "measures": [vars(each) for each in data.measures.values()],
    }
    with store.recording() as recording:
        name = f"{DESCRIPTION} {fingerprint(config, data.part, key)}"
        recording.set_sealed(name, key.seal(DESCRIPTION, json.dumps(told).encode()))


def _written(dimension: ServedDimension) -> dict[str, Any]:
    trees = dimension.full.trees
    names, levels = [], [level.id for level in dimension.levels]
    for tree in trees:
        inner = max(tree.depth.values()) - 1
        names.append([*levels[:inner], dimension.lowest.id])
        levels = levels[inner:]
    return {
        "id": dimension.id,
        "label": dimension.label,
        "trees": [{"parent": dict(tree.parent), "total": tree.total, "labels": dict(tree.labels)} for tree in trees],
        "names": names,
    }


def _dimension(told: dict[str, Any], part: DatasetPart) -> ServedDimension:
    full = Dimension(name=told["id"], trees=tuple(Hierarchy(**tree) for tree in told["trees"]))
    filters = told["id"] in part.filters
    return served_dimension(told["id"], told["label"], full, told["names"], filter_=filters, population=filters)
