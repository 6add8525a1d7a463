"""What the report says of perturbed columns."""

from __future__ import annotations

import json
from pathlib import Path

import statveil as sv
from tests.publish.safe_files import keys, perturbed
from tests.records.perturb.stories import KEY


def test_the_report_tells_methods_and_figures_and_repeats_them(data: sv.Microdata, tmp_path: Path) -> None:
    steps = [sv.perturb.Noise(["income"], level=0.2)]
    release = sv.apply_plan(perturbed(data), sv.plan_recoding(data, keys()), tmp_path / "safe.csv")
    page = release.to_report(tmp_path / "report.html").read_text(encoding="utf-8")
    assert "Perturbed columns" in page
    assert "noise, level = 0.2" in page
    assert KEY.fingerprint in page
    assert "[[perturb.step]]" in page
    assert "records = sv.perturb.perturb_records(data, steps)" in page
    assert eval(f"[sv.perturb.{steps[0]!r}]", {"sv": sv}) == steps
    assert json.loads(release.to_certificate(tmp_path / "c.json").read_text())["perturbed"]["figures"][0]["column"] == "income"
