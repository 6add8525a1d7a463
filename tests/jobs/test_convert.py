"""Conversions: what two formats both hold comes through, what the target cannot hold is refused by name."""

from __future__ import annotations

import csv
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from typer.testing import CliRunner

from statveil.cli.app import app
from statveil.core.errors import InputError
from statveil.data.hierarchy import Hierarchy
from statveil.data.readers import read_microdata
from statveil.formats.argus.apriori import Action, Apriori, read_apriori, write_apriori
from statveil.formats.argus.outputs import read_code_value
from statveil.formats.argus.tab import read_cells
from statveil.formats.argus.trees import read_labels, read_tree
from statveil.formats.system import read_system
from statveil.jobs.batch.run import run_batch
from statveil.jobs.convert import Conversion, convert
from statveil.risk.rules.manual import Manual
from statveil.tables.spec import TableSpec
from statveil.tables.tabulate import tabulate
from tests.formats.argus.test_apriori import apriori_lines
from tests.formats.systems import NINE


@pytest.fixture
def table(batch, village: Path) -> Path:
    """The village's table as an intermediate file."""
    run_batch(batch("P(10,1)", '<WRITETABLE> (1, 5, , "table.tab")'))
    return village / "table.tab"


@pytest.mark.parametrize("name", ["x.csv", "x.parquet"])
def test_records_become_columns_that_add_up_alike(village: Path, name: str) -> None:
    assert convert(village / "village.asc", village / name) == [village / name]
    found = tabulate(read_microdata(village / name), TableSpec(dimensions={"region": None, "trade": None}, measure="turnover"))
    assert found.value[0] == 1160
    assert found.views[0].dimensions[0].codes == ("Total", " 1", " 2", "10", "99")
    convert(village / name, village / "again.csv")
    rows = list(csv.reader((village / "again.csv").open(encoding="utf-8")))
    assert rows[1] == [" 1", "ba", "o1", "1.0", "100", "5", "0"]


def test_an_spss_file_becomes_parquet(tmp_path: Path) -> None:
    pyreadstat, pandas = pytest.importorskip("pyreadstat"), pytest.importorskip("pandas")
    pyreadstat.write_sav(pandas.DataFrame({"region": [1.0, 2.0], "turnover": [1.5, 2.0]}), str(tmp_path / "x.sav"))
    convert(tmp_path / "x.sav", tmp_path / "x.parquet")
    assert pq.read_table(tmp_path / "x.parquet").to_pydict() == {"region": ["1", "2"], "turnover": ["1.5", "2.0"]}


def test_a_tree_there_and_back(village: Path) -> None:
    convert(village / "region.hrc", village / "tree.csv")
    assert Hierarchy.from_csv(village / "tree.csv").parent == read_tree(village / "region.hrc").parent
    convert(village / "tree.csv", village / "again.hrc")
    assert read_tree(village / "again.hrc").codes == read_tree(village / "region.hrc").codes


def test_a_code_list_there_and_back(tmp_path: Path) -> None:
    (tmp_path / "a.cdl").write_bytes("01,Café, bar\r\n 2,Vet\r\n".encode("latin-1"))
    convert(tmp_path / "a.cdl", tmp_path / "a.csv")
    assert list(csv.reader((tmp_path / "a.csv").open(encoding="utf-8"))) == [["code", "label"], ["01", "Café, bar"], [" 2", "Vet"]]
    convert(tmp_path / "a.csv", tmp_path / "b.cdl")
    assert read_labels(tmp_path / "b.cdl") == {"01": "Café, bar", " 2": "Vet"}
    (tmp_path / "c.csv").write_text("code,parent\na,b\n")
    with pytest.raises(InputError, match="no columns code and label"):
        convert(tmp_path / "c.csv", tmp_path / "d.cdl")


