"""How a change is written, and what a run wrote is read."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import statveil as sv
from statveil.desk.maps.released import changed_by, read_released


@pytest.mark.parametrize(
    ("value", "scale", "released", "words"),
    [
        (200, 0, "210", "+5.00%"),
        (20000, 2, "190", "-5.00%"),
        (-50, 0, "-60", "-20.00%"),
        (7, 0, "7", "+0.00%"),
        (0, 0, "3", "+3"),
        (0, 0, "0", "+0.00%"),
    ],
)
def test_a_change_is_told_in_percent_of_the_original_and_as_it_is_where_that_is_zero(
    value: int, scale: int, released: str, words: str
) -> None:
    assert changed_by(value, scale, released) == words


def test_codes_that_a_spreadsheet_would_run_are_found_as_they_are_written(tmp_path: Path) -> None:
    """In a file "=cmd" stands as "'=cmd": the cell is the same."""
    shops = pa.table({"@area": ["=cmd", "=cmd", "-b", "-b"], "sales": [7, 3, 1, 50]})
    table = sv.tabulate(sv.read_microdata(shops), sv.TableSpec(dimensions={"@area": None}, measure="sales"))
    path = tmp_path / "internal.csv"
    path.write_text("'@area,adjusted\nTotal,61\n'=cmd,12\n'-b,49\n")
    (view,) = table.views
    found = read_released(path, table, view)
    assert sorted(found.after(table, cell).partition(" ")[0] for cell in view.cell.tolist()) == ["12", "49", "61"]
