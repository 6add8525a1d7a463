"""SUPPRESS GH, MOD, OPT and NET: the village with gaps, written with its statuses and read back."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from statveil.core.errors import InputError
from statveil.core.limits import Limits
from statveil.formats.argus.cells import ArgusStatus
from statveil.formats.argus.outputs import read_code_value
from statveil.formats.system import read_system
from statveil.jobs.batch.run import BatchSettings, run_batch
from tests.jobs.batch.with_gaps import RULE, Batch

QUICK = BatchSettings(limits=Limits(seconds=60))
OUT = ('<WRITETABLE> (1, 3, AS+, "out.txt")', '<WRITETABLE> (1, 3, , "public.txt")')


def statuses(path: Path) -> dict[tuple[str, ...], ArgusStatus]:
    return {line.codes: line.status for line in read_code_value(path, dimensions=2) if line.status is not None}


@pytest.mark.slow
@pytest.mark.parametrize("command", ["GH(1,100,0,1)", "GH(1)", "MOD(1,5,1,1,1)", "MOD(1,1,1,0,0,20000,0.99,1.01)", "OPT(1,1)", "NET(1)"])
def test_the_village_with_gaps(batch: Batch, village: Path, command: str) -> None:
    done = run_batch(batch(RULE, f"<SUPPRESS> {command}", *OUT), settings=QUICK)
    assert "cells suppressed" in done.notes[1]
    assert "and audited" in done.notes[1]
    found = statuses(village / "out.txt")
    secondary = {codes for codes, status in found.items() if status.secondary}
    assert secondary
    public = {line.codes: line for line in read_code_value(village / "public.txt", dimensions=2)}
    withheld = {codes for codes, line in public.items() if line.withheld}
    assert withheld == secondary | {codes for codes, status in found.items() if status.unsafe}


@pytest.mark.slow
def test_flags_and_marks_of_secondary_cells(batch: Batch, village: Path) -> None:
    files = ('<WRITETABLE> (1, 4, , "out.sbs")', '<WRITETABLE> (1, 6, , "out.jj")', '<WRITETABLE> (1, 5, , "out.tab")')
    run_batch(batch(RULE, "<SUPPRESS> MOD(1)", *OUT, *files), settings=QUICK)
    count = sum(status is ArgusStatus.SECONDARY for status in statuses(village / "out.txt").values())
    assert sum(line.endswith(",D") for line in (village / "out.sbs").read_text().splitlines()) == count
    assert 0 < np.count_nonzero(read_system(village / "out.jj").status == "m") <= count
    assert (village / "out.tab").exists()


@pytest.mark.slow
@pytest.mark.parametrize("command", ["GH(0,100)", "MOD(0,5,1,1,1)"])
def test_linked_tables_hide_the_same_cells(batch: Batch, village: Path, command: str) -> None:
    path = batch(RULE, f"<SUPPRESS> {command}", *OUT, '<WRITETABLE> (2, 3, AS+, "second.txt")')
    text = path.read_text().replace(
        "<READMICRODATA>", f'<SPECIFYTABLE> "region""ask"|"turnover"|""|""\n<SAFETYRULE> {RULE}\n<READMICRODATA>'
    )
    (village / "village.rda").write_text((village / "village.rda").read_text().replace('<REQUEST> "1"', "<RECODEABLE>"))
    path.write_text(text)
    done = run_batch(path, settings=QUICK)
    assert sum("together with the others" in note for note in done.notes) == 2
    first, second = statuses(village / "out.txt"), statuses(village / "second.txt")
    for region, other in first:
        if other == "Total":
            hidden = [each[region, "Total"].secondary or each[region, "Total"].unsafe for each in (first, second)]
            assert hidden[0] == hidden[1], region


@pytest.mark.slow
def test_costs_of_the_table_decide_which_cells_go(batch: Batch, village: Path) -> None:
    """Unity counts cells; the default adds up values."""
    run_batch(batch(RULE, "<SUPPRESS> OPT(1,1)", *OUT, spec='"region""trade"|"turnover"|""|"-2"'), settings=QUICK)
    by_count = sum(status.secondary for status in statuses(village / "out.txt").values())
    run_batch(batch(RULE, "<SUPPRESS> OPT(1,1)", *OUT), settings=QUICK)
    by_value = [codes for codes, status in statuses(village / "out.txt").items() if status.secondary]
    assert by_count <= len(by_value)
    assert ("Total", "Total") not in by_value


@pytest.mark.slow
@pytest.mark.parametrize("action", ["m", "ML"])
def test_what_is_suppressed_already_stays_so_and_helps(batch: Batch, village: Path, action: str) -> None:
    """A cell that a run without the word publishes."""
    run_batch(batch(RULE, "<SUPPRESS> OPT(1,1)", *OUT), settings=QUICK)
    chosen = next(codes for codes, status in statuses(village / "out.txt").items() if status is ArgusStatus.SAFE and "Total" not in codes)
    (village / "known.hst").write_text(",".join([*(f'"{code}"' for code in chosen), action]) + "\n", encoding="utf-8")
    run_batch(batch(RULE, '<APRIORI> "known.hst",1,",",0,0', "<SUPPRESS> opt(1,1)", *OUT), settings=QUICK)
    assert statuses(village / "out.txt")[chosen].secondary
    public = {line.codes: line for line in read_code_value(village / "public.txt", dimensions=2)}
    assert public[chosen].withheld


def test_what_is_suppressed_already_means_nothing_to_an_adjustment(batch: Batch, village: Path) -> None:
    (village / "known.hst").write_text('"1","ba",m\n', encoding="utf-8")
    with pytest.raises(InputError, match=r"known.hst, line 1: the action m \(secondary suppression\) before CTA is not done"):
        run_batch(batch(RULE, '<APRIORI> "known.hst",1,",",0,0', "<SUPPRESS> CTA(1)", *OUT))
