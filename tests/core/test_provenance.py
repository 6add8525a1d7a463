"""What travels with a release: hashes that no two lists of parts share, and JSON that is the same for the same job."""

from __future__ import annotations

import json

from statveil.core.provenance import Provenance, sha256
from statveil.version import VERSION


def test_parts_do_not_run_together() -> None:
    assert len({sha256(b"ab", b"c"), sha256(b"a", b"bc"), sha256(b"abc"), sha256(b"abc", b"")}) == 4


def test_json_does_not_depend_on_the_order_of_parameters() -> None:
    one, other = (
        Provenance(parameters=parameters, input_hash="in", release_hash="out")
        for parameters in ({"seed": 1, "name": "é"}, {"name": "é", "seed": 1})
    )
    assert one.to_json() == other.to_json()
    content = json.loads(one.to_json())
    assert content == {"software": {"statveil": VERSION}, "parameters": {"seed": 1, "name": "é"}, "input": "in", "release": "out"}
    assert "é" in one.to_json()
