from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from statveil.core.errors import FormatError, HierarchyError, InputError
from statveil.data.hierarchy import Hierarchy


def written(folder: Path, text: str, encoding: str = "utf-8") -> Path:
    path = folder / "tree.csv"
    path.write_bytes(text.encode(encoding))
    return path


def test_a_code_without_parent_stands_below_the_total(tmp_path: Path) -> None:
    tree = Hierarchy.from_csv(written(tmp_path, "code,parent,label\nN,,North\nS,,South\nN1,N,\n"))
    assert tree.total == "Total"
    assert tree.codes == ("Total", "N", "N1", "S")
    assert tree.labels == {"N": "North", "S": "South"}


def test_the_only_code_without_parent_is_the_total(tmp_path: Path) -> None:
    tree = Hierarchy.from_csv(written(tmp_path, "parent;code\n;NL\nNL;Urk\nNL;Ede\n"))
    assert (tree.total, tree.leaves) == ("NL", ("Urk", "Ede"))


def test_the_only_parent_that_is_no_code_is_the_total(tmp_path: Path) -> None:
    assert Hierarchy.from_csv(written(tmp_path, "Urk\tNL\nEde\tNL\n")).codes == ("NL", "Urk", "Ede")


def test_a_total_may_be_named(tmp_path: Path) -> None:
    tree = Hierarchy.from_csv(written(tmp_path, "code,parent\nNL,\nUrk,NL\nEde,NL\n"), total="World")
    assert tree.codes == ("World", "NL", "Urk", "Ede")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1", "cp1252"])
def test_blanks_dots_and_foreign_letters_survive(tmp_path: Path, encoding: str) -> None:
    tree = Hierarchy.from_csv(written(tmp_path, "code;parent\n Å.1;Ö 2\nÖ 2;\n01;Ö 2\nZ;\n", encoding))
    assert tree.children["Ö 2"] == (" Å.1", "01")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("code,parent\nA,\nB,\nA1,A\nA1,B\n", "line 5: code 'A1' has two parents, 'A' and 'B' (first on line 4)"),
        ("code,parent\nA,\nB,\nA,\n", "line 4: code 'A' is there twice"),
        ("code,parent\nA,B\nB,A\nC,\nD,\n", "line 2: The tree has a cycle through 'A'"),
        ("code,parent\nA,\nB,\nC,X\n", "line 4: Code 'C' has parent 'X', which the tree lacks"),
        ("kode,over\nA,\nB,\n", "line 1: Code 'kode' has parent 'over'"),
        ("code,parent\nA\nB,\n", "line 2: no code and parent"),
        ("code,parent\nTotal,A\nA,\nB,\n", "line 2: Code 'Total' is the total and also stands below 'A'"),
    ],
)
def test_a_broken_tree_is_refused_with_its_line(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(HierarchyError) as caught:
        Hierarchy.from_csv(written(tmp_path, text))
    assert words in str(caught.value)
    assert "tree.csv" in str(caught.value)
    assert caught.value.hint


def test_a_missing_or_empty_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no file"):
        Hierarchy.from_csv(tmp_path / "nowhere.csv")
    with pytest.raises(FormatError, match="empty"):
        Hierarchy.from_csv(written(tmp_path, ""))


def test_prefixes_are_ancestors() -> None:
    tree = Hierarchy.from_digits(["0111", "0112", "02"], digits=[2, 1, 1], total="All")
    assert tree.codes == ("All", "01", "011", "0111", "0112", "02")


@pytest.mark.parametrize(
    ("codes", "words"),
    [(["01", "011"], "also begin other codes: '01'"), (["0"], "has 1 characters"), (["01", "01"], "more than once: '01'")],
)
def test_digits_that_make_no_tree_are_refused(codes: list[str], words: str) -> None:
    with pytest.raises(HierarchyError, match=words):
        Hierarchy.from_digits(codes, digits=[2, 1, 1])


def test_digits_must_be_positive() -> None:
    with pytest.raises(HierarchyError, match="positive"):
        Hierarchy.from_digits(["1"], digits=[])


def test_a_nested_dict_is_a_tree() -> None:
    tree = Hierarchy.from_dict({"North": {"N1": {}, "N2": None}, "South": ["S1"], "Abroad": []})
    assert tree.leaves == ("N1", "N2", "S1", "Abroad")
    assert tree.depth["N1"] == 2


@pytest.mark.parametrize("nested", [{"A": ["x"], "B": ["x"]}, {"A": "x"}, {"A": {"Total": None}}, {"A": 3}, [1], {"": None}])
def test_a_nested_dict_that_is_no_tree_is_refused(nested: dict[str, object]) -> None:
    with pytest.raises(HierarchyError):
        Hierarchy.from_dict(nested)


def test_flat_refuses_a_code_given_twice_and_the_total_as_leaf() -> None:
    with pytest.raises(HierarchyError, match="more than once"):
        Hierarchy.flat(["a", "a"])
    with pytest.raises(HierarchyError, match="is the total"):
        Hierarchy.flat(["a", "Total"])


def test_data_codes_that_the_tree_lacks_are_listed_ten_at_most() -> None:
    with pytest.raises(HierarchyError, match=r"'town' has 12 codes that its hierarchy lacks: '00', .*'09', \.\.\.\."):
        Hierarchy.flat(["Urk"]).check_codes([f"{n:02d}" for n in range(12)], column="town")


def test_data_codes_that_are_aggregates_are_refused() -> None:
    with pytest.raises(HierarchyError, match="aggregates in its hierarchy: 'North'"):
        Hierarchy.from_dict({"North": ["N1"]}).check_codes(["N1", "North"], column="region")


def test_a_total_among_its_codes_says_how_to_choose_another() -> None:
    with pytest.raises(HierarchyError, match=r"'Total' is the total and is itself one of the codes.*total='All'"):
        Hierarchy.flat(["a", "Total"])
    assert Hierarchy.flat(["a", "Total"], total="All").leaves == ("a", "Total")


def test_a_large_tree_shows_itself_in_a_few_words() -> None:
    assert repr(Hierarchy.flat([str(n) for n in range(1000)])) == "Hierarchy('Total', 1000 codes below)"


@pytest.mark.parametrize("make", [pa.table, pd.DataFrame, pl.DataFrame])
def test_a_frame_is_a_tree_as_a_file_is(make: Any) -> None:
    tree = Hierarchy.from_frame(make({"Code": ["N", "N1", "S"], "parent": ["", "N", None], "label": ["North", None, ""]}))
    assert tree.parent == {"N": "Total", "N1": "N", "S": "Total"}
    assert tree.labels == {"N": "North"}


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"code": ["A"], "above": [""]}, "no columns code and parent"),
        ({"code": [1], "parent": [""]}, "row 1: a code is no text"),
        ({"code": ["A", ""], "parent": ["", ""]}, "row 2: no code"),
        ({"code": ["A", "A"], "parent": ["", ""]}, "row 2: code 'A' is there twice"),
        ({"code": ["A", "B"], "parent": ["B", "A"]}, "row 1: .*cycle"),
    ],
)
def test_a_frame_that_is_no_tree_is_refused(columns: Any, words: str) -> None:
    with pytest.raises(HierarchyError, match=words):
        Hierarchy.from_frame(pa.table(columns))
