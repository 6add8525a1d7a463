"""The cubes of the datasets served: taken from the store, or prepared once and kept there for ever.

A cube is stored in one transaction with what later editions must keep to (senses, signs): after a kill or on a full disk both are there
or neither is. Several processes may prepare the same cube; the first to record it decides, and all read that one. What is stored is
sealed with the key, for below the published depth a cube holds numbers that nobody may see (T26).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal

from statveil.core.errors import AuditFailed, BackendError
from statveil.core.secret import SecretKey
from statveil.jobs.server_config import DatasetPart
from statveil.server.cube.cube import Cube
from statveil.server.cube.depth import Depth
from statveil.server.cube.memory import CubeMemory
from statveil.server.cube.prepare import prepare_cube
from statveil.server.cube.public import PublicTotal
from statveil.server.dataset.dataset import ServedData
from statveil.server.store.claims import ClaimedStore
from statveil.server.store.protocol import Store, StoreReader

CUBE, MEMORY = "cube", "memory"
"""Many cubes, and one memory: editions have different ids, and the same respondents (T21)."""
Progress = Callable[[str], None]


def depth_of(part: DatasetPart) -> Depth:
    return Depth(dimensions=part.depth)


def cube_name(key: SecretKey, version: str, measure: str) -> str:
    return f"{CUBE} {key.digest(CUBE, version.encode(), measure.encode(), size=16).hex()}"


def stored_cube(store: StoreReader, key: SecretKey, version: str, measure: str) -> Cube | None:
    body = opened(store, key, CUBE, cube_name(key, version, measure))
    return None if body is None else Cube.from_bytes(body)


def opened(store: StoreReader, key: SecretKey, purpose: str, name: str) -> bytes | None:
    """What was sealed under that name; BackendError where it was changed."""
    sealed = store.sealed(name)
    if sealed is None:
        return None
    body = key.unseal(purpose, sealed)
    if body is None:
        raise BackendError("Something prepared in the store has changed; nothing is given out.", hint="Restore the store.")
    return body


def ready_cubes(
    store: Store, claimed: ClaimedStore, key: SecretKey, data: ServedData, progress: Progress = lambda words: None
) -> Mapping[str, Cube]:
    """The cubes of all measures; those that are not stored are prepared. A preparation that was killed goes on with the next measure."""
    found: dict[str, Cube] = {}
    for measure in data.measures:
        cube = stored_cube(store, key, data.version, measure)
        found[measure] = cube if cube is not None else _prepared(store, claimed, key, data, measure, progress)
    return found


def _prepared(store: Store, claimed: ClaimedStore, key: SecretKey, data: ServedData, measure: str, progress: Progress) -> Cube:
    """Prepare with what earlier editions left, record, read back. What others recorded meanwhile counts: then it is done anew."""
    name = cube_name(key, data.version, measure)
    while True:
        known = store.sealed(MEMORY)
        memory = opened(store, key, MEMORY, MEMORY)
        cube = _cube(data, measure, key, None if memory is None else CubeMemory.from_bytes(memory), progress)
        number = 0
        with store.recording() as recording:
            claimed.check(recording)
            if recording.sealed(name) is None and recording.sealed(MEMORY) == known:
                recording.set_sealed(name, key.seal(CUBE, cube.to_bytes()))
                recording.set_sealed(MEMORY, key.seal(MEMORY, cube.memory.to_bytes()))
                number = recording.count_release()
        claimed.remember(number)
        made = stored_cube(store, key, data.version, measure)
        if made is not None:
            return made


def _cube(data: ServedData, measure: str, key: SecretKey, memory: CubeMemory | None, progress: Progress) -> Cube:
    public, tell = public_totals(data), _named(progress, data.part.id, measure)
    try:
        return prepare_cube(data, measure, depth=depth_of(data.part), key=key, memory=memory, public=public, progress=tell)
    except AuditFailed as fault:
        if not any(each.measure == measure for each in public):
            raise
        words = "Public totals may be too many or too exact: give them a distance (within), or leave some out."
        raise AuditFailed(fault.message, hint=words) from None


def _named(progress: Progress, dataset: str, measure: str) -> Progress:
    return lambda words: progress(f"Preparing {dataset}, {measure}: {words}")


def public_totals(data: ServedData) -> tuple[PublicTotal, ...]:
    """The officer's, with distances in units of the last decimal."""
    found = []
    for each in data.part.public:
        distance = Decimal(str(each.within)).scaleb(data.measure(each.measure).decimals)
        found.append(PublicTotal(measure=each.measure, codes=each.codes, within=int(distance)))
    return tuple(found)
