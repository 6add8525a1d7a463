"""Tables of a batch: from records, ready ones, with apriori files."""

from __future__ import annotations

from pathlib import Path

import pytest

from statveil.core.errors import FormatError, RuleError, TableNotAdditive
from statveil.formats.argus.cells import ArgusStatus
from statveil.formats.argus.outputs import read_code_value
from statveil.formats.argus.tab import read_cells
from statveil.formats.system import read_system
from statveil.jobs.batch.run import run_batch
from tests.jobs.batch.batches import INTERNAL, QUICK, Batch, read

NOT_ADDITIVE = """a;x;100;S
a;y;50;U
a;T;151;S
b;x;70;S
b;y;80;S
b;T;150;S
T;x;170;S
T;y;130;S
T;T;{total};S
"""
NOT_ADDITIVE_RDA = """<SEPARATOR> ";"
area
<RECODEABLE>
<TOTCODE> T
trade
<RECODEABLE>
<TOTCODE> T
sales
<NUMERIC>
status
<STATUS>
"""


def not_additive(folder: Path, readtable: str, total: int = 300) -> Path:
    (folder / "t.tab").write_text(NOT_ADDITIVE.format(total=total))
    (folder / "t.rda").write_text(NOT_ADDITIVE_RDA)
    lines = ["<OPENTABLEDATA> t.tab", "<OPENMETADATA> t.rda", '<SPECIFYTABLE> "area""trade"|"sales"', "<SAFETYRULE> MAN(20)"]
    lines += [f"<READTABLE> {readtable}", "<SUPPRESS> CTA(1)", '<WRITETABLE> (1, 3, , "t.txt")']
    (folder / "t.arb").write_text("\n".join(lines))
    return folder / "t.arb"


@pytest.mark.slow
def test_a_table_that_does_not_add_up_is_refused_or_adjusted_as_the_batch_says(tmp_path: Path) -> None:
    with pytest.raises(TableNotAdditive, match="All differences are small enough to come from rounding"):
        run_batch(not_additive(tmp_path, "0"))
    with pytest.raises(TableNotAdditive, match="Rounding does not explain 1 of them"):
        run_batch(not_additive(tmp_path, "0", total=400))
    done = run_batch(not_additive(tmp_path, "2"), settings=QUICK)
    assert "Table 1: 9 cells, 1 unsafe; 2 totals do not add up; adjusted, they will" in done.notes
    lines = {line.codes: line.value for line in read_code_value(tmp_path / "t.txt", dimensions=2)}
    assert lines["a", "x"] + lines["a", "y"] == lines["a", "T"]
    assert lines["a", "T"] + lines["b", "T"] == lines["T", "T"]
    assert abs(lines["a", "y"] - 50) >= 10


@pytest.mark.slow
@pytest.mark.parametrize("declared", [None, 2])
def test_a_ready_table_of_whole_numbers_is_released_in_whole_numbers(tmp_path: Path, declared: int | None) -> None:
    """Neither decimals of a level nor those that the .rda file declares: just the cells that moved would have them."""
    path = not_additive(tmp_path, "0")
    more = "lower\n<NUMERIC> <LOWERPL>\nupper\n<NUMERIC> <UPPERPL>\n"
    rda = NOT_ADDITIVE_RDA.replace("<NUMERIC>", f"<NUMERIC>\n<DECIMALS> {declared}") if declared else NOT_ADDITIVE_RDA
    (tmp_path / "t.rda").write_text(rda + more)
    lines = NOT_ADDITIVE.replace("151", "150").format(total=300).splitlines()
    (tmp_path / "t.tab").write_text("".join(f"{line};5.5;5.5\n" if ";U" in line else f"{line};0;0\n" for line in lines))
    done = run_batch(path, settings=QUICK)
    assert done.releases[0].protected.decimals == 0
    assert "." not in (tmp_path / "t.txt").read_text()
    assert abs(read(tmp_path / "t.txt")["a", "y"].value - 50) == 6
    assert any("published with 0 decimals, as its values have, not the 2 declared" in note for note in done.notes) == bool(declared)


def test_a_total_without_inner_cells_cannot_be_adjusted(tmp_path: Path) -> None:
    path = not_additive(tmp_path, "2")
    table = tmp_path / "t.tab"
    table.write_text(table.read_text() + "c;T;9;S\n")
    with pytest.raises(TableNotAdditive, match="has a value, but no inner cell"):
        run_batch(path)


