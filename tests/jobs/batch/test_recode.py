"""RECODE: groups of codes, folded branches and levels; totals stay what they were."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from statveil.core.errors import InputError
from statveil.data.hierarchy import Hierarchy
from statveil.formats.argus.metadata import ArgusVariable
from statveil.formats.argus.outputs import read_code_value
from statveil.formats.argus.trees import read_recoding
from statveil.jobs.batch.recode import recoded
from statveil.jobs.batch.run import run_batch

Batch = Callable[..., Path]
INTERNAL = '<WRITETABLE> (1, 3, AS+, "out.txt")'
TREE = Hierarchy(parent={"A": "Total", "a1": "A", "a11": "a1", "a12": "a1", "a2": "A", "B": "Total", "b1": "B"})
CODES = ArgusVariable(name="code", width=3, recodable=True, hierarchical=True)


def values(path: Path) -> dict[tuple[str, ...], object]:
    return {line.codes: line.value for line in read_code_value(path, dimensions=2)}


def test_a_level_keeps_the_tree_down_to_it() -> None:
    tree, new = recoded(TREE, 1, CODES)
    assert tree.parent == {"A": "Total", "B": "Total"}
    assert new == {"a11": "A", "a12": "A", "a2": "A", "b1": "B"}


def test_folding_removes_what_is_below(tmp_path: Path) -> None:
    (tmp_path / "x.grc").write_text("<TREERECODE>\na1\n", encoding="utf-8")
    tree, new = recoded(TREE, read_recoding(tmp_path / "x.grc"), CODES)
    assert tree.parent == {"A": "Total", "a1": "A", "a2": "A", "B": "Total", "b1": "B"}
    assert new == {"a11": "a1", "a12": "a1", "a2": "a2", "b1": "b1"}


@pytest.mark.parametrize(
    ("text", "words"), [("<TREERECODE>\nzz\n", "has no code 'zz' to fold"), ("<TREERECODE>\nTotal\n", "nothing would be left")]
)
def test_a_code_that_cannot_be_folded_is_refused(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "x.grc").write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=words):
        recoded(TREE, read_recoding(tmp_path / "x.grc"), CODES)


def test_a_tree_and_a_flat_list_are_recoded_each_in_its_way(tmp_path: Path) -> None:
    (tmp_path / "x.grc").write_text("1: 1-5\n", encoding="utf-8")
    with pytest.raises(InputError, match="begins with <TREERECODE>"):
        recoded(TREE, read_recoding(tmp_path / "x.grc"), CODES)
    with pytest.raises(InputError, match="no tree to fold"):
        recoded(Hierarchy.flat(["a"]), 1, ArgusVariable(name="flat", width=1))


def test_ranges_compare_codes_at_their_full_width(tmp_path: Path) -> None:
    (tmp_path / "x.grc").write_text("1: 1-5\n9: 9-\n", encoding="utf-8")
    tree, new = recoded(
        Hierarchy.flat([" 2", " 4", " 7", " 9", "10"]), read_recoding(tmp_path / "x.grc"), ArgusVariable(name="size", width=2)
    )
    assert new == {" 2": " 1", " 4": " 1", " 7": " 7", " 9": " 9", "10": " 9"}
    assert tree.leaves == (" 1", " 7", " 9")


def test_a_recoded_table_has_the_same_total_and_fewer_cells(batch: Batch, village: Path) -> None:
    (village / "trade.grc").write_text("xx: ba, ve\n", encoding="utf-8")
    run_batch(batch("FREQ(3,20)", "<RECODE> 1, region, 1", '<RECODE> 1, "trade", "E:\\x\\TRADE.GRC"', INTERNAL))
    assert values(village / "out.txt") == {
        ("Total", "Total"): 1160, ("Total", "xx"): 1160, ("No", "Total"): 1030, ("No", "xx"): 1030,
        ("So", "Total"): 120, ("So", "xx"): 120, ("99", "Total"): 10, ("99", "xx"): 10,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("commands", "words"),
    [
        (["<RECODE> 1, size, 2", INTERNAL], "line 6: the .rda file has no variable 'size'"),
        (["<RECODE> 1, owner, 2", INTERNAL], "line 6: 'owner' does not span table 1"),
        ([INTERNAL, "<RECODE> 1, region, 1"], "line 7: RECODE comes before"),
        (["<RECODE> 1, region, none.grc", INTERNAL], "line 6: there is no file 'none.grc'"),
    ],
)
def test_a_recoding_that_cannot_be_done_is_refused_at_its_line(batch: Batch, commands: list[str], words: str) -> None:
    with pytest.raises(InputError, match=words):
        run_batch(batch("FREQ(3,20)", *commands))
