"""Rules of a batch: about records, holdings, requests, zeros."""

from __future__ import annotations

from pathlib import Path

import pytest

from statveil.core.errors import RuleError
from statveil.formats.argus.cells import ArgusStatus
from statveil.jobs.batch.run import run_batch
from tests.jobs.batch.batches import INTERNAL, Batch, read, unsafe


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


def test_a_rule_with_an_impossible_number_is_told_at_its_line(batch: Batch) -> None:
    for rule in ("NK(1,100)", "NK(2,0)", "NK(0,75)"):
        with pytest.raises(RuleError, match=r"job.arb, line 4: Dominance: [nk]"):
            run_batch(batch(rule, INTERNAL))
