"""What made a release: software, parameters, seed and hashes, as JSON that travels with it.

The clock is left out on purpose: the same job gives the same bytes. Times go into the run log.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from statveil.version import VERSION


@dataclass(frozen=True, kw_only=True)
class Provenance:
    parameters: Mapping[str, Any]
    """Everything that decides the released numbers: spec, rules, options, method, seed."""
    input_hash: str
    release_hash: str
    """SHA-256 of the released numbers with their labels."""
    software: Mapping[str, str] = field(default_factory=lambda: {"statveil": VERSION})

    def to_json(self) -> str:
        content = {"software": self.software, "parameters": self.parameters, "input": self.input_hash, "release": self.release_hash}
        return json.dumps(content, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def sha256(*parts: bytes) -> str:
    """Hash of the parts, each preceded by its length so that no two lists of parts run together."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "big"))
        digest.update(part)
    return digest.hexdigest()
