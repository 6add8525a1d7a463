"""Wishes: checked at the door, resolved to cells of a problem or of a table; the whole way from records and from files."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from typer.testing import CliRunner

import statveil as sv
from statveil.cli.app import app
from statveil.cli.options import keep_from
from statveil.core.errors import AuditFailed, InputError
from statveil.core.floors import AS_GIVEN
from statveil.jobs.folders.tables import protect_to_folder
from statveil.jobs.recheck import audit_folder
from statveil.jobs.table_job import read_job
from statveil.jobs.tables.assess import LinkedTables, assess_records
from statveil.jobs.tables.released import keep_as_json
from statveil.protect.keep.wishes import cells_at, cells_of, keep_of, several, targets_of
from tests.protect.keep.tables import AMPLE, small_table


def test_one_target_for_each_set_of_cells() -> None:
    keep = sv.keep.Keep(mean=["sensitive", "all"], slope="sensitive", variance=[0, 4, 5])
    sensitive, everything = targets_of(keep, small_table())
    assert (sensitive.words, everything.words) == ("the sensitive cells", "all cells")
    assert (sensitive.mean, sensitive.slope, sensitive.variance, sensitive.correlation) == (True, True, True, False)
    assert (everything.mean, everything.spread) == (True, False)
    assert sensitive.cells.tolist() == [0, 4, 5]


def test_the_gradient_gives_the_slope() -> None:
    (target,) = targets_of(sv.keep.Keep(slope="sensitive"), small_table())
    deviation = np.array([10.0, -40.0, 15.0])
    slope = np.polyfit(target.value, target.value + deviation, 1)[0]
    assert 1 + target.gradient @ deviation == pytest.approx(slope)


@pytest.mark.parametrize(
    ("where", "numbers"),
    [
        ("all", tuple(range(12))),
        ("relation:0", (0, 1, 2)),
        ("cells:3, 1", (1, 3)),
        ([5, 4, 4], (4, 5)),
        (np.arange(12) < 2, (0, 1)),
        ([True, False, True] + [False] * 9, (0, 2)),
        (sv.keep.Cells((7,), "one cell"), (7,)),
    ],
)
def test_sets_of_cells_by_name_and_number(where: Any, numbers: tuple[int, ...]) -> None:
    assert cells_of(where, small_table()).numbers == numbers


@pytest.mark.parametrize("where", ["everything", "relation:99", "cells:x", [99], [], {"region": "A"}, [0.5, 1], [True] * 11, [True, 3]])
def test_sets_that_are_none_are_refused(where: Any) -> None:
    with pytest.raises(InputError, match="Keep"):
        cells_of(where, small_table())


@pytest.mark.parametrize(
    "wishes",
    [
        {},
        {"mean": "all", "within": 1.0},
        {"mean": "all", "widen": (2, 1.5)},
        {"mean": "all", "widen": (0.5,)},
        {"mean": "all", "senses": "any"},
        {"mean": "all", "by": "magic"},
        {"mean": "all", "coefficients": sv.keep.Coefficients(change=-1)},
        {"measures": ["beauty"]},
        {"mean": "all", "measures": ["gini"], "by": "programs"},
    ],
)
def test_wishes_that_make_no_sense_are_refused(wishes: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        sv.keep.Keep(**wishes)


@pytest.mark.parametrize(
    ("wishes", "words"),
    [
        ({"mean": "all", "widen": 2}, "widen is a list of caps"),
        ({"mean": "all", "coefficients": 3}, "coefficients must be Coefficients"),
        ({"measures": "ranks"}, "measures is a list of names and functions"),
        ({"measures": len}, "measures is a list"),
        ({"mean": []}, "a list of cells is empty"),
        ({"slope": ["all", []]}, "a list of cells is empty"),
        ({"mean": np.zeros(0, dtype=np.int64)}, "a list of cells is empty"),
    ],
)
def test_a_wish_of_the_wrong_kind_is_refused_with_what_it_should_be(wishes: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        sv.keep.Keep(**wishes)


def test_cells_that_do_not_differ_have_no_slope() -> None:
    alike = dataclasses.replace(small_table(), value=np.full(12, 100))
    with pytest.raises(InputError, match="cells that do not differ have no variance, correlation or slope to keep: 2 cells listed"):
        targets_of(sv.keep.Keep(slope=[3, 5]), alike)
    with pytest.raises(InputError, match="a single cell has no variance, correlation or slope to keep: 1 cell listed"):
        targets_of(sv.keep.Keep(slope=[3, 3]), small_table())


def test_numbers_in_a_row_are_one_set() -> None:
    assert several([1, 2]) == [[1, 2]]
    assert several(["all", [1, 2]]) == ["all", [1, 2]]
    assert several(None) == []
    assert several([True, False]) == [[True, False]]


def test_arrays_become_lists_that_the_provenance_can_hold() -> None:
    marks = np.arange(12) < 2
    keep = sv.keep.Keep(mean=np.array([4, 5]), slope=[marks, range(3)], variance=marks)
    assert keep.mean == [4, 5]
    assert json.loads(json.dumps(keep_as_json(keep)))["keep"]["slope"] == [marks.tolist(), [0, 1, 2]]
    assert [target.cells.tolist() for target in targets_of(keep, small_table())] == [[4, 5], [0, 1], [0, 1, 2]]


@pytest.mark.parametrize("where", [3, np.array([[1, 2], [3, 4]]), [[1, 2], 0.5]])
def test_what_is_no_list_of_cells_is_refused_at_the_door(where: Any) -> None:
    with pytest.raises(InputError, match="a set of cells is"):
        sv.keep.Keep(mean=where)


def test_over_no_sensitive_cells_there_is_nothing_to_keep() -> None:
    nothing = dataclasses.replace(small_table(), sensitive=np.zeros(12, dtype=np.bool_))
    assert targets_of(sv.keep.Keep(mean="sensitive", slope="sensitive"), nothing) == []


def test_one_sensitive_cell_has_a_mean_and_no_spread() -> None:
    one = dataclasses.replace(small_table(), sensitive=np.arange(12) == 4)
    (target,) = targets_of(sv.keep.Keep(mean="sensitive", slope="sensitive", variance="sensitive"), one)
    assert (target.cells.tolist(), target.mean, target.spread) == ([4], True, False)
    assert targets_of(sv.keep.Keep(correlation="sensitive"), one) == []


TREE = sv.Hierarchy(parent={"A": "Total", "B": "Total", "A1": "A", "A2": "A", "B1": "B", "B2": "B"})


def records() -> pa.Table:
    places = [("A1", "x"), ("A1", "y"), ("A2", "x"), ("A2", "y"), ("B1", "x"), ("B1", "y"), ("B2", "x"), ("B2", "y")]
    rng = np.random.Generator(np.random.PCG64(2))
    rows = [(*place, int(amount)) for place in places for amount in rng.lognormal(4, 1.2, 4)]
    region, trade, sales = zip(*rows, strict=True)
    return pa.table({"region": region, "trade": trade, "sales": sales})


def spec() -> sv.TableSpec:
    return sv.TableSpec(dimensions={"region": TREE, "trade": None}, measure="sales")


def values_at(table: sv.Table, where: dict[str, object]) -> list[int]:
    return sorted(table.value[list(cells_at(where, table).numbers)].tolist())


def test_a_row_and_a_level_are_lists_of_cells() -> None:
    table = sv.tabulate(sv.read_microdata(records()), spec())
    frame = records().to_pandas()
    row = frame[frame.region == "A1"].groupby("trade").sales.sum()
    assert values_at(table, {"region": "A1"}) == sorted(row)
    level = frame.assign(part=frame.region.str[0]).groupby(["part", "trade"]).sales.sum()
    assert values_at(table, {"region": 1}) == sorted(level)
    assert values_at(table, {"region": 0, "trade": 0}) == [frame.sales.sum()]
    assert cells_at({"region": "A1"}, table).words == "the cells of region A1"


@pytest.mark.parametrize("where", [{"size": "x"}, {"region": "Z"}, {"region": 7}, {"region": True}, {"table": "other"}])
def test_cells_that_the_table_lacks_are_refused(where: dict[str, object]) -> None:
    with pytest.raises(InputError, match="Keep"):
        cells_at(where, sv.tabulate(sv.read_microdata(records()), spec()))


def test_chi_square_is_laid_out_on_a_table_with_two_dimensions() -> None:
    table = sv.tabulate(sv.read_microdata(records()), spec())
    keep = keep_of(sv.keep.Keep(measures=["chi-square", "gini"], mean={"region": "A1"}), table)
    measure = keep.measures[0]
    assert isinstance(measure, sv.keep.Measure)
    assert measure(table.value, table.value) == 0
    assert measure.function.cells.shape == (4, 2)  # type: ignore[attr-defined]


@pytest.mark.slow
def test_records_to_a_release_that_keeps_means() -> None:
    keep = sv.keep.Keep(mean=["sensitive", {"region": 1}], slope="all", by="programs")
    release = sv.protect_table(records(), spec(), rules=[sv.PPercent(30)], keep=keep, limits=AMPLE)
    assert release.audit.passed
    moved = release.protected.value - release.table.value
    assert moved[release.sensitivity.sensitive].sum() == 0
    assert moved[list(cells_at({"region": 1}, release.table).numbers)].sum() == 0
    assert release.adjustment.quality is not None
    assert release.provenance.parameters["keep"]["mean"][0] == "sensitive"


@pytest.mark.slow
def test_a_cap_that_had_to_be_widened_is_what_the_audit_checks() -> None:
    options = sv.Options(variant="exact", floors=AS_GIVEN)
    keep = sv.keep.Keep(mean="sensitive", widen=(1.5, 3, 8), by="programs")
    release = sv.protect_table(records(), spec(), rules=[sv.PPercent(30)], options=options, keep=keep, limits=AMPLE)
    assert release.audit.passed
    quality = release.adjustment.quality
    assert quality is not None
    moved = release.protected.value - release.table.value
    assert moved[release.sensitivity.sensitive].sum() == 0
    assert (release.requirements.cap is None) == (quality.cap is None)


def test_keep_and_repair_exclude_each_other_and_a_cap_is_needed_to_be_widened() -> None:
    with pytest.raises(InputError, match="repaired"):
        sv.protect_table(
            records(), spec(), rules=[sv.PPercent(30)], keep=sv.keep.Keep(mean="all"), options=sv.Options(repair=sv.repair.TableRepair())
        )
    with pytest.raises(InputError, match="widen"):
        sv.protect_table(records(), spec(), rules=[sv.PPercent(30)], keep=sv.keep.Keep(mean="all", widen=(2,)))


@pytest.mark.slow
def test_a_job_file_says_what_to_keep(tmp_path: Path) -> None:
    from pyarrow.csv import write_csv

    write_csv(records(), tmp_path / "records.csv")
    (tmp_path / "job.toml").write_text(
        """
        [data]
        file = "records.csv"
        [table]
        measure = "sales"
        [table.dimensions]
        region = "flat"
        trade = "flat"
        [[rule]]
        type = "p-percent"
        p = 30
        [keep]
        mean = ["sensitive", {region = "A1"}]
        slope = "all"
        within = 0.2
        by = "programs"
        widen = [4, 8]
        [protection]
        variant = "exact"
        floors = "exact"
        coalitions = false
        tiny = false
        attacks = "report"
        """,
        encoding="utf-8",
    )
    job = read_job(tmp_path / "job.toml")
    keep = job.keep()
    assert keep is not None
    assert [what for what, _ in keep.asked] == ["mean", "mean", "slope"]
    assert (keep.within, keep.widen) == (0.2, (4.0, 8.0))
    made = protect_to_folder(job, tmp_path / "out", internal=True)
    assert made.release.adjustment.quality is not None
    cap = made.release.adjustment.quality.cap
    assert cap in (4.0, 8.0)
    assert made.release.provenance.parameters["widened"] == cap
    assert json.loads((tmp_path / "out" / "run.json").read_text())["quality"]["cap"] == cap
    assert f"WIDENED: no table was found within the bounds given; sensitive cells may move by up to {cap:g} times" in (
        tmp_path / "out" / "internal" / "report-internal.html"
    ).read_text(encoding="utf-8")
    assert made.release.provenance.parameters["options"]["variant"] == "exact"  # what was asked, whatever had to be widened
    found = audit_folder(tmp_path / "out")
    assert found.passed
    kept = [(check.name, check.checked) for check in found.checks if check.name in ("means", "statistics")]
    assert kept == [("means", 2), ("statistics", 1)]
    move_a_sensitive_cell(next((tmp_path / "out" / "public").glob("*.csv")), 10**6)  # further than the widest cap
    assert {"overshoot", "means"} <= set(wrong_in(tmp_path / "out"))
    record_as_widened(tmp_path / "out", 100.0)
    with pytest.raises(AuditFailed, match="wider cap than its job allows"):
        audit_folder(tmp_path / "out")


def record_as_widened(folder: Path, cap: float) -> None:
    """Let the provenance say that the cap was widened to this."""
    told = json.loads((folder / "provenance.json").read_text(encoding="utf-8"))
    told["parameters"]["widened"] = cap
    (folder / "provenance.json").write_text(json.dumps(told), encoding="utf-8")


@pytest.mark.slow
@pytest.mark.usefixtures("ends_soon")
def test_a_release_that_needed_no_wider_cap_is_audited_against_what_was_asked(tmp_path: Path) -> None:
    """Exact levels do for a slope over all cells. One unit further is less than the caps that might have been tried."""
    job = read_job(two_sales(tmp_path, 'slope = "all"\nwiden = [8, 50]', protection='variant = "exact"'))
    made = protect_to_folder(job, tmp_path / "out").release
    assert "widened" not in made.provenance.parameters
    assert made.adjustment.quality is not None
    assert audit_folder(tmp_path / "out").passed
    moved = (made.protected.value - made.table.value)[np.flatnonzero(made.sensitivity.sensitive)[0]]
    move_a_sensitive_cell(next((tmp_path / "out" / "public").glob("*trade*.csv")), int(np.sign(moved)))
    assert "overshoot" in wrong_in(tmp_path / "out")


@pytest.mark.slow
@pytest.mark.usefixtures("ends_soon")
def test_the_command_line_says_that_a_cap_was_widened(tmp_path: Path) -> None:
    job = two_sales(tmp_path, 'mean = "sensitive"\nwiden = [8, 50]', protection='variant = "exact"')
    ran = CliRunner().invoke(app, ["protect", str(job), "--out", str(tmp_path / "out")])
    assert ran.exit_code == 0, ran.output
    assert "WIDENED: no table was found within the bounds given" in ran.output
    assert CliRunner().invoke(app, ["audit", str(tmp_path / "out")]).exit_code == 0


SET = sv.CellSet(cells=[{"region": "A1", "trade": "x"}, {"region": "B1", "trade": "y"}], level=20)


def test_statistics_are_of_cells_that_a_reader_sees() -> None:
    """The sum of two cells that no view shows is sensitive; it counts neither among the sensitive nor among all cells."""
    table, sensitivity = assess_records(sv.read_microdata(records()), LinkedTables(tables=spec(), sets=[SET]), [sv.PPercent(30)])
    assert sensitivity.sensitive[table.shown :].any()
    keep = keep_of(sv.keep.Keep(mean="sensitive", slope="all", measures=["gini", largest]), table, sensitivity.sensitive)
    for _, cells in keep.asked:
        assert isinstance(cells, sv.keep.Cells)
        assert max(cells.numbers) < table.shown
    gini, own = keep.measures
    assert isinstance(gini, sv.keep.Measure)
    assert isinstance(own, sv.keep.Measure)
    assert (gini.known, own.known) == (True, False)
    hidden = np.where(np.arange(table.size) < table.shown, 0, 10**6)
    assert gini(table.value, table.value + hidden) == own(table.value, table.value + hidden) == 0


def largest(true: np.ndarray, released: np.ndarray) -> float:
    return float(np.abs(released - true).max())


@pytest.mark.slow
@pytest.mark.parametrize("front", ["", "[tradeoff]\npoints = 1"])
def test_a_job_without_sensitive_cells_has_nothing_to_keep_and_is_released(tmp_path: Path, front: str) -> None:
    job = read_job(
        two_sales(tmp_path, 'mean = "sensitive"\nslope = "sensitive"', by="", rule='type = "minimum-frequency"\nn = 2', more=front)
    )
    made = protect_to_folder(job, tmp_path / "out").release
    assert not made.sensitivity.sensitive.any()
    assert made.protected.value.tolist() == made.table.value.tolist()
    assert audit_folder(tmp_path / "out").passed


def test_a_trade_off_refuses_what_it_has_no_use_for(tmp_path: Path) -> None:
    job = read_job(two_sales(tmp_path, 'slope = "sensitive"\nwiden = [1.5]', by="", more="[tradeoff]"))
    with pytest.raises(InputError, match="no use for 'widen'"):
        protect_to_folder(job, tmp_path / "out")


P_PERCENT = 'type = "p-percent"\np = 30'


def two_sales(folder: Path, keep: str, *, by: str = 'by = "programs"', rule: str = P_PERCENT, protection: str = "", more: str = "") -> Path:
    """A job of two linked tables that share the regions' totals."""
    from pyarrow.csv import write_csv

    write_csv(records(), folder / "records.csv")
    tables = "".join(
        f"""
        [[table]]
        name = "{name}"
        measure = "sales"
        [table.dimensions]
        {dimensions}
        """
        for name, dimensions in (("by_trade", 'region = "flat"\n        trade = "flat"'), ("by_region", 'region = "flat"'))
    )
    (folder / "job.toml").write_text(
        f"""
        [data]
        file = "records.csv"
        {tables}
        [[rule]]
        {rule}
        [keep]
        {keep}
        {by}
        [protection]
        {protection}
        [limits]
        seconds = 300
        {more}
        """,
        encoding="utf-8",
    )
    return folder / "job.toml"


