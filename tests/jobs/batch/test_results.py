"""What a batch writes: values, statuses, nothing where a step fails."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from statveil.core.errors import FormatError, InputError
from statveil.formats.argus.cells import ArgusStatus
from statveil.formats.argus.outputs import read_code_value
from statveil.jobs.batch.run import run_batch
from tests.jobs.batch.batches import INTERNAL, QUICK, Batch, read, unsafe


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
def test_records_of_whole_numbers_are_released_in_whole_numbers(batch: Batch, village: Path) -> None:
    text = (village / "village.rda").read_text()
    (village / "village.rda").write_text(text.replace("turnover 10 5\n  <NUMERIC>", "turnover 10 5\n  <NUMERIC>\n  <DECIMALS> 2"))
    done = run_batch(batch("P(13,1)", "<SUPPRESS> CTA(1)", '<WRITETABLE> (1, 3, , "out.txt")'), settings=QUICK)
    assert done.releases[0].protected.decimals == 0
    assert done.notes[0].endswith("published with 0 decimals, as its values have, not the 2 declared")
    assert "." not in (village / "out.txt").read_text()


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
