"""The report on a safe file: one page that loads nothing, with risks and diversity by published formulas."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import statveil as sv
from statveil.records.risk import KeyClasses, classes_after, diversity, individual_risks, risk
from tests.publish.safe_files import keys


def test_the_report_is_one_file_that_loads_nothing(data: sv.Microdata, tmp_path: Path) -> None:
    release = sv.apply_plan(data, sv.plan_recoding(data, keys()), tmp_path / "safe.csv", sensitive=["income"])
    text = release.to_report(tmp_path / "report.html").read_text(encoding="utf-8")
    assert "CONFIDENTIAL" in text
    assert "src=" not in text.split("<script>")[0]
    certificate = json.loads(release.to_certificate(tmp_path / "c.json").read_text())
    assert certificate["audit"]["passed"] is True
    mapping = release.to_mapping(tmp_path / "m.csv").read_text().splitlines()
    assert mapping[0] == "field,old,new"


def test_individual_risks_follow_the_published_formula() -> None:
    """One record with weight 10: p = 0.1, risk = p / (1 - p) log(1 / p)."""
    classes = KeyClasses(codes=np.zeros((1, 3), dtype=np.int32), count=np.array([1, 2, 5]), weight=np.array([10.0, 10.0, 5.0]))
    single = individual_risks(classes)
    assert single is not None
    p = 0.1
    assert single[0] == pytest.approx(p / (1 - p) * np.log(1 / p))
    p = 0.2
    assert single[1] == pytest.approx(p / (1 - p) - (p / (1 - p)) ** 2 * np.log(1 / p))
    assert single[2] == pytest.approx(1 / 5)
    found = risk(classes).population_uniques
    assert found is not None
    assert 0 <= found <= 1


def test_diversity_of_classes() -> None:
    rows = {"a": ["x", "x", "y", "y"], "s": ["1", "2", "1", "1"]}
    data = sv.read_microdata(pa.table(rows))
    plan = sv.plan_recoding(data, sv.KeyVariables(fields={"a": None}, threshold=2, order=1))
    before, after = diversity(data, plan, "s")
    assert (before.least_values, before.largest_distance) == (1, pytest.approx(0.25))
    assert before == after
    assert classes_after(plan).records == 4


@pytest.mark.slow
def test_diversity_after_is_that_of_the_written_classes(tmp_path: Path) -> None:
    """Keys that are blanked in part lie in several classes of the written file."""
    rng, split = np.random.default_rng(3), 0
    for attempt in range(6):
        rows = {name: rng.choice(list(codes), 40).tolist() for name, codes in (("a", "xxxxyyyz"), ("b", "pppq"), ("s", "uvw"))}
        data = sv.read_microdata(pa.table(rows))
        plan = sv.plan_recoding(data, sv.KeyVariables(fields={"a": None, "b": None}, threshold=4, order=2, candidates=3))
        split += plan.suppression.key.size > plan.coded.size
        release = sv.apply_plan(data, plan, tmp_path / f"{attempt}.csv", key="secret")
        classes: dict[tuple[str, ...], list[str]] = {}
        for line in release.path.read_text().splitlines()[1:]:
            *shown, value = line.split(",")
            classes.setdefault(tuple(shown), []).append(value)
        share = {value: rows["s"].count(value) / 40 for value in "uvw"}
        far = max(sum(abs(each.count(v) / len(each) - share[v]) for v in "uvw") / 2 for each in classes.values())
        after = diversity(data, plan, "s", key="secret")[1]
        assert after.least_values == min(len(set(each)) for each in classes.values())
        assert after.largest_distance == pytest.approx(far)
    assert split
