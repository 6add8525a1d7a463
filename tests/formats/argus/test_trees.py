"""Trees, labels and recodings: blanks before a code count, blanks after it do not, and a damaged line is named."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from statveil.core.errors import FormatError, HierarchyError
from statveil.data.hierarchy import Hierarchy
from statveil.formats.argus.trees import read_labels, read_recoding, read_tree, write_labels, write_tree


def written(folder: Path, text: str | bytes, name: str = "x.hrc") -> Path:
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def test_blanks_before_a_code_belong_to_it(tmp_path: Path) -> None:
    tree = read_tree(written(tmp_path, "Nr\r\n@ 1\r\n@ 2\r\nOs  \r\n@10"), missing=["99"])
    assert tree.parent == {"Nr": "Total", " 1": "Nr", " 2": "Nr", "Os": "Total", "10": "Os", "99": "Total"}
    assert tree.codes == ("Total", "Nr", " 1", " 2", "Os", "10", "99")


def test_doubled_carriage_returns_are_one_line_end(tmp_path: Path) -> None:
    assert read_tree(written(tmp_path, "  male\r\r\nfemale\r\r\n")).leaves == ("  male", "female")


def test_a_code_may_start_with_a_dot_when_the_lead_is_another(tmp_path: Path) -> None:
    assert read_tree(written(tmp_path, ".A\n@.1\n@..2\n")).parent == {".A": "Total", ".1": ".A", "..2": ".A"}


def test_a_lead_of_several_characters(tmp_path: Path) -> None:
    tree = read_tree(written(tmp_path, "A\n--a\n----x\nB\n"), lead="--")
    assert tree.parent == {"A": "Total", "a": "A", "x": "a", "B": "Total"}


def test_two_aggregates_of_one_name_are_told_apart_by_the_code_above(tmp_path: Path) -> None:
    tree = read_tree(written(tmp_path, "1\n@11\n@@001\n2\n@11\n@@002\n"))
    assert tree.parent == {"1": "Total", "11": "1", "001": "11", "2": "Total", "11 (2)": "2", "002": "11 (2)"}
    assert tree.labels == {"11 (2)": "11"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "line 1: the tree is empty"),
        ("@A\n", "line 1: code 'A' is 1 levels deep"),
        ("A\n@@b\n", "line 2: code 'b' is 2 levels deep"),
        ("A\n@b\nB\n@b\n", "line 4: code 'b' is there twice"),
        ("A\nTotal\n", "line 2: code 'Total' is there twice"),
        ("A\n@\n@b\0\n", "line 3: a byte"),
    ],
)
def test_a_complaint_names_file_and_line(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(FormatError) as caught:
        read_tree(written(tmp_path, text))
    assert f"x.hrc, {words}" in str(caught.value)


def test_long_and_deep_trees_are_read_in_full(tmp_path: Path) -> None:
    """Users of other tools saw long hierarchies misread."""
    lines = [f"{'@' * depth}L{depth}" for depth in range(30)] + [f"C{number}" for number in range(20_000)]
    tree = read_tree(written(tmp_path, "\n".join(lines)))
    assert (len(tree.parent), tree.depth["L29"], tree.parent["C19999"]) == (20_030, 30, "Total")


CODES = st.text(
    st.characters(codec="utf-8", exclude_characters="@\t", exclude_categories=["C", "Zl", "Zp"]), min_size=1, max_size=5
).filter(lambda code: code == code.rstrip() and code.strip() and code != "Total")


@given(codes=st.lists(CODES, min_size=1, max_size=12, unique=True), above=st.lists(st.integers(-1, 10), min_size=12, max_size=12))
def test_every_tree_survives_writing_and_reading(tmp_path_factory: pytest.TempPathFactory, codes: list[str], above: list[int]) -> None:
    parent = {code: codes[above[place]] if 0 <= above[place] < place else "Total" for place, code in enumerate(codes)}
    tree = Hierarchy(parent=parent)
    path = tmp_path_factory.mktemp("hrc") / "x.hrc"
    write_tree(tree, path)
    again = read_tree(path)
    assert (again.codes, again.parent) == (tree.codes, tree.parent)


def test_a_code_that_a_tree_file_cannot_hold_is_refused(tmp_path: Path) -> None:
    with pytest.raises(HierarchyError, match="cannot hold the code '@a'"):
        write_tree(Hierarchy(parent={"@a": "Total"}), tmp_path / "x.hrc")


def test_labels_in_latin_1_with_commas_in_the_label(tmp_path: Path) -> None:
    labels = read_labels(written(tmp_path, " 1,Fl\u00e5m, stad\r\n10,Ost\r\n".encode("latin-1"), "x.cdl"))
    assert labels == {" 1": "Flåm, stad", "10": "Ost"}
    write_labels(labels, tmp_path / "y.cdl")
    assert read_labels(tmp_path / "y.cdl") == labels


LABELS = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Zl", "Zp"]), max_size=8).map(str.strip)


@given(labels=st.dictionaries(CODES.filter(lambda code: "," not in code), LABELS, min_size=1, max_size=6))
def test_every_label_survives_writing_and_reading(tmp_path_factory: pytest.TempPathFactory, labels: dict[str, str]) -> None:
    path = tmp_path_factory.mktemp("cdl") / "x.cdl"
    write_labels(labels, path)
    assert read_labels(path) == labels


@pytest.mark.parametrize(("text", "words"), [("A\n", "line 1: a line reads"), ("A,b\nA,c\n", "line 2: code 'A' is there twice")])
def test_a_damaged_code_list_names_its_line(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(FormatError, match=words):
        read_labels(written(tmp_path, text, "x.cdl"))


def test_a_recoding_takes_in_codes_and_ranges(tmp_path: Path) -> None:
    recoding = read_recoding(written(tmp_path, "<MISSING> 99\n1: 1, 3-5\n2: -0\n3: 8-\n", "x.grc"))
    taken = {new: [code for code in "01249" if any(each.holds(code) for each in ranges)] for new, ranges in recoding.groups.items()}
    assert taken == {"1": ["1", "4"], "2": ["0"], "3": ["9"]}
    assert (recoding.missing, recoding.folded) == (("99",), ())


def test_a_recoding_of_a_tree_names_the_folded_codes(tmp_path: Path) -> None:
    assert read_recoding(written(tmp_path, "<TREERECODE>\n142\n1500\n", "x.grc")).folded == ("142", "1500")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("1\n", "line 1: a line reads"),
        ("1: 5-3\n", "runs backwards"),
        ("1: 1-2-3\n", "one dash"),
        ("1: 1\n1: 2\n", "line 2"),
        ("<X> 1\n", "unknown tag"),
    ],
)
def test_a_damaged_recoding_names_its_line(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(FormatError, match=words):
        read_recoding(written(tmp_path, text, "x.grc"))