@pytest.mark.slow
@pytest.mark.usefixtures("ends_soon")
def test_linked_tables_keep_a_mean_of_one_of_them_and_the_folder_is_checked_for_it(tmp_path: Path) -> None:
    job = read_job(two_sales(tmp_path, 'mean = ["sensitive", {table = "by_trade", region = "A1"}]'))
    release = protect_to_folder(job, tmp_path / "out").release
    moved = release.protected.value - release.table.value
    assert moved[release.sensitivity.sensitive].sum() == 0
    assert moved[list(cells_at({"table": "by_trade", "region": "A1"}, release.table).numbers)].sum() == 0
    assert audit_folder(tmp_path / "out").passed


def test_linked_tables_ask_which_of_them_is_meant(tmp_path: Path) -> None:
    job = read_job(two_sales(tmp_path, 'mean = {region = "A1"}'))
    with pytest.raises(InputError, match="which of the tables"):
        protect_to_folder(job, tmp_path / "out")


def move_a_sensitive_cell(file: Path, by: int) -> None:
    """Change the first sensitive cell of the table by region and trade in a public file."""
    flat = sv.TableSpec(dimensions={"region": None, "trade": None}, measure="sales")
    table = sv.tabulate(sv.read_microdata(records()), flat)
    sensitivity = sv.rules.assess(table, [sv.PPercent(30)])
    view = table.views[0]
    where = np.flatnonzero(view.cell == np.flatnonzero(sensitivity.sensitive)[0])[0]
    region, trade = (dimension.codes[place] for dimension, place in zip(view.dimensions, view.coordinates[where], strict=True))
    lines = file.read_text(encoding="utf-8").splitlines()
    row = next(place for place, line in enumerate(lines) if line.startswith(f"{region},") and f",{trade}," in line)
    *rest, number = lines[row].split(",")
    lines[row] = ",".join([*rest, str(int(number) + by)])
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")


