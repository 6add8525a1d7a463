"""A safe file as a frame is the file that lies there, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

import statveil as sv

PEOPLE = pd.DataFrame({"job": ["vet", "cook", "cook", "cook"], "sex": ["f", "f", "m", "m"], "income": [9, 5, 6, 7]})


@pytest.fixture
def release(tmp_path: Path) -> sv.FileRelease:
    people = sv.read_microdata(PEOPLE)
    plan = sv.plan_recoding(people, sv.KeyVariables(fields={"job": None, "sex": None}, threshold=2, order=1))
    return sv.apply_plan(people, plan, tmp_path / "safe.csv")


def test_the_frame_is_the_file(release: sv.FileRelease) -> None:
    read = pd.read_csv(release.path, dtype="str")
    assert release.to_pandas().fillna("").to_numpy().tolist() == read.fillna("").to_numpy().tolist()
    assert release.to_polars().columns == ["job", "sex", "income"]
    assert "vet" not in set(release.to_pandas()["job"])


def test_another_file_in_its_place_is_refused(release: sv.FileRelease) -> None:
    release.path.write_text("job,sex,income\nvet,f,9\n", encoding="utf-8")
    with pytest.raises(sv.AuditFailed, match="not the file that was audited"):
        release.to_arrow()
    release.path.unlink()
    with pytest.raises(sv.AuditFailed):
        release.to_arrow()


def test_the_display_tells_blanks_and_where_the_rest_is(release: sv.FileRelease) -> None:
    lines = repr(release).splitlines()
    assert lines[0].startswith("FileRelease: safe.csv, audit passed (")
    assert lines[1] == "  4 records, blanks: job 1"
    assert "confidential: plan" in lines[-1]
    assert "vet" not in release._repr_html_()


def test_plan_and_unsafe_records_as_frames(release: sv.FileRelease) -> None:
    frame = release.internal.to_pandas()
    assert frame.attrs
    assert frame[["field", "values", "values_after", "blanks"]].to_numpy().tolist() == [["job", 2, 2, 1], ["sex", 2, 2, 0]]
    assert repr(release.plan.internal).startswith("InternalPlan (confidential)")
    unsafe = sv.find_unsafe(sv.read_microdata(PEOPLE), release.plan.keys)
    assert unsafe.to_pandas()["job"].tolist() == ["vet"]
