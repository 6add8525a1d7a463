"""The same plan again, from the explorer's job, the report's job and the report's script."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any

import pytest

import statveil as sv
from statveil.jobs.folders.records import anonymise_to_folder
from statveil.jobs.record_job import read_file_job
from tests.publish.safe_files import town
from tests.records.stories import halves, microdata, random_records

GRC = "1: v0-v2\n2: v3-\n"


def everything(folder: Path, **more: Any) -> tuple[sv.Microdata, sv.KeyVariables]:
    """A file and settings that use every kind of menu."""
    (folder / "job.grc").write_text(GRC)
    codes = [f"v{code}" for code in range(6)]
    menus = {
        "region": sv.recode.Menu.own({"half": {code: f"h{int(code[1]) // 3}" for code in codes}, "all": dict.fromkeys(codes, "*")}),
        "job": sv.recode.Menu.from_grc(folder / "job.grc"),
        "sex": sv.Hierarchy.from_dict({"all": ["v0", "v1"]}),
        "income": sv.recode.Menu.intervals(50, 100, start=100) + sv.recode.Menu(recodings=(
            sv.recode.Intervals(name="three", edges=(300, 600)), sv.recode.Extremes(name="ends", bottom=200, top=900))),
    }  # fmt: skip
    settings: dict[str, Any] = {
        "threshold": {1: 4, 2: 3}, "order": 2, "costs": {"region": 1.0, "job": 2.0, "sex": 1.5, "income": 1.0},
        "missing_codes": {"job": ["?"]}, "caps": {"region": 100_000}, "recoding_weight": 0.1,
        "edits": [sv.recode.EditRule(when={"region": ["v0"]}, then={"sex": "v1"})],
    }  # fmt: skip
    return sv.read_microdata(town(folder / "town.parquet")), sv.KeyVariables(fields=menus, **{**settings, **more})


@pytest.mark.slow
def test_the_explorer_writes_a_job_that_gives_its_plan(tmp_path: Path) -> None:
    data, keys = everything(tmp_path)
    explorer = sv.recode.explore_recoding(data, keys)
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


def in_folder(folder: Path, text: str, job: str) -> tuple[str, str]:
    """The hashes of the files that a script and a job give in a folder of their own."""
    folder.mkdir()
    before = Path.cwd()
    os.chdir(folder)
    try:
        scope: dict[str, Any] = {}
        exec(compile(text, "script", "exec"), scope)
        (folder / "job.toml").write_text(job, encoding="utf-8")
        made = anonymise_to_folder(read_file_job(folder / "job.toml"), folder / "folder")
    finally:
        os.chdir(before)
    return scope["release"].file_hash, made.release.file_hash


LISTED = {"combinations": {("region", "job"): 3, ("sex",): 5}, "linked": [["job", "id"]]}


@pytest.mark.slow
@pytest.mark.parametrize("more", [{}, {"rule": "recount", "candidates": 2, "caps": {}}, LISTED], ids=["plain", "recount", "listed"])
def test_the_report_repeats_itself(tmp_path: Path, more: dict[str, Any]) -> None:
    data, keys = everything(tmp_path, **more)
    release = sv.apply_plan(data, sv.plan_recoding(data, keys, seed=3), tmp_path / "safe.csv", sensitive=["income"])
    text = release.to_report(tmp_path / "report.html").read_text(encoding="utf-8")
    hashes = in_folder(tmp_path / "again", from_report(text, "import statveil"), from_report(text, r"\[data\]"))
    assert hashes == (release.file_hash, release.file_hash)


@pytest.mark.slow
def test_delimiter_encoding_secret_and_waiver_are_repeated(tmp_path: Path) -> None:
    rows = [f"{20 + n % 7}#{'jörg' if n % 9 else 'Æ'}#{n % 4}#x;{n}" for n in range(80)]
    (tmp_path / "people.txt").write_bytes("\n".join(["age#job name#part#note", *rows]).encode("latin-1") + b"\n")
    data = sv.read_microdata(tmp_path / "people.txt", delimiter="#", encoding="latin-1")
    names = {"age": sv.recode.Menu.intervals(5), "job name": None, "part": None}
    keys = sv.KeyVariables(fields=names, threshold=4, order=2)
    first = sv.apply_plan(data, sv.plan_recoding(data, keys), tmp_path / "first.csv")
    other = sv.KeyVariables(fields=names, threshold=4, order=2, costs={"age": 1.0, "job name": 5.0, "part": 0.1})
    waived = sv.recode.EarlierReleases([first.path], waiver="agreed")
    release = sv.apply_plan(data, sv.plan_recoding(data, other), tmp_path / "safe.csv", earlier=waived, key="k7-lock")
    assert "(waived)" in str(release.certificate()["audit"])
    assert "k7-lock" not in repr(release) + str(release.certificate())
    text = release.to_report(tmp_path / "report.html").read_text(encoding="utf-8")
    hashes = in_folder(tmp_path / "again", from_report(text, "import statveil"), from_report(text, r"\[data\]"))
    assert hashes == (release.file_hash, release.file_hash)
    job = sv.recode.explore_recoding(data, keys).to_job(tmp_path / "job.toml")
    assert 'delimiter = "#"' in job
    assert anonymise_to_folder(read_file_job(tmp_path / "job.toml"), tmp_path / "third").release.plan.suppression.total


def crossed() -> tuple[sv.Microdata, sv.KeyVariables]:
    """Two people in each of eight parts: halves of parts are safe, and so is all of one side."""
    rows = [(side, f"p{part}") for side in "xy" for part in range(8)]
    half = {f"p{part}": f"h{part // 4}" for part in range(8)}
    menus = {"a": sv.recode.Menu.own({"all": {"x": "*", "y": "*"}}), "b": sv.recode.Menu.own({"half": half})}
    return microdata(rows), sv.KeyVariables(fields=menus, threshold=4, order=2, recoding_weight=0.3)


def test_a_forced_recoding_leaves_the_others_to_the_planner() -> None:
    data, keys = crossed()
    best = sv.plan_recoding(data, keys)
    assert best.recoding == {"a": "as it is", "b": "half"}
    for name, level in (("a", "all"), ("a", "as it is"), ("b", "as it is")):
        plan = sv.plan_recoding(data, keys, recoding={name: level})
        every = [sv.plan_recoding(data, keys, recoding={name: level, rest: each}) for rest in "ab" if rest != name
                 for each in ("as it is", "all" if rest == "a" else "half")]  # fmt: skip
        assert plan.recoding[name] == level
        assert plan.cost == min(each.cost for each in every)
        assert plan.gap == 0
        assert [len(menu) for menu in plan.coded.levels] == [2, 2]
    assert sv.plan_recoding(data, keys, recoding={}).recoding == best.recoding


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "rule"), [(0, "original"), (1, "recount"), (2, "original")])
def test_no_recoding_of_the_free_fields_is_cheaper(seed: int, rule: Any) -> None:
    data = microdata(random_records(seed, records=50, sizes=(5, 4, 3), missing=0.05), ("a", "b", "c"))
    menus = {"a": halves(5), "b": halves(4), "c": halves(3)}
    keys = sv.KeyVariables(fields=menus, threshold=4, order=2, rule=rule, costs="entropy", recoding_weight=0.3)
    levels = ("as it is", "pairs", "all")
    plan = sv.plan_recoding(data, keys, recoding={"b": levels[seed]})
    every = [sv.plan_recoding(data, keys, recoding={"a": a, "b": levels[seed], "c": c}).cost for a in levels for c in levels]
    assert plan.cost == pytest.approx(min(every))
    assert plan.gap == 0


@pytest.mark.slow
def test_forced_fields_keep_their_costs_by_entropy() -> None:
    data, keys = crossed()
    keys = replace(keys, costs="entropy")
    for method in ("auto", "tabu", "annealing", "lagrangean", "dual-cuts"):
        plan = sv.plan_recoding(data, keys, recoding={"a": "all"}, method=method)
        assert plan.cost == pytest.approx(sv.plan_recoding(data, keys, recoding=plan.recoding).cost)
    with pytest.raises(sv.InputError, match="no recoding 'half'"):
        sv.plan_recoding(data, keys, recoding={"a": "half"})


def test_the_explorer_improves_around_what_is_forced(tmp_path: Path) -> None:
    data, keys = crossed()
    explorer = sv.recode.explore_recoding(data, keys)
    assert explorer.recode(a="all").recoding["b"] == "as it is"
    assert explorer.improve().recoding == {"a": "all", "b": "half"}
    explorer.undo()
    assert explorer.forced == {"a"}
    explorer.free("a")
    assert explorer.improve().recoding == {"a": "as it is", "b": "half"}
    with pytest.raises(sv.InputError, match="not a key field"):
        explorer.free("c")


def test_a_job_that_forces_one_field_plans_the_others(tmp_path: Path) -> None:
    town(tmp_path / "town.parquet")
    text = """
