"""The Python of the documentation runs as it stands: each page from its first block to its last, and every notebook."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = {page.name: page.read_text(encoding="utf-8") for page in [*sorted((ROOT / "docs").glob("*.md")), ROOT / "README.md"]}
BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
ELSEWHERE = {"architecture.md"}
"""Its recipes run in tests/test_architecture.py, each for itself."""
NOT_YET = {
    "api.md",
    "attacks.md",
    "cell-key.md",
    "files.md",
    "infeasible.md",
    "linear-systems.md",
    "quality.md",
    "rounding.md",
    "tau-argus.md",
    "tradeoff.md",
}
"""Blocks that name files or records which the page does not make: they are compiled, not run."""
FIRMS = """region,size,trade,group,turnover,domestic,export
A,small,x,g1,120,100,20
A,small,x,g2,80,50,30
A,large,x,g3,300,200,100
A,large,y,g4,410,400,10
B,small,x,g5,90,60,30
B,small,y,g6,70,50,20
B,large,y,g7,500,300,200
B,large,y,g8,450,250,200
"""
BEFORE = {
    "linked-tables.md": 'import statveil as sv\nfirms = sv.read_microdata("firms.csv")\nrules = [sv.PPercent(10)]\n'
    'spec = sv.TableSpec(dimensions={"region": None, "trade": None}, measure="turnover", holding="group")\n',
}
"""What a page takes for granted."""


def pages_with_python() -> list[str]:
    return [name for name, text in PAGES.items() if BLOCK.search(text)]


@pytest.mark.parametrize("name", pages_with_python())
def test_every_block_compiles(name: str) -> None:
    for code in BLOCK.findall(PAGES[name]):
        compile(code, name, "exec")


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in pages_with_python() if name not in NOT_YET | ELSEWHERE | {"README.md"}])
def test_a_page_runs(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "firms.csv").write_text(FIRMS, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "page"}
    for code in [BEFORE.get(name, ""), *BLOCK.findall(PAGES[name])]:
        exec(compile(code, name, "exec", dont_inherit=True), names)


@pytest.mark.slow
@pytest.mark.parametrize("path", sorted((ROOT / "docs" / "notebooks").glob("*.ipynb")), ids=lambda path: path.stem)
def test_a_notebook_runs(path: Path, tmp_path: Path) -> None:
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(path, as_version=4)
    assert all(not cell.outputs for cell in notebook.cells if cell.cell_type == "code"), "a notebook is kept without its outputs"
    NotebookClient(notebook, timeout=600, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}).execute()
    shown = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs if "data" in output]
    assert any("<strong>Release: turnover" in output.data.get("text/html", "") for output in shown)
    assert any("application/vnd.vegalite.v5+json" in output.data for output in shown)
    assert "90125" not in str(shown)
