"""Batch files run with our engine: the village's tables as tau-ARGUS writes them, and refusals before anything runs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from statveil.cli.app import app
from statveil.core.errors import RuleError
from statveil.formats.argus.outputs import read_code_value
from statveil.jobs.batch.run import run_batch
from tests.jobs.batch.batches import INTERNAL, QUICK, Batch


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


def test_a_cell_that_rules_on_holdings_call_unsafe_is_told_as_freed(batch: Batch, village: Path) -> None:
    """By records, FREQ(2) is content with two bakers; by holdings, FREQ(3) is not."""
    (village / "a.hst").write_text("So,ba,s\n", encoding="utf-8")
    with pytest.raises(RuleError, match="few respondents"):
        run_batch(batch("FREQ(2,20)|FREQ(3,20)", '<APRIORI> "a.hst",1,",",0,0', INTERNAL))
    notes = run_batch(batch("FREQ(2,20)|FREQ(3,20)", '<APRIORI> "a.hst",1,",",0,1', INTERNAL)).notes
    assert any("which a rule calls sensitive" in note for note in notes)


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