[data]
file = "town.parquet"
[fields]
region = { own = { all = { v0 = "*", v1 = "*", v2 = "*", v3 = "*", v4 = "*", v5 = "*" } } }
job = { own = { all = { v0 = "*", v1 = "*", v2 = "*", v3 = "*", v4 = "*" } } }
[safety]
order = 2
threshold = 10
recoding_weight = 0.0
[recoding]
fixed = { region = "as it is" }
"""
    (tmp_path / "job.toml").write_text(text)
    plan = anonymise_to_folder(read_file_job(tmp_path / "job.toml"), tmp_path / "out").release.plan
    assert plan.recoding == {"region": "as it is", "job": "all"}


def test_records_without_a_file_give_no_job(tmp_path: Path) -> None:
    data, keys = crossed()
    with pytest.raises(sv.InputError, match="came from none"):
        sv.recode.explore_recoding(data, keys).to_job(tmp_path / "job.toml")
    assert not (tmp_path / "job.toml").exists()


def test_a_frame_has_no_file_to_name(tmp_path: Path) -> None:
    import pyarrow as pa

    data = sv.read_microdata(pa.table({"a": ["x"] * 5 + ["y"]}))
    release = sv.apply_plan(data, sv.plan_recoding(data, sv.KeyVariables(fields={"a": None})), tmp_path / "safe.csv")
    text = release.to_report(tmp_path / "report.html").read_text(encoding="utf-8")
    assert "sv.read_microdata(frame)" in text
    assert "statveil anonymise" not in text
