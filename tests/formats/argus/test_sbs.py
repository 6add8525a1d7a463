"""SBS files read back."""

from __future__ import annotations

from pathlib import Path

import pytest

from statveil.core.errors import FormatError
from statveil.formats.argus.outputs import write_sbs
from statveil.formats.argus.sbs import read_sbs

LEVELS = """"Total",0,"Total",0,100,9,V
"Total",0,"u",0,60,5,V
"Total",0,"v",0,40,4,V
"A",1,"Total",0,70,6,V
"A",1,"u",0,40,3,B,90.0
"A",1,"v",0,30,3,D
"A1",2,"Total",0,70,6,V
"A1",2,"u",0,40,3,F,90.0,5.0
"A1",2,"v",0,30,3,D
"B",1,"Total",0,30,3,V
"B",1,"u",0,20,2,A
"B",1,"v",0,10,1,D
"""


def file(folder: Path, text: str) -> Path:
    path = folder / "t.sbs"
    path.write_text(text, encoding="utf-8")
    return path


def test_levels_tell_the_tree(tmp_path: Path) -> None:
    cells = read_sbs(file(tmp_path, LEVELS))
    assert dict(cells.dimensions[0].trees[0].parent) == {"A": "Total", "A1": "A", "B": "Total"}
    assert cells.status.tolist() == [1, 1, 1, 1, 3, 11, 1, 3, 11, 1, 5, 11]
    assert cells.value.units.tolist()[:3] == [100, 60, 40]


def test_what_is_read_is_written_alike(tmp_path: Path) -> None:
    cells = read_sbs(file(tmp_path, LEVELS))
    write_sbs(cells, tmp_path / "again.sbs", levels=True)
    again = read_sbs(tmp_path / "again.sbs")
    assert again.dimensions == cells.dimensions
    assert again.status.tolist() == cells.status.tolist()


def test_without_levels_every_code_is_below_the_total(tmp_path: Path) -> None:
    cells = read_sbs(file(tmp_path, '"T","T",3,2,V\n"1","T",1,1,A\n"2","T",2,1,D\n"T","u",3,2,V\n'))
    assert dict(cells.dimensions[0].trees[0].parent) == {"1": "T", "2": "T"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no cells"),
        ('"T",3,2\n', "a line reads"),
        ('"T",3,2,V\n', "one code only"),
        ('"T",3,2,V\n"A",3,2,V\n"A",3,2,V\n', "line 3: the cell is there already, on line 2"),
        ('"T",0,3,2,V\n"A",2,3,2,V\n', "levels deep"),
        ('"T",3,2,V\n"A",3,2,Q\n', "line 2: a line reads"),
    ],
)
def test_what_is_no_such_file(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(FormatError, match=words):
        read_sbs(file(tmp_path, text))
