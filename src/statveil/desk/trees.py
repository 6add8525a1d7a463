"""Trees of codes that are written on the desk: each a file of its own in the folder data, named by its hash, which never changes.

So undo brings back the job that names the earlier one, and the command line reads what the desk wrote.
"""

from __future__ import annotations

import csv
import hashlib
import io
import re
import tempfile
from pathlib import Path

from statveil.core.atomic import written_together
from statveil.core.errors import InputError, StatveilError
from statveil.data.hierarchy import Hierarchy
from statveil.desk.project import Project

LARGEST = 1_000_000
"""Letters of a tree that is written by hand; a larger one comes as a file. By judgement."""


def lines_of(tree: Hierarchy) -> str:
    """The tree as it is written: the total, which has no parent, and a line for each code below it."""
    return _as_csv([[code, tree.parent.get(code, ""), tree.labels.get(code, "")] for code in tree.codes])


def tree_of_lines(text: str) -> Hierarchy:
    """As `Hierarchy.from_csv` reads it; what is wrong is told by its line."""
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "tree.csv"
        path.write_text(_tidy(text), encoding="utf-8")
        try:
            return Hierarchy.from_csv(path)
        except StatveilError as error:
            raise InputError(error.message.replace(f"{path}, line", "Line").replace(str(path), "The tree"), hint=error.hint) from None


def write_tree(project: Project, name: str, text: str) -> str:
    """The file that holds it from now on, as a job names it."""
    tree_of_lines(text)
    tidy = _tidy(text)
    word = re.sub(r"\W+", "-", name).strip("-_")[:60] or "codes"
    path = project.plain_file("data", f"{word}-tree-{hashlib.sha256(tidy.encode()).hexdigest()[:8]}.csv")
    if not path.exists():
        with written_together([path]) as (place,):
            place.write_text(tidy, encoding="utf-8", newline="")
    return f"data/{path.name}"


def _tidy(text: str) -> str:
    """Without blanks around the fields and without empty lines: typed, or pasted from a spreadsheet."""
    if len(text) > LARGEST:
        raise InputError("The tree is too large to be written here.", hint="Add it as a file on the first screen.")
    first = next((line for line in text.splitlines() if line.strip()), "")
    delimiter = max((",", ";", "\t"), key=first.count)  # of the first line: a label further down may hold any of them
    rows = [[field.strip() for field in row] for row in csv.reader(io.StringIO(text), delimiter=delimiter, strict=False)]
    kept = [row for row in rows if any(row)]
    if not kept:
        raise InputError("The tree has no codes.", hint="Each line holds code, parent and perhaps a label.")
    return _as_csv([[*row, "", ""][:3] for row in kept])


def _as_csv(rows: list[list[str]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()
