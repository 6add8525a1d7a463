"""The apriori file of tau-ARGUS: its actions, and what it refuses."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from statveil.core.errors import FormatError
from statveil.formats.argus.apriori import Action, Apriori, read_apriori, write_apriori
from statveil.formats.argus.cells import ExactColumn


def amounts(*units: int, decimals: int = 1, missing: tuple[int, ...] = ()) -> ExactColumn:
    return ExactColumn(units=np.array(units, dtype=np.int64), decimals=decimals, missing=np.isin(np.arange(len(units)), missing))


def test_an_apriori_file_in_all_its_actions(tmp_path: Path) -> None:
    (tmp_path / "x.hst").write_bytes(b'"","",p\r\n01,"",S\r\n 2,x,u\r\n02,y,c,0\r\n02,y,w,7.5\r\n03,"a,b",pl,1,2.25\r\n')
    read = read_apriori(tmp_path / "x.hst")
    assert [(said.codes, said.action, said.amounts) for said in read] == [
        (("", ""), Action.PROTECTED, ()),
        (("01", ""), Action.SAFE, ()),
        ((" 2", "x"), Action.UNSAFE, ()),
        (("02", "y"), Action.COST, (Decimal(1),)),
        (("02", "y"), Action.COST, (Decimal("7.5"),)),
        (("03", "a,b"), Action.LEVELS, (Decimal(1), Decimal("2.25"))),
    ]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a;b;s\na;b;q\n", "line 2: no action after 2 codes"),
        ("a;b;ab;1;2\n", "no action in the line"),
        ("a;b;s\na;b;ab;1;2\n", "line 2: the action ab"),
        ("a;b;pl;1\n", "line 1"),
        ("a;b;s\na;b;pl;1\n", "line 2: the action pl takes 2 numbers, not 1"),
        ("a;b;c;-1\n", "line 1: the cost must be a number, zero or more"),
        ("a;b;s\na\n", "line 2: no action after 2 codes"),
    ],
)
def test_a_damaged_apriori_file_names_its_line(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "x.hst").write_text(text, encoding="utf-8")
    with pytest.raises(FormatError, match=words):
        read_apriori(tmp_path / "x.hst")


CODES = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Zl", "Zp"]), max_size=5).filter(lambda code: code == code.rstrip())


MONEY = st.decimals(0, 10**9, places=3, allow_nan=False)


@st.composite
def apriori_lines(draw: st.DrawFn) -> list[Apriori]:
    dimensions = draw(st.integers(1, 3))
    found = []
    for action in draw(st.lists(st.sampled_from(list(Action)), min_size=1, max_size=6)):
        amounts = tuple(draw(MONEY) + (action is Action.COST) for _ in range({Action.COST: 1, Action.LEVELS: 2}.get(action, 0)))
        found.append(Apriori(codes=tuple(draw(CODES) for _ in range(dimensions)), action=action, amounts=amounts))
    return found


@given(said=apriori_lines(), separator=st.sampled_from(",;"))
def test_every_apriori_line_survives_writing_and_reading(
    tmp_path_factory: pytest.TempPathFactory, said: list[Apriori], separator: str
) -> None:
    path = tmp_path_factory.mktemp("hst") / "x.hst"
    write_apriori(said, path, separator=separator)
    assert read_apriori(path, separator=separator, dimensions=len(said[0].codes)) == tuple(said)