def test_labels_and_another_total_are_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("code,parent,label\nAll,,everything\na,All,\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"A .hrc file cannot hold the labels of 1 codes, the code of the total, 'All'"):
        convert(tmp_path / "x.csv", tmp_path / "x.hrc")
    convert(tmp_path / "x.csv", tmp_path / "x.hrc", Conversion(drop=True))
    assert read_tree(tmp_path / "x.hrc").leaves == ("a",)


@settings(max_examples=30, deadline=None)
@given(said=apriori_lines())
def test_an_apriori_list_there_and_back(tmp_path_factory: pytest.TempPathFactory, said: list[Apriori]) -> None:
    folder = tmp_path_factory.mktemp("hst")
    kept = [each for each in said if each.action not in (Action.SECONDARY, Action.SECONDARY_MANUAL) and any(map(str.strip, each.codes))]
    kept = [each for each in kept if all(not code or code.strip() for code in each.codes)]
    write_apriori(kept, folder / "x.hst", separator=";")
    if not kept:
        return
    how = Conversion(dimensions=tuple("abc"[: len(kept[0].codes)]))
    convert(folder / "x.hst", folder / "x.csv", how)
    assert len(Manual.from_csv(folder / "x.csv").cells) == len(kept)
    convert(folder / "x.csv", folder / "y.hst", how)
    declared = list(read_apriori(folder / "y.hst", separator=",", dimensions=len(kept[0].codes)))
    expected = [
        each
        for line in kept
        for each in ([Apriori(codes=line.codes, action=Action.UNSAFE)] if line.action is Action.LEVELS else []) + [line]
    ]
    assert declared == expected


def test_secondary_suppressions_are_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "x.hst").write_text("a,b,m\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"cannot hold secondary suppressions \(m, ml\)"):
        convert(tmp_path / "x.hst", tmp_path / "x.csv")


def test_bounds_of_a_manual_list_are_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("region,status,minimum\na,safe,3\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"A .hst file cannot hold minimum"):
        convert(tmp_path / "x.csv", tmp_path / "x.hst")


def test_a_table_as_a_system_keeps_values_levels_and_sums(table: Path) -> None:
    with pytest.raises(InputError, match=r"A .jj file cannot hold codes, frequencies"):
        convert(table, table.with_suffix(".jj"))
    convert(table, table.with_suffix(".jj"), Conversion(drop=True))
    system, cells = read_system(table.with_suffix(".jj")), read_cells(table)
    assert (system.value.max(), int((system.status == "u").sum())) == (1160, 5)
    assert cells.lower is not None
    assert set(system.lower_level.tolist()) == set(cells.lower.units.tolist())
    convert(table.with_suffix(".jj"), table.with_suffix(".npz"))
    again = read_system(table.with_suffix(".npz"))
    assert (again.value == system.value).all()
    assert (again.status == system.status).all()


def test_a_table_as_code_value_and_sbs(table: Path, village: Path) -> None:
    convert(table, village / "x.txt", Conversion(drop=True))
    lines = read_code_value(village / "x.txt", dimensions=2, header=True)
    assert (len(lines), lines[0].value) == (21, 1160)
    convert(table, village / "x.sbs", Conversion(drop=True))
    assert (village / "x.sbs").read_text().splitlines()[0] == '"Total",0,"Total",0,1160,15,V'


def test_a_table_written_anew_is_the_same_table(table: Path, village: Path) -> None:
    files = convert(table, village / "new.tab")
    assert [file.name for file in files] == ["new.tab", "new.rda", "new_1.hrc"]
    one, other = read_cells(table), read_cells(village / "new.tab")
    assert one.value.texts() == other.value.texts()
    assert (one.status == other.status).all()


@pytest.mark.parametrize(
    ("source", "target", "words"),
    [
        ("village.asc", "x.jj", "A .asc file cannot become a .jj file"),
        ("village.rda", "x.csv", "A file ending in .rda cannot be converted"),
        ("village.asc", "village.asc", "A .asc file cannot become a .asc file"),
        ("nothing.asc", "x.csv", "There is no file"),
    ],
)
def test_what_does_not_hold_the_same_thing_is_refused(village: Path, source: str, target: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        convert(village / source, village / target)


def test_the_command_line(village: Path) -> None:
    done = CliRunner().invoke(app, ["convert", str(village / "village.asc"), str(village / "x.csv")])
    assert (done.exit_code, done.output) == (0, f"wrote  {village / 'x.csv'}\n")
    refused = CliRunner().invoke(app, ["convert", str(village / "village.asc"), str(village / "x.hst")])
    assert refused.exit_code == 2


def test_a_system_is_converted_with_all_decimals_of_its_levels(tmp_path: Path) -> None:
    """Whoever reads it may still choose; by default the decimals are those of the values."""
    (tmp_path / "nine.jj").write_text(NINE)
    convert(tmp_path / "nine.jj", tmp_path / "nine.npz")
    assert read_system(tmp_path / "nine.npz", decimals="all").lower_level[0] == 55
    assert read_system(tmp_path / "nine.npz").lower_level[0] == 6


def test_sbs_and_code_value_are_read_back(tmp_path: Path) -> None:
    """What `convert` wrote as SBS becomes a ready table again, and that a code-value file which reads as CSV."""
    (tmp_path / "t.sbs").write_text('"T",100,9,V\n"A",60,5,B,90.0\n"B",40,4,D\n', encoding="utf-8")
    convert(tmp_path / "t.sbs", tmp_path / "t.txt", Conversion(drop=True))
    convert(tmp_path / "t.txt", tmp_path / "t.csv")
    assert (tmp_path / "t.csv").read_text(encoding="utf-8").split() == [
        "dimension_1,value,original,status",
        "T,100,,1",
        "A,60,,3",
        "B,40,,11",
    ]
    (tmp_path / "u.txt").write_text("T,100\nA,x\nB,-\n", encoding="utf-8")
    with pytest.raises(InputError, match="how many codes"):
        convert(tmp_path / "u.txt", tmp_path / "u.csv")
    convert(tmp_path / "u.txt", tmp_path / "u.csv", Conversion(dimensions=("area",)))
    assert (tmp_path / "u.csv").read_text(encoding="utf-8").split() == ["area,value,original,status", "T,100,,", "A,,,x", "B,,,"]
