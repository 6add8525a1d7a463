"""The same plan again, from the explorer's job, the report's job and the report's script."""

from __future__ import annotations

import os
import re
from html import unescape
from pathlib import Path
from typing import Any

import pytest

import statveil as sv
from statveil.files.folder import anonymise_to_folder
from statveil.files.job import read_file_job
from tests.files.test_release import town

GRC = "1: v0-v2\n2: v3-\n"


def everything(folder: Path, **more: Any) -> tuple[sv.Microdata, sv.KeyVariables]:
    """A file and settings that use every kind of menu."""
    (folder / "job.grc").write_text(GRC)
    codes = [f"v{code}" for code in range(6)]
    menus = {
        "region": sv.Menu.own({"half": {code: f"h{int(code[1]) // 3}" for code in codes}, "all": dict.fromkeys(codes, "*")}),
        "job": sv.Menu.from_grc(folder / "job.grc"),
        "sex": sv.Hierarchy.from_dict({"all": ["v0", "v1"]}),
        "income": sv.Menu.intervals(50, 100, start=100) + sv.Menu(recodings=(
            sv.Intervals(name="three", edges=(300, 600)), sv.Extremes(name="ends", bottom=200, top=900))),
    }  # fmt: skip
    settings: dict[str, Any] = {
        "threshold": {1: 4, 2: 3}, "order": 2, "costs": {"region": 1.0, "job": 2.0, "sex": 1.5, "income": 1.0},
        "missing_codes": {"job": ["?"]}, "caps": {"region": 100_000}, "recoding_weight": 0.1,
        "edits": [sv.EditRule(when={"region": ["v0"]}, then={"sex": "v1"})],
    }  # fmt: skip
    return sv.read_microdata(town(folder / "town.parquet")), sv.KeyVariables(fields=menus, **{**settings, **more})


def test_the_explorer_writes_a_job_that_gives_its_plan(tmp_path: Path) -> None:
    data, keys = everything(tmp_path)
    explorer = sv.explore_recoding(data, keys)
    explorer.recode(income="three", region="half")
    explorer.change_costs(threshold={1: 3, 2: 3})
    plan = explorer.plan(seed=5)
    (tmp_path / "jobs").mkdir()
    explorer.to_job(tmp_path / "jobs" / "job.toml", output="out.csv", drop=["id"], seed=5)
    job = read_file_job(tmp_path / "jobs" / "job.toml")
    assert job.keys() == plan.keys or job.keys().tables() == plan.keys.tables()
    made = anonymise_to_folder(job, tmp_path / "folder").release
    assert made.plan.recoding == plan.recoding
    assert made.plan.cost == plan.cost
    assert made.file_hash == sv.apply_plan(data, plan, tmp_path / "direct.csv", drop=["id"]).file_hash


def from_report(text: str, begin: str) -> str:
    found = re.search(rf"<pre>({begin}.*?)</pre>", text, flags=re.DOTALL)
    assert found is not None
    return unescape(found.group(1))


LISTED = {"combinations": {("region", "job"): 3, ("sex",): 5}, "linked": [["job", "id"]]}


@pytest.mark.parametrize("more", [{}, {"rule": "recount", "candidates": 2, "caps": {}}, LISTED], ids=["plain", "recount", "listed"])
def test_the_report_repeats_itself(tmp_path: Path, more: dict[str, Any]) -> None:
    data, keys = everything(tmp_path, **more)
    release = sv.apply_plan(data, sv.plan_recoding(data, keys, seed=3), tmp_path / "safe.csv", sensitive=["income"])
    text = release.to_report(tmp_path / "report.html").read_text(encoding="utf-8")
    again = tmp_path / "again"
    again.mkdir()
    before = Path.cwd()
    os.chdir(again)
    try:
        scope: dict[str, Any] = {}
        exec(compile(from_report(text, "import statveil"), "script", "exec"), scope)
        (again / "job.toml").write_text(from_report(text, r"\[data\]"), encoding="utf-8")
        made = anonymise_to_folder(read_file_job(again / "job.toml"), again / "folder")
    finally:
        os.chdir(before)
    assert scope["release"].file_hash == release.file_hash
    assert made.release.file_hash == release.file_hash


def test_a_frame_has_no_file_to_name(tmp_path: Path) -> None:
    import pyarrow as pa

    data = sv.read_microdata(pa.table({"a": ["x"] * 5 + ["y"]}))
    release = sv.apply_plan(data, sv.plan_recoding(data, sv.KeyVariables(fields={"a": None})), tmp_path / "safe.csv")
    text = release.to_report(tmp_path / "report.html").read_text(encoding="utf-8")
    assert "sv.read_microdata(frame)" in text
    assert "statveil anonymise" not in text
