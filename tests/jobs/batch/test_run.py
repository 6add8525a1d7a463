"""Batch files run with our engine: the village's tables as tau-ARGUS writes them, and refusals before anything runs."""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import pytest
from typer.testing import CliRunner

from statveil.cli.app import app
from statveil.core.errors import FormatError, InputError, RuleError, TableNotAdditive
from statveil.core.limits import Limits
from statveil.formats.argus.cells import ArgusStatus
from statveil.formats.argus.outputs import CodeValue, read_code_value
from statveil.formats.argus.tab import read_cells
from statveil.formats.system import read_system
from statveil.jobs.batch.run import BatchSettings, run_batch

Batch = Callable[..., Path]
QUICK = BatchSettings(limits=Limits(seconds=60))
INTERNAL = '<WRITETABLE> (1, 3, AS+, "out.txt")'


def read(path: Path) -> dict[tuple[str, ...], CodeValue]:
    return {line.codes: line for line in read_code_value(path, dimensions=2)}


def unsafe(path: Path) -> set[tuple[str, ...]]:
    return {codes for codes, line in read(path).items() if line.status and line.status.unsafe}


def test_values_and_statuses_of_the_village(batch: Batch, village: Path) -> None:
    run_batch(batch("FREQ(3,20)", INTERNAL))
    lines = read(village / "out.txt")
    assert len(lines) == 7 * 3
    assert lines["Total", "Total"].value == 1160
    assert lines["No", "ba"].value == 450
    assert (lines["99", "ba"].value, lines["99", "ba"].status) == (None, ArgusStatus.EMPTY)
    assert lines["10", "ba"].status is ArgusStatus.UNSAFE_FREQUENCY
    assert unsafe(village / "out.txt") == {
        (" 1", "ve"), (" 2", "ve"), ("10", "ba"), ("So", "ba"), ("99", "ve"), ("99", "Total"),
    }  # fmt: skip


def test_missing_codes_are_safe_only_when_the_batch_says_so(batch: Batch, village: Path) -> None:
    run_batch(batch("FREQ(3,20)|MIS(1)", INTERNAL))
    assert not any(codes[0] == "99" for codes in unsafe(village / "out.txt"))


def test_rules_about_holdings_see_one_owner_behind_two_records(batch: Batch, village: Path) -> None:
    run_batch(batch("FREQ(2,20)", INTERNAL))
    assert (" 2", "ve") not in unsafe(village / "out.txt")
    run_batch(batch("FREQ(0,0)|FREQ(2,20)", INTERNAL))
    assert (" 2", "ve") in unsafe(village / "out.txt")


def test_rules_about_records_and_about_holdings_at_once(batch: Batch, village: Path) -> None:
    """10 x ba has two records of two owners; 2 x ve two records of one owner."""
    run_batch(batch("FREQ(3,20)|FREQ(2,20)", INTERNAL))
    both = unsafe(village / "out.txt")
    assert {("10", "ba"), (" 2", "ve"), (" 1", "ve")} <= both
    run_batch(batch("NK(0,0)|NK(0,0)|NK(1,60)|FREQ(3,20)", INTERNAL))
    lines = read(village / "out.txt")
    assert lines[" 2", "ve"].status is ArgusStatus.UNSAFE
    assert lines["10", "ba"].status is ArgusStatus.UNSAFE_FREQUENCY


def test_weights_are_used_when_asked_for(batch: Batch, village: Path) -> None:
    run_batch(batch("FREQ(3,20)|WGT(1)", INTERNAL))
    assert read(village / "out.txt")[" 1", "ba"].value == 350  # 100 + 90 + 2 x 80


def test_weights_and_holdings_together(batch: Batch, village: Path) -> None:
    run_batch(batch("P(0,0)|P(0,0)|P(10,1)|WGT(1)", INTERNAL))
    assert read(village / "out.txt")["Total", "Total"].value == 1240


def test_the_request_rule_reads_the_request_codes(batch: Batch, village: Path) -> None:
    run_batch(batch("REQ(30,30,0,20)", INTERNAL))
    found = read(village / "out.txt")
    assert found[" 2", "ba"].status is ArgusStatus.UNSAFE_REQUEST
    assert found["Total", "ba"].status is ArgusStatus.SAFE


