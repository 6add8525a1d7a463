"""What a batch asks for is read whole, or refused at its line."""

from __future__ import annotations

from pathlib import Path

import pytest

from statveil.core.errors import InputError, RuleError
from statveil.jobs.batch.run import run_batch
from tests.jobs.batch.batches import INTERNAL, QUICK, Batch


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
