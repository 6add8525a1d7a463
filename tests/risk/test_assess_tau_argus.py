"""Primary statuses as tau-ARGUS gave them, cell by cell.

Simple2D: size x region of tau_testW.asc, response Var2, p% rule with p = 15 and n = 1 on records, unweighted (its .html says
so). All 162 positions agree in value and in status.

test_1, test_2a, test_2b, test_3b: example_enterprise.asc by holding. The batch files are not kept beside them; the p% rule with p = 10
on holdings repeats every status but those of activity "00". That code is declared missing in the .rda, and the runs called
cells of a missing code safe (MIS(1)); these tables know no missing codes, and judge such a cell like any other.

Statuses in the files: 1 safe, 3 unsafe by a concentration rule, 10 protected by hand, 11 secondary (both safe by the rules), 14 empty.
"""

from __future__ import annotations

import csv
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest

from statveil.data.hierarchy import Hierarchy
from statveil.data.readers import read_microdata
from statveil.risk.assess import assess
from statveil.risk.rules import PPercent
from statveil.tables.spec import TableSpec
from statveil.tables.tabulate import tabulate

UNSAFE, EMPTY = 3, 14
Places = dict[str, tuple[int, int]]
TAU_TEST: Places = {"size": (9, 2), "region": (12, 2), "response": (28, 10)}
ENTERPRISES: Places = {"holding": (1, 9), "activity": (10, 2), "product": (12, 2), "region": (14, 2), "response": (19, 8)}


@pytest.fixture
def folder(shared_data):
    return shared_data / "tauargus" / "checkTauArgus"


def read_records(path: Path, places: Places) -> pa.Table:
    """Fixed width, as the .rda says: name, first column (from 1), width. Blanks before a code belong to it."""
    lines = [line for line in path.read_text(encoding="latin-1").splitlines() if line]
    columns = {name: [line[start - 1 : start - 1 + width] for line in lines] for name, (start, width) in places.items()}
    columns["response"] = [number.strip() for number in columns["response"]]
    return pa.table(columns)


def read_tree(path: Path, *extra: str) -> Hierarchy:
    """One code per line, as many "@" before it as its depth; blanks before a code belong to it. Extra codes go under the total."""
    parent, above = {}, ["Total"]
    for line in filter(None, path.read_text(encoding="latin-1").splitlines()):
        code = line.lstrip("@")
        above = above[: len(line) - len(code) + 1]
        parent[code.rstrip()] = above[-1]
        above.append(code.rstrip())
    return Hierarchy(parent=parent | dict.fromkeys(extra, "Total"))


def read_expected(path: Path) -> dict[tuple[str, ...], tuple[Decimal, bool]]:
    """Value, and whether it is unsafe, of every position that is not empty."""
    with path.open(encoding="latin-1", newline="") as lines:
        rows = [row for row in csv.reader(lines) if int(row[3]) != EMPTY]
    return {(row[0], row[1]): (Decimal(row[2]), int(row[3]) == UNSAFE) for row in rows}


def judge(records: pa.Table, spec: TableSpec, rule: PPercent) -> dict[tuple[str, ...], tuple[Decimal, bool]]:
    table = tabulate(read_microdata(records), spec, top=2)
    found = assess(table, [rule])
    view = table.views[0]
    judged = {}
    for coordinates, cell in zip(view.coordinates, view.cell, strict=True):
        labels = tuple(dimension.codes[index] for dimension, index in zip(view.dimensions, coordinates, strict=True))
        judged[labels] = (Decimal(int(table.value[cell])).scaleb(-table.scale), bool(found.sensitive[cell]))
    return judged


@pytest.mark.shared
def test_statuses_of_tau_testw_agree_with_tau_argus(folder):
    records = read_records(folder / "Simple2D_InputData" / "tau_testW.asc", TAU_TEST)
    regions = read_tree(folder / "Simple2D_InputData" / "region2.hrc")
    expected = read_expected(folder / "Simple2D_Expected_Output" / "Simple2D.txt")
    assert (len(expected), sum(unsafe for _, unsafe in expected.values())) == (162 - 43, 9)
    assert judge(records, TableSpec(dimensions={"size": None, "region": regions}, measure="response"), PPercent(15)) == expected


@pytest.mark.shared
@pytest.mark.parametrize(
    ("output", "dimensions", "differences"),
    [
        ("test_1", ("activity", "product"), 7),
        ("test_2a", ("activity", "product"), 7),
        ("test_2b", ("activity", "region"), 7),
        ("test_3b", ("region", "product"), 0),
    ],
)
def test_statuses_of_holdings_agree_but_for_the_missing_code(folder, output, dimensions, differences):
    inputs = folder / "TEST" / "TEST"
    trees = {
        "activity": read_tree(inputs / "nace_divisions.hrc", "00"),
        "region": read_tree(inputs / "KohStatReg.hrc"),
        "product": None,
    }
    spec = TableSpec(dimensions={name: trees[name] for name in dimensions}, measure="response", holding="holding")
    judged = judge(read_records(inputs / "example_enterprise.asc", ENTERPRISES), spec, PPercent(10))
    expected = read_expected(folder / "OUTPUT" / "OUTPUT" / f"{output}.txt")
    different = {labels for labels in expected if expected[labels] != judged.get(labels)}
    assert set(judged) == set(expected)
    assert len(different) == differences
    for labels in different:
        assert labels[0] == "00"
        assert judged[labels] == (expected[labels][0], True)