@pytest.mark.slow
def test_two_request_codes_may_have_percentages_of_their_own(batch: Batch, village: Path) -> None:
    """In 2 x ba o5 (60 of 180, a third) asks by code 1; in 1 x ba o2 (90 of 270, a third) asks by code 2."""
    text = (village / "village.rda").read_text()
    (village / "village.rda").write_text(text.replace('<REQUEST> "1"', '<REQUEST> "1" "2"'))
    lines = (village / "village.asc").read_text().splitlines()
    lines[1] = lines[1][:-1] + "2"
    (village / "village.asc").write_text("\n".join(lines) + "\n")
    found = {}
    for rule in ("REQ(30,40,0,5)", "REQ(40,30,0,5)", "REQ(30,30,0,5)", "REQ(30,0,0,5)", "REQ(40,50,5)", "REQ(90,90,0,5)|REQ(40,30,0,5)"):
        run_batch(batch(rule, INTERNAL))
        found[rule] = unsafe(village / "out.txt")
    assert found["REQ(30,40,0,5)"] == {(" 2", "ba")}
    assert found["REQ(40,30,0,5)"] == {(" 1", "ba")}
    assert found["REQ(30,30,0,5)"] == found["REQ(30,0,0,5)"] == {(" 1", "ba"), (" 2", "ba")}
    assert found["REQ(40,50,5)"] == set()
    assert found["REQ(90,90,0,5)|REQ(40,30,0,5)"] == {(" 1", "ba")}


def test_the_zero_rule_with_no_range_still_protects_zeros(batch: Batch, village: Path) -> None:
    text = (village / "village.asc").read_text()
    (village / "village.asc").write_text(text.replace("  500", "    0"), encoding="utf-8")
    run_batch(batch("ZERO(0)", INTERNAL))
    assert read(village / "out.txt")[" 1", "ve"].status is ArgusStatus.UNSAFE_ZERO


def test_counting_records(batch: Batch, village: Path) -> None:
    run_batch(batch("FREQ(3,20)", INTERNAL, spec='"region""trade"|<freq>||'))
    assert read(village / "out.txt")[" 2", "ve"].value == 2


@pytest.mark.slow
def test_cta_gives_an_audited_table_that_adds_up(batch: Batch, village: Path) -> None:
    result = run_batch(batch("P(10,1)", "<SUPPRESS> CTA(1)", '<WRITETABLE> (1, 3, AS+FL+, "out.txt")'), settings=QUICK)
    assert result.releases[0].audit.passed
    lines = {line.codes: line for line in read_code_value(village / "out.txt", dimensions=2, header=True)}
    value = {codes: line.value or Decimal(0) for codes, line in lines.items()}
    assert value["Total", "Total"] == value["Total", "ba"] + value["Total", "ve"]
    assert value["No", "ve"] == value[" 1", "ve"] + value[" 2", "ve"]
    vet = lines[" 1", "ve"]
    assert vet.value is not None
    assert vet.original == 500
    assert abs(vet.value - 500) >= 50
    changed = [line for line in lines.values() if line.value != line.original and line.status and not line.status.unsafe]
    assert all(line.status is ArgusStatus.SECONDARY for line in changed)


@pytest.mark.slow
def test_all_tables_linked_tell_one_story(village: Path, batch: Batch) -> None:
    """Region by trade and region alone: what is one sum of records is published as one number."""
    lines = batch("P(10,1)", "<SUPPRESS> CTA(0)", '<WRITETABLE> (1, 3, , "both.txt")', '<WRITETABLE> (2, 3, , "alone.txt")').read_text()
    lines = lines.replace("<READMICRODATA>", '<SPECIFYTABLE> "region"|"turnover"\n<SAFETYRULE> FREQ(6,20)\n<READMICRODATA>')
    (village / "job.arb").write_text(lines)
    done = run_batch(village / "job.arb", settings=QUICK)
    assert len(done.releases) == 1
    assert len(done.releases[0].protected.views) == 2
    both = {line.codes: line.value for line in read_code_value(village / "both.txt", dimensions=2)}
    alone = {line.codes: line.value for line in read_code_value(village / "alone.txt", dimensions=1)}
    assert all(both[region, "Total"] == number for (region,), number in alone.items())
    assert abs(alone["So",] - 120) >= 24  # five respondents: safe by the rule of the first table, not by that of the second
    assert [note for note in done.notes if "together with the others" in note]


