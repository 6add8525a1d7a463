"""The report: complete inside, silent outside, and one file that needs nothing else."""

from __future__ import annotations

import dataclasses
import re
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from statveil.core.errors import InputError
from statveil.core.limits import Ending
from statveil.data.hierarchy import Hierarchy
from statveil.publish.report.changes import measure
from statveil.publish.report.page import json_for_page
from statveil.publish.report.report import far_in_words, key_figures, public_checks, report_html, summary, write_report
from tests.publish.report.reports import page_data
from tests.publish.stories import MakeRelease


def digits(html: str) -> str:
    return re.sub(r"(?<=\d),(?=\d)", "", html)


def test_the_external_report_holds_no_original_value(village: Any) -> None:
    html = digits(report_html(village, "external"))
    assert "999000" in html
    assert not any(canary in html for canary in ("777123", "782123", "600500", "604500", "221877", "77712"))


def test_the_external_report_tells_nothing_of_sensitivity_changes_or_method(village: Any) -> None:
    html = report_html(village, "external")
    data = page_data(html)
    assert set(data) == {"slices"}
    assert set(data["slices"][0]) == {"name", "decimals", "dimensions", "rows", "columns", "released"}
    telling = ("4321", "4,321", "412.5", "408.25", "8.4", "fewer than 3", "p = 10", "seed", village.provenance.input_hash)
    assert not any(word in html for word in telling)


def test_the_external_report_does_not_depend_on_what_was_hidden(village: Any) -> None:
    sensitivity = dataclasses.replace(village.sensitivity, sensitive=~village.sensitivity.sensitive, reasons={})
    table = dataclasses.replace(village.table, value=village.table.value * 2, records=village.table.records + 5)
    adjustment = dataclasses.replace(village.adjustment, objective=1.0, seed=99, seconds=0.1, method="exact")
    other = type(village)(**{**vars(village), "sensitivity": sensitivity, "table": table, "adjustment": adjustment})
    assert report_html(other, "external") == report_html(village, "external")


def test_the_external_report_names_the_checks_without_a_tick_for_each(village: Any) -> None:
    html = report_html(village, "external")
    assert all(words in unescape(html) for words in public_checks(village.audit))
    assert 'class="ticks"' not in html
    assert "No check found a fault." in html


def test_the_internal_report_is_marked_confidential_and_complete(village: Any) -> None:
    html = report_html(village, "internal")
    assert html.count("CONFIDENTIAL") >= 2
    text = unescape(html)
    assert "Of the 9 cells, 1 (11.1%) is sensitive. It has been moved to a safe value. 3 other cells were adjusted" in text
    assert all(check.words in text for check in village.audit.checks)
    assert village.provenance.input_hash in html
    data = page_data(html)
    assert set(data["charts"]) == {"distribution", "ecdf", "levels", "balance", "amounts", "trace", "measures", "sizes"}
    assert data["compared"]["rows"][0][:6] == ["Urk", "vet", "777,123", "999,000", "+221,877", "28.6%"]
    assert data["slices"][0]["status"] == "uuueaus" + "x" + "auae"


def test_the_report_loads_nothing(village: Any) -> None:
    for edition in ("internal", "external"):
        html = report_html(village, edition)
        assert not re.search(r"""<[a-z][^>]*\s(src|href)\s*=""", html.split("<script>")[0])
        assert not re.search(r"<(link|iframe|img|object|embed)\b", html.split("<script>")[0])
        assert "sourceMappingURL" not in html
        assert "default-src 'none'" in html


def test_a_label_cannot_break_out_of_the_page(make_release: MakeRelease) -> None:
    label = "</script><script>alert(1)</script><img src=x onerror=alert(1)>"
    tree = Hierarchy(parent={"a": "Total", "b": "Total"}, labels={"a": label})
    release = make_release({label: tree}, {("a",): 50, ("b",): 70}, changes={("a",): 9}, sensitive=(50,), names=(label,), job={"x": label})
    for edition in ("internal", "external"):
        html = report_html(release, edition)
        assert label not in html
        assert "<img src=x" not in html
        assert page_data(html)["slices"][0]["dimensions"][0]["labels"][1] == label


