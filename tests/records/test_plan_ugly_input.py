"""Input as it comes: handled, or refused at once in clear words, and nothing half-written."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import statveil as sv

RULES: tuple[Any, ...] = ("original", "recount", "wildcard")


def write(path: Path, rows: list[str], header: str) -> sv.Microdata:
    path.write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
    return sv.read_microdata(path)


def make_safe(data: sv.Microdata, names: list[str], target: Path, **settings: Any) -> sv.FileRelease:
    plan = sv.plan_recoding(data, sv.KeyVariables(fields=dict.fromkeys(names), **settings))
    return sv.apply_plan(data, plan, target)


@pytest.mark.slow
@pytest.mark.parametrize("rule", RULES)
def test_all_records_unique(tmp_path: Path, rule: Any) -> None:
    data = write(tmp_path / "f.csv", [f"a{n},b{n},{n}" for n in range(30)], "a,b,x")
    release = make_safe(data, ["a", "b"], tmp_path / "safe.csv", rule=rule)
    if rule == "wildcard":  # a blank matches every value: some records may keep theirs
        assert 0 < release.plan.suppression.total <= 60
    else:
        assert release.plan.suppression.blanks == {"a": 30, "b": 30}


@pytest.mark.parametrize("rule", RULES)
def test_all_records_equal(tmp_path: Path, rule: Any) -> None:
    data = write(tmp_path / "f.csv", ["a,b,1"] * 30, "a,b,x")
    assert make_safe(data, ["a", "b"], tmp_path / "safe.csv", rule=rule).plan.suppression.total == 0


@pytest.mark.slow
@pytest.mark.parametrize("rule", RULES)
def test_one_column(tmp_path: Path, rule: Any) -> None:
    data = write(tmp_path / "f.csv", ["p"] * 5 + ["q"], "a")
    release = make_safe(data, ["a"], tmp_path / "safe.parquet", rule=rule)
    assert release.plan.suppression.total == 1


@pytest.mark.parametrize("missing", ["unknown", "category"])
@pytest.mark.parametrize("rule", RULES)
def test_missing_everywhere(tmp_path: Path, rule: Any, missing: Any) -> None:
    data = write(tmp_path / "f.csv", [",,1"] * 6, "a,b,x")
    assert make_safe(data, ["a", "b"], tmp_path / "safe.csv", rule=rule, missing=missing).plan.suppression.total == 0


def test_fewer_records_than_the_threshold(tmp_path: Path) -> None:
    data = write(tmp_path / "f.csv", ["p,1", "p,2"], "a,x")
    assert make_safe(data, ["a"], tmp_path / "safe.csv").plan.suppression.total == 2
    with pytest.raises(sv.InfeasibleProblem):
        make_safe(data, ["a"], tmp_path / "other.csv", rule="wildcard")
    assert not (tmp_path / "other.csv").exists()


def test_no_records(tmp_path: Path) -> None:
    data = write(tmp_path / "f.csv", [], "a,b")
    with pytest.raises(sv.InputError, match="no records"):
        make_safe(data, ["a"], tmp_path / "safe.csv")


@pytest.mark.slow
def test_forty_keys_are_handled_as_one_table_and_refused_up_to_three(tmp_path: Path) -> None:
    names = [f"c{n}" for n in range(40)]
    rows = [",".join(str((n * (f + 3)) % 2) for f in range(40)) for n in range(20)] + [",".join(["9"] * 40)]
    data = write(tmp_path / "f.csv", rows, ",".join(names))
    assert make_safe(data, names, tmp_path / "safe.csv", combinations=[names]).plan.suppression.total == 1
    with pytest.raises(sv.InputError, match="40 key fields"):
        make_safe(data, names, tmp_path / "other.csv", order=3)


def test_quotes_commas_and_words_of_sql_in_values_survive(tmp_path: Path) -> None:
    odd = ['"x, y"', '"say ""hi"""', "'; DROP TABLE records; --", "ünï"]
    data = write(tmp_path / "f.csv", [f"{value},{n}" for n, value in enumerate(odd * 4)] + ["rare,99"], "a'b,x")
    release = make_safe(data, ["a'b"], tmp_path / "safe.csv", missing_codes={"a'b": ["it's"]})
    assert release.plan.suppression.total == 1
    assert "'; DROP TABLE records; --" in release.path.read_text(encoding="utf-8")


def test_a_broken_line_is_named_and_nothing_is_written(tmp_path: Path) -> None:
    with pytest.raises(sv.errors.FormatError, match="line 3"):
        write(tmp_path / "f.csv", ["p,1", "q,2,3", "p,4"], "a,x")


def test_an_unknown_column_is_named(tmp_path: Path) -> None:
    data = write(tmp_path / "f.csv", ["p,1"], "a,x")
    with pytest.raises(sv.errors.UnknownColumn, match="'b'"):
        make_safe(data, ["b"], tmp_path / "safe.csv")


