"""The files of a front."""

from __future__ import annotations

import json

import statveil as sv
from statveil.jobs.tradeoff.page import front_csv, front_figures, front_json


def test_the_files_hold_the_front(front: sv.keep.Tradeoff) -> None:
    told = json.loads(front_json(front))
    assert told == json.loads(json.dumps(front_figures(front)))
    assert told["recommended"] == front.knee + 1
    assert [point["change"] for point in told["points"]] == [point.change for point in front.points]
    lines = front_csv(front).splitlines()
    assert len(lines) == 1 + len(front.points)
    assert [line.split(",")[1] for line in lines[1:]].count("yes") == 1
