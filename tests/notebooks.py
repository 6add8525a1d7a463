"""The tutorials of the documentation as notebooks: a page and its notebook have the same cells.

After a change of a page:   python -m tests.notebooks
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import nbformat

DOCS = Path(__file__).resolve().parents[1] / "docs"
TUTORIALS = sorted(DOCS.glob("tutorial-*.md"))
_BLOCK = re.compile(r"^```python\n(.*?)^```\n?", re.DOTALL | re.MULTILINE)


def notebook_of(page: Path) -> Any:
    """Python blocks become code, what is between them text; pictures and links lead to the page's neighbours."""
    text, cells, at = page.read_text(encoding="utf-8"), [], 0
    for block in _BLOCK.finditer(text):
        cells += [*_text_cell(text[at : block.start()]), nbformat.v4.new_code_cell(block[1].rstrip("\n"))]
        at = block.end()
    cells += _text_cell(text[at:])
    for number, cell in enumerate(cells):
        cell["id"] = f"cell-{number}"
    kernel = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    return nbformat.v4.new_notebook(cells=cells, metadata=kernel)


def _text_cell(text: str) -> list[Any]:
    near = re.sub(r"\]\((?!http)([\w/.-]+)", r"](../\1", text.strip())
    return [nbformat.v4.new_markdown_cell(near)] if near else []


def place_of(page: Path) -> Path:
    return DOCS / "notebooks" / f"{page.stem}.ipynb"


if __name__ == "__main__":
    for tutorial in TUTORIALS:
        nbformat.write(notebook_of(tutorial), place_of(tutorial))
