"""What the server tells of mode section4 at its start."""

from __future__ import annotations

import json

from statveil.serve.runner import _notes
from statveil.serve.scores import FILE, section4_scores


def test_the_scores_are_those_of_a_documented_command() -> None:
    content = json.loads(FILE.read_text(encoding="utf-8"))
    assert content["command"].startswith("python benchmarks/attacks.py")
    assert content["records"] == 100_000
    assert {each["id"] for each in content["scores"]} == {f"T{number:02}" for number in range(1, 25)} - {"T16"}


def test_consistent_senses_hold_and_more_is_not_promised() -> None:
    verdict = {each["id"]: each["verdict"] for each in json.loads(FILE.read_text(encoding="utf-8"))["scores"]}
    assert verdict["T02"] == verdict["T03"] == "passed"
    assert "failed" in verdict.values()


def test_they_are_told_line_by_line() -> None:
    lines = section4_scores()
    assert lines[0].startswith("WARNING")
    assert sum(line.startswith("  T") for line in lines) == 23
    assert callable(_notes)