def test_linked_tables_need_their_records(village: Path, batch: Batch) -> None:
    run_batch(batch("P(10,1)", '<WRITETABLE> (1, 5, , "out.tab")'))
    ready = ["<OPENTABLEDATA> out.tab", "<OPENMETADATA> out.rda", '<SPECIFYTABLE> "region""trade"|"turnover"', "<SAFETYRULE>"]
    text = "\n".join([*ready, *ready, "<READTABLE> 1", "<SUPPRESS> CTA(0)", '<WRITETABLE> (1, 3, , "x.txt")'])
    (village / "two.arb").write_text(text)
    with pytest.raises(InputError, match=r"line 10: SUPPRESS CTA\(0\) \(all tables linked\) of ready or recoded tables is not done"):
        run_batch(village / "two.arb")


def test_a_cell_frozen_in_one_table_and_sensitive_in_another_is_refused(village: Path, batch: Batch) -> None:
    (village / "keep.hst").write_text(" 1,p\n")
    lines = batch("P(90,1)", '<APRIORI> "keep.hst",2,","', "<SUPPRESS> CTA(0)", '<WRITETABLE> (1, 3, , "both.txt")').read_text()
    lines = lines.replace("<READMICRODATA>", '<SPECIFYTABLE> "region"|"turnover"\n<SAFETYRULE> FREQ(1,20)\n<READMICRODATA>')
    (village / "job.arb").write_text(lines)
    with pytest.raises(RuleError, match="frozen in one table and sensitive in another"):
        run_batch(village / "job.arb", settings=QUICK)


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


@pytest.mark.slow
def test_records_of_whole_numbers_are_released_in_whole_numbers(batch: Batch, village: Path) -> None:
    text = (village / "village.rda").read_text()
    (village / "village.rda").write_text(text.replace("turnover 10 5\n  <NUMERIC>", "turnover 10 5\n  <NUMERIC>\n  <DECIMALS> 2"))
    done = run_batch(batch("P(13,1)", "<SUPPRESS> CTA(1)", '<WRITETABLE> (1, 3, , "out.txt")'), settings=QUICK)
    assert done.releases[0].protected.decimals == 0
    assert done.notes[0].endswith("published with 0 decimals, as its values have, not the 2 declared")
    assert "." not in (village / "out.txt").read_text()


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


def test_a_cell_that_rules_on_holdings_call_unsafe_is_told_as_freed(batch: Batch, village: Path) -> None:
    """By records, FREQ(2) is content with two bakers; by holdings, FREQ(3) is not."""
    (village / "a.hst").write_text("So,ba,s\n", encoding="utf-8")
    with pytest.raises(RuleError, match="few respondents"):
        run_batch(batch("FREQ(2,20)|FREQ(3,20)", '<APRIORI> "a.hst",1,",",0,0', INTERNAL))
    notes = run_batch(batch("FREQ(2,20)|FREQ(3,20)", '<APRIORI> "a.hst",1,",",0,1', INTERNAL)).notes
    assert any("which a rule calls sensitive" in note for note in notes)


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