def test_the_apriori_file_decides_cell_by_cell(batch: Batch, village: Path) -> None:
    (village / "a.hst").write_bytes(b'" 1","ve",s\r\n1,ba,u\r\n2,ba,p\r\n"","",p\r\n1,ba,pl,7,9\r\n')
    result = run_batch(batch("FREQ(3,20)", '<APRIORI> "a.hst",1,",",0,0', INTERNAL, '<WRITETABLE> (1, 5, , "out.tab")'))
    found = read(village / "out.txt")
    statuses = [found[codes].status for codes in ((" 1", "ve"), (" 1", "ba"), (" 2", "ba"), ("Total", "Total"))]
    assert statuses == [ArgusStatus.SAFE_MANUAL, ArgusStatus.UNSAFE_MANUAL, ArgusStatus.PROTECTED, ArgusStatus.PROTECTED]
    assert "Table 1: 5 of 5 a-priori lines followed" in result.notes
    cells = read_cells(village / "out.tab")
    assert cells.lower is not None
    assert cells.upper is not None
    row = next(row for row in range(cells.size) if cells.codes(row) == (" 1", "ba"))
    assert (cells.lower.texts()[row], cells.upper.texts()[row]) == ("7", "9")


def test_an_apriori_s_on_a_total_frees_its_only_child_by_word_only(batch: Batch, village: Path) -> None:
    """The south is region 10 alone, and has two bakers."""
    (village / "a.hst").write_text("So,ba,s\n", encoding="utf-8")
    with pytest.raises(
        RuleError, match=r"region = So, trade = ba is declared safe\. It has few respondents, and region = 10, trade = ba is"
    ):
        run_batch(batch("FREQ(3,20)", '<APRIORI> "a.hst",1,",",1,0', INTERNAL))
    notes = run_batch(batch("FREQ(3,20)", '<APRIORI> "a.hst",1,",",0,1', INTERNAL)).notes
    told = "region = So, trade = ba was declared safe, which a rule calls sensitive; so was region = 10, trade = ba, the same records"
    assert [note for note in notes if "declared safe" in note] == [f"  {told}"]
    assert read(village / "out.txt")["10", "ba"].status is ArgusStatus.SAFE_MANUAL


def test_an_apriori_s_on_all_names_of_a_cell_is_as_ever(batch: Batch, village: Path) -> None:
    (village / "a.hst").write_text("So,ba,s\n10,ba,s\n10,ba,c,5\n", encoding="utf-8")
    (village / "b.hst").write_text("10,ba,u\n", encoding="utf-8")
    apriori = '<APRIORI> "a.hst",1,",",0,0'
    notes = run_batch(batch("FREQ(3,20)|FREQ(3,20)", apriori, INTERNAL)).notes
    assert not [note for note in notes if "declared safe" in note]
    assert read(village / "out.txt")["10", "ba"].status is ArgusStatus.SAFE_MANUAL
    run_batch(batch("FREQ(3,20)", apriori, '<APRIORI> "b.hst",1,",",0,0', INTERNAL))
    assert read(village / "out.txt")["So", "ba"].status is ArgusStatus.UNSAFE_FREQUENCY


def test_an_apriori_line_that_cannot_be_followed_is_told_or_refused(batch: Batch, village: Path) -> None:
    (village / "a.hst").write_text('" 1","ve",p\n77,ba,u\n99,ba,u\n', encoding="utf-8")
    with pytest.raises(FormatError, match=r"a.hst, line 1: a cell of status 5 cannot become p"):
        run_batch(batch("FREQ(3,20)", '<APRIORI> "a.hst",1,",",0', INTERNAL))
    notes = run_batch(batch("FREQ(3,20)", '<APRIORI> "a.hst",1,",",1', INTERNAL)).notes
    assert [note for note in notes if "not followed" in note] == [
        "  not followed: a.hst, line 1: a cell of status 5 cannot become p.",
        "  not followed: a.hst, line 2: the table has no such code.",
        "  not followed: a.hst, line 3: the cell is empty.",
    ]


@pytest.mark.slow
def test_an_intermediate_file_is_read_back_and_protected(batch: Batch, village: Path) -> None:
    run_batch(batch("P(10,1)|FREQ(2,20)", '<WRITETABLE> (1, 5, HI+, "out.tab")', '<WRITETABLE> (1, 6, TR+, "first.jj")'))
    again = ["<OPENTABLEDATA> out.tab", "<OPENMETADATA> out.rda", '<SPECIFYTABLE> "region""trade"|"turnover"', "<SAFETYRULE>"]
    again += ["<READTABLE> 1T", '<WRITETABLE> (1, 6, , "second.jj")', "<SUPPRESS> CTA(1)", '<WRITETABLE> (1, 2, , "out.txt")']
    (village / "again.arb").write_text("\n".join(again), encoding="utf-8")
    assert run_batch(village / "again.arb", settings=QUICK).releases[0].audit.passed
    first, second = (read_system(village / name) for name in ("first.jj", "second.jj"))
    assert (first.value == second.value).all()
    assert (first.status == second.status).all()
    assert (first.lower_level == second.lower_level).all()