def test_weights_that_are_no_numbers_are_told_by_place(tmp_path: Path) -> None:
    data = write(tmp_path / "f.csv", ["p,1", "p,many"], "a,w")
    with pytest.raises(sv.errors.FormatError, match="line 3") as caught:
        make_safe(data, ["a"], tmp_path / "safe.csv", weight="w")
    assert "many" not in str(caught.value)


def test_mixed_types_stay_text(tmp_path: Path) -> None:
    data = write(tmp_path / "f.csv", ["1,1", "01,2", "1.0,3", "one,4"] * 3, "a,x")
    release = make_safe(data, ["a"], tmp_path / "safe.csv")
    assert release.plan.suppression.total == 0
    assert sorted(line.split(",")[0] for line in release.path.read_text().splitlines()[1:])[:3] == ["01", "01", "01"]


@pytest.mark.parametrize("ending", ["csv", "parquet", "sav", "dta"])
def test_dates_and_truth_values_are_written_in_every_format(tmp_path: Path, ending: str) -> None:
    if ending in ("sav", "dta"):
        pytest.importorskip("pyreadstat")
    days = [date(2020, 1, 1)] * 5 + [date(2021, 2, 3)] * 4 + [date(2022, 3, 4)]
    data = sv.read_microdata(pa.table({"day": days, "paid": [True] * 5 + [False] * 5, "size": [1.5] * 9 + [None]}))
    release = make_safe(data, ["day", "paid", "size"], tmp_path / f"safe.{ending}", order=2)
    assert release.plan.suppression.blanks == {"day": 1, "paid": 0, "size": 0}


@pytest.mark.parametrize(("encoding", "delimiter"), [("latin-1", ";"), ("cp1252", ","), ("utf-16", "\t"), ("utf-8-sig", "|")])
def test_encodings_delimiters_quoted_numbers_and_missing_codes(tmp_path: Path, encoding: str, delimiter: str) -> None:
    rows = [delimiter.join(['"Köln"', f'"{n % 4}"', "?" if n % 5 == 0 else "x"]) for n in range(40)]
    (tmp_path / "f.csv").write_bytes(("Größe Stadt,n,z".replace(",", delimiter) + "\r\n" + "\r\n".join(rows) + "\r\n").encode(encoding))
    data = sv.read_microdata(tmp_path / "f.csv")
    keys = sv.KeyVariables(
        fields={"Größe Stadt": None, "n": sv.recode.Menu.intervals(2), "z": None}, missing_codes={"z": ["?"]}, rule="recount"
    )
    release = sv.apply_plan(data, sv.plan_recoding(data, keys), tmp_path / "safe.csv")
    assert release.plan.suppression.total == 0
    assert release.path.read_text(encoding="utf-8").count("Köln") == 40


@pytest.mark.slow
def test_records_without_a_household_are_each_a_household(tmp_path: Path) -> None:
    """One of the four without a household is rare, and only it is blanked; the audit does not take them for one either."""
    rows = [",x,p", *[",y,p"] * 3, *["1,y,p"] * 2, *["2,y,q"] * 2]
    data = write(tmp_path / "f.csv", rows, "home,a,b")
    release = make_safe(data, ["a", "b"], tmp_path / "safe.csv", threshold=2, order=2, household="home", shared=["a"])
    assert release.plan.suppression.blanks == {"a": 1, "b": 0}
    capped = make_safe(data, ["a", "b"], tmp_path / "capped.csv", threshold=2, order=2, household="home", shared=["a"], caps={"a": 1})
    assert capped.plan.suppression.blanks == {"a": 1, "b": 0}


@pytest.mark.parametrize("weights", [["9000000000000", "9000000000000"], ["1e14", "1"]])
def test_weights_too_large_to_add_up_are_refused(tmp_path: Path, weights: list[str]) -> None:
    data = write(tmp_path / "f.csv", [f"p,{weight}" for weight in weights], "a,w")
    with pytest.raises(sv.InputError, match="too large") as caught:
        make_safe(data, ["a"], tmp_path / "safe.csv", weight="w", counting="weights", order=1)
    assert "1e14" not in str(caught.value)


def test_whole_numbers_with_gaps_in_a_frame_fit_a_hierarchy_of_codes(tmp_path: Path) -> None:
    """Such a column is decimal in most frames: 1 becomes 1.0."""
    data = sv.read_microdata(pa.table({"a": pa.array([1.0] * 4 + [2.0, None, 3.0, 3.0, 9.0]), "b": ["p"] * 9}))
    tree = sv.Hierarchy.from_dict({"low": ["1", "2"], "high": ["3"]})
    keys = sv.KeyVariables(fields={"a": tree, "b": None}, threshold=2, order=2, missing_codes={"a": ["9"]})
    assert sv.recode.suppress(data, keys).blanks == {"a": 1, "b": 0}
    release = sv.apply_plan(data, sv.plan_recoding(data, keys, recoding={"a": "level 1"}), tmp_path / "safe.csv")
    assert sorted(line.split(",")[0] for line in release.path.read_text().splitlines()[1:]) == ["", "", *["high"] * 2, *["low"] * 5]