@pytest.mark.parametrize(
    ("rule", "after", "words"),
    [
        ("P(10,1)", ["<SUPPRESS> CKM(1)"], r"job.arb, line 6: SUPPRESS CKM \(cell key\) is not done"),
        ("P(10,1)", ["<SUPPRESS> CTA(1)", '<WRITETABLE> (1, 4, , "x")'], r"line 7: WRITETABLE in format 4 \(SBS\) after CTA is not done"),
        ("P(10,1)", ['<WRITETABLE> (1, 3, , "x")'], "WRITETABLE in format 3 of a table that is not protected is not done"),
        ("P(10,1)", ['<WRITETABLE> (1, 7, , "x")'], r"format 7 \(cell key\) is not done"),
        ("P(10,1)", ['<WRITETABLE> (1, 5, AR+, "x")'], r"option AR\+ is not done"),
        ("P(10,1)", ["<SOLVER> CPLEX", INTERNAL], "SOLVER CPLEX is not done"),
        ("P(10,1)", ["<GOINTERACTIVE>", INTERNAL], "line 7: nothing may follow GOINTERACTIVE"),
        ("P(10,1)", [], "writes nothing"),
        ("P(10,1)", ['<WRITETABLE> (2, 3, AS+, "x")'], "line 6: there is no table 2"),
        ("P(10,1)", ['<APRIORI> "none.hst",1,","', INTERNAL], "line 6: there is no file 'none.hst'"),
        ("P(10,1)", ["<SUPPRESS> CTA(1)", '<APRIORI> "region.hrc",1,","', INTERNAL], "line 7: the table is protected already"),
        ("", [INTERNAL], "line 3: the table has no rule"),
        ("P(0,100,0)|NK(0,0)|FREQ(0,0)|REQ(0,0,0,0)", [INTERNAL], "line 3: the table has no rule"),
        ("P(10,1)|WGT(2)", [INTERNAL], "line 4: WGT takes 0 or 1"),
        ("FREQ(1.5,3)", [INTERNAL], "line 4: a count must be a whole number"),
    ],
)
def test_what_is_not_done_is_refused_by_name_before_anything_runs(
    batch: Batch, village: Path, rule: str, after: list[str], words: str
) -> None:
    (village / "village.asc").write_text("nothing that could be read\n", encoding="utf-8")
    with pytest.raises(InputError, match=words):
        run_batch(batch(rule, *after))
    assert sorted(path.name for path in village.iterdir()) == ["job.arb", "region.hrc", "village.asc", "village.rda"]


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ('"region""size"|"turnover"', "line 3: the .rda file has no variable 'size'"),
        ('"region""owner"|"turnover"', "line 3: 'owner' cannot span a table"),
        ('"region""region"|"turnover"', "line 3: a variable spans the table twice"),
        ('"region"|"trade"', "line 3: the response 'trade' is not numeric"),
        ('"region"|"turnover"||-3', "line 3: the cost function -3"),
    ],
)
def test_a_table_that_cannot_be_specified_is_refused_at_its_line(batch: Batch, spec: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        run_batch(batch("P(10,1)", INTERNAL, spec=spec))


def test_a_rule_with_an_impossible_number_is_told_at_its_line(batch: Batch) -> None:
    for rule in ("NK(1,100)", "NK(2,0)", "NK(0,75)"):
        with pytest.raises(RuleError, match=r"job.arb, line 4: Dominance: [nk]"):
            run_batch(batch(rule, INTERNAL))


def test_nothing_is_written_when_a_later_step_fails(batch: Batch, village: Path) -> None:
    (village / "a.hst").write_text("77,ba,u\n", encoding="utf-8")
    with pytest.raises(FormatError):
        run_batch(batch("P(10,1)", INTERNAL, '<APRIORI> "a.hst",1,",",0'))
    assert not (village / "out.txt").exists()
    assert not [path for path in village.iterdir() if path.name.startswith(".statveil")]


def test_a_file_that_was_read_is_never_written_over(batch: Batch, village: Path) -> None:
    with pytest.raises(InputError, match="is named twice"):
        run_batch(batch("P(10,1)", '<WRITETABLE> (1, 5, , "village.tab")'))
    assert "<HOLDING>" in (village / "village.rda").read_text()


def test_several_sessions_and_a_log(village: Path, batch: Batch) -> None:
    one = batch("P(10,1)", INTERNAL).read_text()
    text = f'<LOGBOOK> "C:\\logs\\run log.txt"\n{one}\n<CLEAR>\n{one.replace("out.txt", "again.txt")}\n<VERSIONINFO> v.txt'
    (village / "two.arb").write_text(text, encoding="utf-8")
    out = village / "results"
    out.mkdir()
    run_batch(village / "two.arb", out=out)
    assert sorted(path.name for path in out.iterdir()) == ["again.txt", "out.txt", "run log.txt", "v.txt"]
    assert (out / "again.txt").read_bytes() == (out / "out.txt").read_bytes()
    assert "Table 1: 16 cells, 5 unsafe" in (out / "run log.txt").read_text()


@pytest.mark.slow
def test_the_command_line(batch: Batch, village: Path) -> None:
    path = batch("P(10,1)", "<SUPPRESS> CTA(1)", '<WRITETABLE> (1, 1, , "out.csv")')
    done = CliRunner().invoke(app, ["argus", str(path), "--seconds", "60", "--gap", "0.01", "--seed", "3", "--method", "flips", "--json"])
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout.splitlines()[-1])
    assert told["tables"][0]["method"] == "flips"
    assert told["tables"][0]["audit"]["passed"]
    assert (village / "out.csv").exists()
    refused = CliRunner().invoke(app, ["argus", str(batch("P(10,1)", "<SUPPRESS> CKM(1)"))])
    assert refused.exit_code == 2
    assert "SUPPRESS CKM (cell key) is not done by statveil" in refused.output