def wrong_in(folder: Path) -> dict[str, tuple[str, ...]]:
    return {check.name: tuple(check.findings) for check in audit_folder(folder).checks if not check.passed}


@pytest.mark.slow
@pytest.mark.usefixtures("ends_soon")
def test_a_mean_that_a_public_file_no_longer_keeps_is_found(tmp_path: Path) -> None:
    protect_to_folder(read_job(two_sales(tmp_path, 'mean = "sensitive"')), tmp_path / "out")
    move_a_sensitive_cell(next((tmp_path / "out" / "public").glob("*trade*.csv")), 5)
    assert wrong_in(tmp_path / "out")["means"] == ("the sensitive cells",)


@pytest.mark.slow
def test_the_command_line_keeps_a_mean(tmp_path: Path) -> None:
    sv.systems.write_jj(small_table(), tmp_path / "t.jj")
    ran = CliRunner().invoke(
        app, ["adjust", str(tmp_path / "t.jj"), "--keep", "mean=sensitive", "--keep", "by=programs", "--seconds", "300", "--json"]
    )
    assert ran.exit_code == 0, ran.output
    summary = json.loads(ran.stdout)
    assert summary["quality"]["sets"][0]["mean_off"] == 0
    assert summary["audit"]["passed"]
    plain = CliRunner().invoke(app, ["adjust", str(tmp_path / "t.jj"), "--keep", "slope=sensitive", "--keep", "by=programs"])
    assert "slope" in plain.stdout


