"""tau-ARGUS's own samples: every file is read, and its outputs come out again, cell by cell.

All values, all counts and all primary statuses agree, line by line and in the same order. What differs:

- Secondary suppressions (status 11) are choices of tau-ARGUS's suppression methods; here those cells are safe (1). Where a file's own
  statuses are compared, 11 is read as 1.
- test_3a: the tree NUTS.hrc has two aggregates "11", and so has the expected output; here the second is called "11 (2)".

The rules: Simple2D.html tells its rule, p% with p = 15 on records. The batch files of test_1 to test_3b are not kept; p% with p = 10 on
holdings, missing codes safe (MIS(1)), and the a-priori file test_3a.hst for test_3b repeat them all.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from statveil.core.errors import TableNotAdditive
from statveil.data.readers import read_microdata
from statveil.formats.argus.cells import ArgusStatus, table_of
from statveil.formats.argus.outputs import CodeValue, read_code_value
from statveil.formats.argus.tab import read_cells
from statveil.jobs.batch.run import run_batch
from tests.jobs.batch.mutations import READERS, collect

pytestmark = pytest.mark.shared
EDITED = {(" 2", " 4"): 100, (" 2", " 6"): -100, (" 4", " 6"): 100, (" 4", "Os"): 100}
"""Cells of pp.tab that differ from the records, and by how many hundredths."""
HOLDINGS = "P(0,0)|P(0,0)|P(10,1)|MIS(1)"


def lines(data: str, metadata: str, spec: str, rule: str, *more: str) -> str:
    head = [f"<OPENMICRODATA> {data}", f"<OPENMETADATA> {metadata}", f"<SPECIFYTABLE> {spec}", f"<SAFETYRULE> {rule}", "<READMICRODATA>"]
    return "\n".join([*head, *more, '<WRITETABLE> (1, 3, AS+, "out.txt")'])


def run(folder: Path, text: str, data: Path) -> tuple[CodeValue, ...]:
    (folder / "job.arb").write_text(text, encoding="utf-8")
    run_batch(folder / "job.arb", data=data)
    return read_code_value(folder / "out.txt", dimensions=2)


def without_secondaries(found: tuple[CodeValue, ...]) -> list[tuple[object, ...]]:
    renamed = [tuple(code.removesuffix(" (2)") for code in line.codes) for line in found]
    return [
        (codes, line.value, ArgusStatus.SAFE if line.status is ArgusStatus.SECONDARY else line.status)
        for codes, line in zip(renamed, found, strict=True)
    ]


def test_simple2d(shared_data: Path, tmp_path: Path) -> None:
    check = shared_data / "tauargus" / "checkTauArgus"
    for name in ("region2.hrc", "region.cdl", "tau_testW.asc"):
        (tmp_path / name).symlink_to(check / "Simple2D_InputData" / name)
    text = lines("tau_testW.asc", "tau_testW.rda", '"Size""Region"|"Var2"||', "P(15,1)")
    found = run(tmp_path, text, shared_data / "tauargus" / "tauargus")
    expected = read_code_value(check / "Simple2D_Expected_Output" / "Simple2D.txt", dimensions=2)
    assert without_secondaries(found) == without_secondaries(expected)
    assert Counter(line.status for line in found) == {ArgusStatus.SAFE: 110, ArgusStatus.UNSAFE: 9, ArgusStatus.EMPTY: 43}


@pytest.mark.parametrize(
    ("output", "spec", "apriori", "counts"),
    [
        ("test_1", '"act""product"', False, {1: 688, 3: 283, 14: 694}),
        ("test_2a", '"act""product"', False, {1: 688, 3: 283, 14: 694}),
        ("test_2b", '"act""region"', False, {1: 854, 3: 339, 14: 472}),
        ("test_3a", '"region""mun"', False, {1: 651, 3: 36, 14: 2703}),
        ("test_3b", '"region""product"', True, {1: 180, 3: 17, 10: 15, 14: 13}),
    ],
)
def test_enterprises(shared_data: Path, tmp_path: Path, output: str, spec: str, apriori: bool, counts: dict[int, int]) -> None:
    check = shared_data / "tauargus" / "checkTauArgus"
    (tmp_path / "test_3a.hst").symlink_to(check / "OUTPUT" / "OUTPUT" / "test_3a.hst")
    step = ['<APRIORI> "test_3a.hst",1,",",0,0'] if apriori else []
    text = lines("example_enterprise.asc", "example_enterprise.rda", f'{spec}|"turnover"||', HOLDINGS, *step)
    found = run(tmp_path, text, check / "TEST" / "TEST")
    expected = read_code_value(check / "OUTPUT" / "OUTPUT" / f"{output}.txt", dimensions=2)
    assert without_secondaries(found) == without_secondaries(expected)
    assert Counter(int(line.status or 0) for line in found) == counts


def test_the_ready_table_says_the_same_as_the_records_but_for_four_cells(shared_data: Path, tmp_path: Path) -> None:
    """pp.tab is Size x Region of tau_testW.asc with three inner cells and a total edited: its batch file asks for new totals."""
    cells = read_cells(shared_data / "tauargus" / "tauargus" / "tableinput" / "pp.tab")
    with pytest.raises(TableNotAdditive, match=r"\('Total', ' 4'\) is not the sum"):
        table_of(cells)
    check = shared_data / "tauargus" / "checkTauArgus"
    for name in ("region2.hrc", "tau_testW.asc"):
        (tmp_path / name).symlink_to(check / "Simple2D_InputData" / name)
    text = lines("tau_testW.asc", "tau_testW.rda", '"Size""Region"|"Var2"||', "P(15,1)", '<WRITETABLE> (1, 5, , "out.tab")')
    run(tmp_path, text, shared_data / "tauargus" / "tauargus")
    again = read_cells(tmp_path / "out.tab")
    assert (cells.coordinates == again.coordinates).all()
    different = np.flatnonzero(cells.value.units != again.value.units)
    assert {cells.codes(row): again.value.units[row] - cells.value.units[row] for row in different} == EDITED
    assert np.array_equal(cells.frequency, again.frequency)
    for mine, its in zip(again.top, cells.top, strict=True):
        changed = mine.units != its.units * 10 ** (mine.decimals - its.decimals)
        assert set(np.flatnonzero(changed)) <= set(different)
    assert table_of(cells, recompute=True).value[0] == table_of(again).value[0] - 100


def test_every_sample_is_read(shared_data: Path, tmp_path: Path) -> None:
    samples = collect(shared_data, tmp_path)
    assert {path.suffix for path in samples} == set(READERS)
    for path in samples:
        assert READERS[path.suffix](path) is not None
    for name in ("cellkey/Frequency/tau_testW_ptable.txt", "cellkey/Magnitude/microdata.csv"):
        assert read_microdata(shared_data / "tauargus" / "tauargus" / name).columns
