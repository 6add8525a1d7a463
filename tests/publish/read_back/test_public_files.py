"""Every format that a release writes, read back: nothing differs, and one unit does."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from statveil.audit.tables import release_hash
from statveil.core.errors import FormatError
from statveil.data.hierarchy import Hierarchy
from statveil.publish.formats import export
from statveil.publish.read_back.compare import differences
from statveil.publish.read_back.public_files import READERS, read_format, read_released
from statveil.publish.report.report import write_report
from tests.publish.stories import MakeRelease

WRITERS: Mapping[str, Callable[..., list[Path]]] = {
    "csv": export.write_csv,
    "parquet": export.write_parquet,
    "json-stat": export.write_json_stat,
    "sdmx-csv": export.write_sdmx_csv,
    "sdmx-ml": export.write_sdmx_ml,
    "pc-axis": export.write_pc_axis,
    "excel": export.write_excel,
}
WORDS = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Cn"]), min_size=1, max_size=5)
LABELS = st.text(st.sampled_from("aé'\"=+-@ \t\n\r,;_x0041<>&|\\"), max_size=9)


def signed(release: Any) -> Any:
    """The release with the hash of its own numbers."""
    release.provenance = replace(release.provenance, release_hash=release_hash(release.protected))
    return release


def written(release: Any, folder: Path) -> dict[str, list[Path]]:
    return {name: write(release, folder / f"x{READERS[name][1]}") for name, write in WRITERS.items()}


def test_there_is_a_reader_for_each_format() -> None:
    assert set(WRITERS) == set(READERS)


@pytest.mark.parametrize("name", READERS)
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(
    codes=st.lists(WORDS, min_size=3, max_size=3, unique=True),
    labels=st.lists(LABELS, min_size=3, max_size=3),
    values=st.lists(st.integers(-(2**51), 2**51), min_size=4, max_size=4),
    decimals=st.integers(-3, 4),
)
def test_what_is_written_is_read_back_and_one_unit_more_is_not(
    make_release: MakeRelease, tmp_path: Path, name: str, codes: list[str], labels: list[str], values: list[int], decimals: int
) -> None:
    codes = [f"k{code}" if code in ("Total", "x", "y") else code for code in codes]
    tree = Hierarchy(parent=dict.fromkeys(codes, "All of it"), total="All of it", labels=dict(zip(codes, labels, strict=True)))
    places = [*((code, "x") for code in tree.leaves), (tree.leaves[-1], "y")]
    release = signed(
        make_release({"=r": tree, "s;": Hierarchy.flat("xy")}, dict(zip(places, values, strict=True)), scale=decimals, decimals=decimals,
                     structural=((1, 2),), names=("turn <over>",))
    )  # fmt: skip
    files = WRITERS[name](release, tmp_path / f"x{READERS[name][1]}")
    protected, [view] = release.protected, release.protected.views
    [shown] = read_format(name, files, [view], decimals)
    assert differences(view, shown, protected, release=release.provenance.release_hash).first == []
    value = protected.value.copy()
    value[3] += 1
    assert len(differences(view, shown, replace(protected, value=value)).first) == 1


@pytest.mark.parametrize("decimals", [-2, 0, 3])
def test_the_report_is_read_back_and_one_unit_more_is_not(make_release: MakeRelease, tmp_path: Path, decimals: int) -> None:
    tree = Hierarchy(parent={"p": "Total", "q": "Total", "p1": "p", "p2": "p"}, labels={"p1": "<b>&amp; 'x'", "q": "Zoë"})
    values = {("p1", "x"): -12345, ("p2", "x"): 9_999_999, ("q", "y"): 30, ("p1", "y"): 12345}
    release = signed(make_release({"r": tree, "s": Hierarchy.flat("xy")}, values, scale=decimals, decimals=decimals, structural=((3, 2),)))
    report = write_report(release, tmp_path / "report.html")
    files = written(release, tmp_path)
    protected, checks = read_released(release.table, files, report)
    assert protected.value.tolist() == release.protected.value.tolist()
    assert [check.findings for check in checks] == [()] * (len(files) + 1)
    again, [check] = read_released(release.table, {}, report)
    assert check.passed
    assert again.value.tolist() == release.protected.value.tolist()


def test_a_format_that_nothing_reads_back_is_a_finding(village: Any, tmp_path: Path) -> None:
    signed(village)
    files = {"csv": export.write_csv(village, tmp_path / "x.csv"), "semicolons": [tmp_path / "x.ssv"]}
    _, checks = read_released(village.table, files, write_report(village, tmp_path / "report.html"))
    assert {check.name: check.findings for check in checks if not check.passed} == {
        "semicolons": ("there is no reader for this format, so it was not checked",)
    }


def test_a_report_of_a_part_alone_is_not_audited(make_release: MakeRelease, tmp_path: Path) -> None:
    """150 codes are more than the report shows; it says how many it does show."""
    codes = [f"c{number:03}" for number in range(150)]
    release = signed(make_release({"r": Hierarchy.flat(codes)}, {(code,): place + 1 for place, code in enumerate(codes)}))
    report = write_report(release, tmp_path / "report.html")
    _, checks = read_released(release.table, {"csv": export.write_csv(release, tmp_path / "x.csv")}, report)
    assert [check.findings for check in checks] == [(), ()]
    with pytest.raises(Exception, match="a part of the table only"):
        read_released(release.table, {}, report)
    report.write_text(report.read_text(encoding="utf-8").replace("100 of the 151 codes", "151 of the 151 codes"), encoding="utf-8")
    _, (_, check) = read_released(release.table, {"csv": [tmp_path / "x.csv"]}, report)
    assert check.findings == ("turnover: turnover, r: codes are left out, and it does not say so",)


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize(
    "content", [b"", b"nothing", b"PK\x03\x04", b'{"id": []}', b"[1]", b"<a/>", b"\xff\xfe", b"DATA=1;", b"PAR1PAR1"], ids=repr
)
def test_something_else_is_refused_or_shows_nothing(village: Any, tmp_path: Path, name: str, content: bytes) -> None:
    path = tmp_path / f"x{READERS[name][1]}"
    path.write_bytes(content)
    [view] = village.protected.views
    try:
        [shown] = read_format(name, [path], [view], 0)
    except FormatError:
        return
    assert differences(view, shown, village.protected).count > 0


@pytest.mark.parametrize("name", READERS)
def test_no_cut_off_file_is_taken_for_the_whole(village: Any, tmp_path: Path, name: str) -> None:
    [path] = WRITERS[name](village, tmp_path / f"x{READERS[name][1]}")
    whole, [view] = path.read_bytes(), village.protected.views
    for size in np.linspace(0, len(whole) - 10, 40).astype(int).tolist():
        path.write_bytes(whole[:size])
        try:
            [shown] = read_format(name, [path], [view], 0)
        except FormatError:
            continue
        assert differences(view, shown, village.protected).count > 0, size


@pytest.mark.parametrize("name", READERS)
def test_a_file_that_is_too_large_is_not_opened(village: Any, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from statveil.publish.read_back import shown

    [path] = WRITERS[name](village, tmp_path / f"x{READERS[name][1]}")
    monkeypatch.setattr(shown, "TUNING", shown.TUNING._replace(largest_file=100))
    with pytest.raises(FormatError, match="larger than any file"):
        read_format(name, [path], village.protected.views, 0)
