"""Chance by the secret key: a record's draws depend on the key and on what the record holds, not on its place or on other records.

So the same record is drawn the same way in every release by the same key: who averages over releases gains nothing, and who does not have
the key cannot draw again, whatever seed a job names.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from statveil.core.arrays import FloatArray
from statveil.core.secret import SecretKey


class KeyedDraws:
    """Draws for records whose content is told by digests, in their order; equal records are told apart by their number."""

    def __init__(self, key: SecretKey, contents: Sequence[str]) -> None:
        self._key, self._records = key, _numbered(contents)

    def uniform(self, *purpose: str) -> FloatArray:
        """A number strictly between 0 and 1 for every record."""
        start, words = self._key.hasher("perturb", *(part.encode() for part in purpose), size=8), bytearray()
        for record in self._records:
            each = start.copy()
            each.update(record)
            words += each.digest()
        return np.asarray(((np.frombuffer(bytes(words), dtype="<u8") >> np.uint64(11)) + 0.5) * 2.0**-53)


def _numbered(contents: Sequence[str]) -> list[bytes]:
    seen: dict[str, int] = {}
    found = []
    for content in contents:
        number = seen.get(content, 0)
        seen[content] = number + 1
        found.append(content.encode() + number.to_bytes(8, "little"))
    return found