def test_json_in_the_page_has_no_marks() -> None:
    assert json_for_page(["</script>&\u2028"]) == '["\\u003c/script\\u003e\\u0026\\u2028"]'


def test_the_external_report_is_the_same_each_time(village: Any, tmp_path: Path) -> None:
    first, second = write_report(village, tmp_path / "a.html"), write_report(village, tmp_path / "b.html")
    assert first.read_bytes() == second.read_bytes()


def test_the_internal_report_is_one_file_of_about_a_megabyte(village: Any, tmp_path: Path) -> None:
    path = write_report(village, tmp_path / "x.html", edition="internal")
    assert 800_000 < path.stat().st_size < 1_200_000
    assert list(tmp_path.iterdir()) == [path]


def test_the_job_that_repeats_the_release_is_shown(make_release: MakeRelease) -> None:
    release = make_release({"r": Hierarchy.flat("ab")}, {("a",): 50, ("b",): 70}, job={"table": {"name": "turnover"}})
    assert 'name = "turnover"' in unescape(report_html(release, "internal"))
    assert "made in Python" not in report_html(release, "internal")


def test_why_some_cells_change_by_many_times_their_value_is_said(make_release: MakeRelease) -> None:
    release = make_release({"r": Hierarchy.flat("abc")}, {("a",): 5, ("b",): 7000, ("c",): 3000}, sensitive=(5, 3000))
    assert far_in_words(release.table, release.sensitivity) == ""
    level = np.where(release.table.value == 5, 900, release.sensitivity.lower_level)
    found = dataclasses.replace(release.sensitivity, lower_level=level, upper_level=level)
    assert far_in_words(release.table, found).startswith("1 sensitive cell has to move by more than the whole value: zero or tiny")
    release.sensitivity = found
    assert "make the largest changes in percent" in report_html(release, "internal")
    assert "make the largest changes in percent" not in report_html(release, "external")


def test_nothing_sensitive_is_said_so(make_release: MakeRelease) -> None:
    release = make_release({"r": Hierarchy.flat("ab")}, {("a",): 50, ("b",): 70})
    assert summary(release, measure(release))[:2] == ["None of the 3 cells is sensitive.", "No other cell was changed."]


@pytest.mark.parametrize(
    ("objective", "bound", "words"),
    [(5.0, 5.0, "proved to be the best possible"), (5.0, 0.0, "is not known"), (110.0, 100.0, "within 10.0% of the best possible")],
)
def test_the_distance_from_the_best_possible_is_put_in_words(village: Any, objective: float, bound: float, words: str) -> None:
    village.adjustment = dataclasses.replace(village.adjustment, objective=objective, certified_bound=bound, ending=Ending.FEASIBLE)
    assert words in " ".join(summary(village, measure(village)))


@pytest.mark.parametrize(("certified", "words"), [(100.0, "certified within 10.0% of the best possible."), (0.0, "is not known.")])
def test_what_only_a_solver_says_is_not_called_proved(village: Any, certified: float, words: str) -> None:
    village.adjustment = dataclasses.replace(
        village.adjustment, objective=110.0, bound=110.0, bound_by="solver", certified_bound=certified, ending=Ending.CLAIMED
    )
    told = " ".join(summary(village, measure(village)))
    assert f"{words} A solver says that it is the best possible; that is not certified." in told
    assert "proved" not in told
    figure = next(each for each in key_figures(village, measure(village)) if each[0] == "From best possible")
    assert "not certified" in figure[2]
    assert figure[2].startswith("certified; ") == (certified > 0)


@pytest.mark.parametrize("edition", ["internal", "external"])
@pytest.mark.parametrize("codes", [[], ["a"]])
def test_an_empty_table_and_one_cell_have_a_report(make_release: MakeRelease, codes: list[str], edition: str) -> None:
    release = make_release({"r": Hierarchy.flat(codes)}, {}, trace=())
    assert page_data(report_html(release, edition))["slices"][0]["released"] == [0] * (len(codes) + 1)


def test_an_unknown_edition_is_refused(village: Any) -> None:
    with pytest.raises(InputError, match="Known: external, internal"):
        report_html(village, "secret")
