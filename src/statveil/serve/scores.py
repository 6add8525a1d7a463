"""The attack scores of mode section4 that the server tells at its start: measured by the attack suite (docs/attacks.md)."""

from __future__ import annotations

import json
from pathlib import Path

FILE = Path(__file__).with_name("section4_scores.json")


def section4_scores() -> list[str]:
    """What was measured for the mode, in lines."""
    content = json.loads(FILE.read_text(encoding="utf-8"))
    lines = [f"  {each['id']}  {each['verdict']:<14}  {each['name']}: {each['number']}" for each in content["scores"]]
    return [
        "WARNING: mode section4 keeps senses consistent, as the paper asks, and that alone does not protect against many requests.",
        f"Attacks on it with {content['records']:,} invented records ({content['command']}):",
        *lines,
        "Use mode anchored for anyone outside the office.",
    ]
