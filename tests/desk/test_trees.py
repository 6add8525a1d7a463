"""Trees that are written on the desk."""

from __future__ import annotations

from pathlib import Path

import pytest

from statveil.core.errors import InputError, StatveilError
from statveil.data.hierarchy import Hierarchy
from statveil.desk.project import Project
from statveil.desk.trees import lines_of, tree_of_lines, write_tree

NORTH = "All,,\nN,All,North\nN1,N,\nN2,N,\nS,All,\n"


@pytest.mark.parametrize(
    "text", [NORTH, NORTH.replace(",", " ; "), NORTH.replace(",", "\t"), f"\n{NORTH}\n\n", f"code,parent,label\n{NORTH}"]
)
def test_a_tree_is_read_as_it_was_typed_or_pasted(text: str) -> None:
    tree = tree_of_lines(text)
    assert (tree.total, tree.children["N"], tree.labels) == ("All", ("N1", "N2"), {"N": "North"})


def test_what_is_written_is_what_the_library_reads(tmp_path: Path) -> None:
    tree = Hierarchy.from_dict({"north, far": ["A", "B"], "south": ["C"]})
    file = write_tree(Project(tmp_path), "Größe (m²)", lines_of(tree))
    read = Hierarchy.from_csv(tmp_path / file)
    assert (read.parent, read.total) == (tree.parent, tree.total)
    assert write_tree(Project(tmp_path), "Größe (m²)", lines_of(tree)) == file, "the same tree is the same file"


@pytest.mark.parametrize(
    ("text", "words"), [("", "no codes"), ("a,b,\na,c,\n", "Line 2: code 'a' has two parents"), ("a,b,\nb,a,\n", "Line")]
)
def test_what_is_wrong_is_told_by_its_line_and_nothing_is_written(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(StatveilError, match=words):
        write_tree(Project(tmp_path), "region", text)
    assert list((tmp_path / "data").iterdir()) == []


def test_a_tree_beyond_a_million_letters_comes_as_a_file() -> None:
    with pytest.raises(InputError, match="too large"):
        tree_of_lines("a,b,\n" * 300_000)