@pytest.mark.slow
def test_widened_caps_are_listed_as_repairs_are(tmp_path: Path) -> None:
    problem = small_table()
    narrow = small_table(
        lower=np.where(problem.sensitive, problem.value - problem.lower_level, problem.lower),
        upper=np.where(problem.sensitive, problem.value + problem.upper_level, problem.upper),
    )
    sv.systems.write_jj(narrow, tmp_path / "t.jj")
    keep = sv.keep.Keep(mean="sensitive", widen=(1.5, 3), by="programs")
    outcome = sv.adjust(tmp_path / "t.jj", keep=keep, limits=AMPLE)
    assert outcome.audit.passed
    assert {each.what for each in outcome.adjustment.relaxations} <= {"lower", "upper"}
    assert outcome.adjustment.relaxations
    assert json.loads((tmp_path / "t.repairs.json").read_text())["repairs"]


@pytest.mark.parametrize("words", [["mean"], ["beauty=all"], ["within=x"], ["by=tabu", "by=both"], ["mean="]])
def test_wishes_on_the_command_line_that_are_none_are_refused(words: list[str]) -> None:
    with pytest.raises(InputError):
        keep_from(words)


def test_wishes_on_the_command_line() -> None:
    keep = keep_from(["mean=sensitive", "mean=all", "within=0.01", "widen=1.5,2", "senses=fixed"])
    assert keep.mean == ["sensitive", "all"]
    assert (keep.within, keep.widen, keep.senses) == (0.01, (1.5, 2.0), "fixed")
