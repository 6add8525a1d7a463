"""Batch files run with our engine: the village's tables as tau-ARGUS writes them, and refusals before anything runs."""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import pytest
from typer.testing import CliRunner

from statveil.argus.run import BatchSettings, run_batch
from statveil.cli.app import app
from statveil.errors import FormatError, InputError, RuleError
from statveil.protect.options import Limits
from statveil.table.exchange.argus.cells import Status
from statveil.table.exchange.argus.outputs import CodeValue, read_code_value
from statveil.table.exchange.argus.tab import read_cells
from statveil.table.exchange.files import read_system

Batch = Callable[..., Path]
QUICK = BatchSettings(limits=Limits(seconds=5))
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
    assert (lines["99", "ba"].value, lines["99", "ba"].status) == (None, Status.EMPTY)
    assert lines["10", "ba"].status is Status.UNSAFE_FREQUENCY
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
    assert lines[" 2", "ve"].status is Status.UNSAFE
    assert lines["10", "ba"].status is Status.UNSAFE_FREQUENCY


def test_weights_are_used_when_asked_for(batch: Batch, village: Path) -> None:
    run_batch(batch("FREQ(3,20)|WGT(1)", INTERNAL))
    assert read(village / "out.txt")[" 1", "ba"].value == 350  # 100 + 90 + 2 x 80


def test_weights_and_holdings_together(batch: Batch, village: Path) -> None:
    run_batch(batch("P(0,0)|P(0,0)|P(10,1)|WGT(1)", INTERNAL))
    assert read(village / "out.txt")["Total", "Total"].value == 1240


def test_the_request_rule_reads_the_request_codes(batch: Batch, village: Path) -> None:
    run_batch(batch("REQ(30,30,0,20)", INTERNAL))
    found = read(village / "out.txt")
    assert found[" 2", "ba"].status is Status.UNSAFE_REQUEST
    assert found["Total", "ba"].status is Status.SAFE


def test_the_zero_rule_with_no_range_still_protects_zeros(batch: Batch, village: Path) -> None:
    text = (village / "village.asc").read_text()
    (village / "village.asc").write_text(text.replace("  500", "    0"), encoding="utf-8")
    run_batch(batch("ZERO(0)", INTERNAL))
    assert read(village / "out.txt")[" 1", "ve"].status is Status.UNSAFE_ZERO


def test_counting_records(batch: Batch, village: Path) -> None:
    run_batch(batch("FREQ(3,20)", INTERNAL, spec='"region""trade"|<freq>||'))
    assert read(village / "out.txt")[" 2", "ve"].value == 2


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
    assert all(line.status is Status.SECONDARY for line in changed)


def test_the_apriori_file_decides_cell_by_cell(batch: Batch, village: Path) -> None:
    (village / "a.hst").write_bytes(b'" 1","ve",s\r\n1,ba,u\r\n2,ba,p\r\n"","",p\r\n1,ba,pl,7,9\r\n')
    result = run_batch(batch("FREQ(3,20)", '<APRIORI> "a.hst",1,",",0,0', INTERNAL, '<WRITETABLE> (1, 5, , "out.tab")'))
    found = read(village / "out.txt")
    statuses = [found[codes].status for codes in ((" 1", "ve"), (" 1", "ba"), (" 2", "ba"), ("Total", "Total"))]
    assert statuses == [Status.SAFE_MANUAL, Status.UNSAFE_MANUAL, Status.PROTECTED, Status.PROTECTED]
    assert "Table 1: 5 of 5 a-priori lines followed" in result.notes
    cells = read_cells(village / "out.tab")
    assert cells.lower is not None
    assert cells.upper is not None
    row = next(row for row in range(cells.size) if cells.codes(row) == (" 1", "ba"))
    assert (cells.lower.texts()[row], cells.upper.texts()[row]) == ("7", "9")


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
        ("P(10,1)", ["<SUPPRESS> GH(1,75)"], "job.arb, line 6: SUPPRESS GH is not done"),
        ("P(10,1)", ["<SUPPRESS> MOD(1,5,1,1,1)"], "SUPPRESS MOD is not done"),
        ("P(10,1)", ["<SUPPRESS> CTA(1)", '<WRITETABLE> (1, 4, , "x")'], r"line 7: WRITETABLE in format 4 \(SBS\) after CTA is not done"),
        ("P(10,1)", ['<WRITETABLE> (1, 3, , "x")'], "WRITETABLE in format 3 of a table that is not protected is not done"),
        ("P(10,1)", ['<WRITETABLE> (1, 7, , "x")'], r"format 7 \(cell key\) is not done"),
        ("P(10,1)", ['<WRITETABLE> (1, 5, AR+, "x")'], r"option AR\+ is not done"),
        ("P(10,1)", ["<SOLVER> CPLEX", INTERNAL], "SOLVER CPLEX is not done"),
        ("P(10,1)", [INTERNAL, "<GOINTERACTIVE>"], "line 7: GOINTERACTIVE is not done"),
        ("P(10,1)", [], "writes nothing"),
        ("P(10,1)", ['<WRITETABLE> (2, 3, AS+, "x")'], "line 6: there is no table 2"),
        ("P(10,1)", ['<APRIORI> "none.hst",1,","', INTERNAL], "line 6: there is no file 'none.hst'"),
        ("REQ(10,20,0,5)", [INTERNAL], "line 4: REQ with two different percentages is not done"),
        ("REQ(0,20,0,5)", [INTERNAL], "line 4: REQ with two different percentages is not done"),
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


def test_the_command_line(batch: Batch, village: Path) -> None:
    path = batch("P(10,1)", "<SUPPRESS> CTA(1)", '<WRITETABLE> (1, 1, , "out.csv")')
    done = CliRunner().invoke(app, ["argus", str(path), "--seconds", "5", "--gap", "0.01", "--seed", "3", "--method", "flips", "--json"])
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout.splitlines()[-1])
    assert told["tables"][0]["method"] == "flips"
    assert told["tables"][0]["audit"]["passed"]
    assert (village / "out.csv").exists()
    refused = CliRunner().invoke(app, ["argus", str(batch("P(10,1)", "<SUPPRESS> OPT(1)"))])
    assert refused.exit_code == 2
    assert "SUPPRESS OPT is not done by statveil" in refused.output
