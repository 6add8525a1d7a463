"""Files of a small table, to be changed line by line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from statveil.formats.argus.cells import CellTable
from statveil.formats.argus.tab import read_cells

RDA = """<SEPARATOR> ";"
size "99"
  <RECODEABLE>
  <TOTCODE> "All"
value
  <NUMERIC>
  <DECIMALS> 2
n
  <FREQUENCY>
top1
  <MAXSCORE>
top2
  <MAXSCORE>
status
  <STATUS>
low
  <NUMERIC> <LOWERPL>
high
  <NUMERIC> <UPPERPL>
"""
TAB = """"All";1600,50;9;900;500;S;0;0
 1;100,25;4;50;30;U;20,125;30
" 2";1500,25;5;900;500;s;0;0
99;-;0;0;0;E;0;0
"""


def table(folder: Path, tab: str = TAB, rda: str = RDA, **more: Any) -> CellTable:
    (folder / "x.rda").write_text(rda, encoding="utf-8")
    (folder / "x.tab").write_bytes(tab.encode("latin-1"))
    return read_cells(folder / "x.tab", **more)
