"""What users of tau-ARGUS complained of or asked for (US#n: issue n of its user support), where it touches files: each as a fact."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from statveil.core.errors import FormatError, RuleError, TableNotAdditive
from statveil.core.limits import Limits
from statveil.formats.argus.cells import ArgusStatus
from statveil.formats.argus.outputs import CodeValue, read_code_value
from statveil.formats.argus.trees import read_tree
from statveil.jobs.batch.run import BatchSettings, run_batch

Batch = Callable[..., Path]
QUICK = BatchSettings(limits=Limits(seconds=60))
RDA = """<SEPARATOR> ";"
region
  <RECODEABLE>
  <TOTCODE> "T"
value
  <NUMERIC>
  <DECIMALS> {decimals}
n
  <FREQUENCY>
status
  <STATUS>
low
  <NUMERIC> <LOWERPL>
high
  <NUMERIC> <UPPERPL>
"""


def ready(folder: Path, cells: str, *commands: str, rule: str = "<SAFETYRULE> MAN(20)", read: str = "0", decimals: int = 1) -> Path:
    """A batch file over a ready table of one dimension."""
    (folder / "t.rda").write_text(RDA.format(decimals=decimals), encoding="utf-8")
    (folder / "t.tab").write_text(cells, encoding="utf-8")
    lines = ["<OPENTABLEDATA> t.tab", "<OPENMETADATA> t.rda", '<SPECIFYTABLE> "region"|"value"', rule, f"<READTABLE> {read}", *commands]
    (folder / "job.arb").write_text("\n".join(lines), encoding="utf-8")
    return folder / "job.arb"


def read(path: Path) -> dict[str, CodeValue]:
    return {line.codes[0]: line for line in read_code_value(path, dimensions=1)}


OUT = '<WRITETABLE> (1, 3, AS+, "out.txt")'
CTA = "<SUPPRESS> CTA(1)"


def test_us46_us172_us29_a_table_that_adds_up_in_its_decimals_is_additive(tmp_path: Path) -> None:
    """0.1 + 0.2 is 0.3 here, and a hundred parts of 0.1 are 10."""
    parts = "".join(f"c{place};0.1;5;S;0;0\n" for place in range(100))
    run_batch(ready(tmp_path, f"T;10;500;S;0;0\n{parts}", OUT))
    assert read(tmp_path / "out.txt")["T"].value == 10


def test_us46_a_table_that_does_not_add_up_is_refused_by_its_cell(tmp_path: Path) -> None:
    with pytest.raises(TableNotAdditive, match=r"Cell \('T',\) is not the sum of its parts along 'region'; 1 totals"):
        run_batch(ready(tmp_path, "T;30.1;9;S;0;0\na;10;4;S;0;0\nb;20;5;S;0;0\n", OUT))


@pytest.mark.slow
def test_us153_us140_weights_with_decimals_add_up(batch: Batch, village: Path) -> None:
    """Weights of a third and of a sixth, times turnover, sum up exactly; the release has the measure's decimals."""
    text = (village / "village.asc").read_text()
    (village / "village.asc").write_text(text.replace("1.0", "0.3"), encoding="utf-8")
    result = run_batch(batch("P(10,1)|WGT(1)", CTA, '<WRITETABLE> (1, 3, AS+, "out.txt")'), settings=QUICK)
    assert result.releases[0].audit.passed
    lines = {line.codes: line.value or 0 for line in read_code_value(village / "out.txt", dimensions=2)}
    assert lines["Total", "Total"] == lines["Total", "ba"] + lines["Total", "ve"]


@pytest.mark.parametrize("option", ["1T", "1F", "1"])
def test_us157_us130_no_unsafe_status_is_lost_when_totals_are_recomputed(tmp_path: Path, option: str) -> None:
    run_batch(ready(tmp_path, "T;99;9;U;5;5\na;10;4;U;2;2\nb;20;5;S;0;0\n", OUT, read=option))
    found = read(tmp_path / "out.txt")
    assert (found["T"].value, found["T"].status, found["a"].status) == (30, ArgusStatus.UNSAFE_MANUAL, ArgusStatus.UNSAFE_MANUAL)


@pytest.mark.slow
def test_us312_weights_and_holdings_work_together(batch: Batch) -> None:
    assert run_batch(batch("P(0,0)|P(0,0)|P(10,1)|WGT(1)", CTA, OUT), settings=QUICK).releases[0].audit.passed


@pytest.mark.slow
def test_us156_acro19_negative_values_keep_their_sign_and_are_not_all_moved(tmp_path: Path) -> None:
    cells = "T;70;12;S;0;0\na;-40;4;U;8;8\nb;90;4;S;0;0\nc;20;4;S;0;0\n"
    run_batch(ready(tmp_path, cells, CTA, OUT), settings=QUICK)
    found = {code: line.value or 0 for code, line in read(tmp_path / "out.txt").items()}
    assert found["T"] == found["a"] + found["b"] + found["c"]
    assert found["a"] in (-32, -48)
    assert sum(line.value != line.original for line in read(tmp_path / "out.txt").values()) == 2


@pytest.mark.slow
def test_us315_the_same_batch_gives_the_same_table_every_time(batch: Batch, village: Path) -> None:
    found = set()
    for _ in range(2):
        run_batch(batch("P(10,1)", CTA, OUT), settings=QUICK)
        found.add((village / "out.txt").read_bytes())
    assert len(found) == 1


@pytest.mark.slow
def test_us261_codes_that_start_with_a_dot(tmp_path: Path) -> None:
    run_batch(ready(tmp_path, "T;30;9;S;0;0\n.a;10;4;U;2;2\n..b;20;5;S;0;0\n", CTA, OUT), settings=QUICK)
    assert set(read(tmp_path / "out.txt")) == {"T", ".a", "..b"}


def test_us265_us152_blanks_in_paths_and_paths_of_another_machine(batch: Batch, village: Path) -> None:
    assert " " in str(village)
    run_batch(batch("P(10,1)", '<WRITETABLE> (1, 3, AS+, "C:\\My results\\the table.txt")'))
    assert (village / "the table.txt").exists()


@pytest.mark.slow
def test_us123_costs_of_the_apriori_file_are_used_in_a_batch(batch: Batch, village: Path) -> None:
    moved = []
    for cost in ("0.000001", "1000"):
        (village / "a.hst").write_text(f'" 1","ba",c,{cost}\n', encoding="utf-8")
        run_batch(batch("P(10,1)", '<APRIORI> "a.hst",1,","', CTA, OUT), settings=QUICK)
        line = next(line for line in read_code_value(village / "out.txt", dimensions=2) if line.codes == (" 1", "ba"))
        moved.append(line.value != line.original)
    assert moved == [True, False]


@pytest.mark.parametrize(("rule", "flag"), [("NK(1,80)", "B"), ("NK(2,80)", "C"), ("P(10,1)", "F")])
def test_us174_sbs_tells_one_dominant_from_two(batch: Batch, village: Path, rule: str, flag: str) -> None:
    run_batch(batch(rule, '<WRITETABLE> (1, 4, QU-, "out.sbs")'))
    line = next(line for line in (village / "out.sbs").read_text().splitlines() if line.startswith(" 1,ve,"))
    assert line.split(",")[4] == flag


@pytest.mark.parametrize(("option", "count"), [("HI+", "1"), ("HI-", "2")])
def test_us122_holding_frequencies_are_not_zero_in_the_intermediate_file(batch: Batch, village: Path, option: str, count: str) -> None:
    run_batch(batch("FREQ(0,0)|FREQ(2,20)", f'<WRITETABLE> (1, 5, {option}, "out.tab")'))
    line = next(line for line in (village / "out.tab").read_text().splitlines() if line.startswith('" 2";"ve"'))
    assert line.split(";")[3] == count


@pytest.mark.slow
def test_us73_a_file_with_secondary_statuses_is_read_back(tmp_path: Path) -> None:
    """M is no obstacle: an adjusted table needs no secondary suppression."""
    assert run_batch(ready(tmp_path, "T;30;9;S;0;0\na;10;4;U;2;2\nb;20;5;M;0;0\n", CTA, OUT), settings=QUICK).releases[0].audit.passed


@pytest.mark.slow
def test_us177_protection_levels_with_many_decimals(tmp_path: Path) -> None:
    cells = "T;30;9;S;0;0\na;10;4;U;2.0000000000000001;2.123456789012345678\nb;20;5;S;0;0\n"
    run_batch(ready(tmp_path, cells, CTA, OUT), settings=QUICK)
    line = read(tmp_path / "out.txt")["a"]
    assert line.value is not None
    assert line.original is not None
    assert abs(line.value - line.original) > 2


def test_us108_a_table_in_which_nothing_needs_protecting(tmp_path: Path) -> None:
    run_batch(ready(tmp_path, "T;30;9;S;0;0\na;10;4;S;0;0\nb;20;5;S;0;0\n", CTA, OUT), settings=QUICK)
    assert all(line.value == line.original for line in read(tmp_path / "out.txt").values())


def test_us263_rtauargus58_a_rule_that_a_ready_table_cannot_answer_says_what_is_missing(tmp_path: Path) -> None:
    cells = "T;30;9;S;0;0\na;10;4;S;0;0\nb;20;5;S;0;0\n"
    with pytest.raises(RuleError, match="looks at the 2 largest contributions of a cell, and the table holds 0"):
        run_batch(ready(tmp_path, cells, OUT, rule="<SAFETYRULE> P(10,1)"))
    with pytest.raises(FormatError, match=r"job.arb, line 4: REQ needs the records"):
        run_batch(ready(tmp_path, cells, OUT, rule="<SAFETYRULE> REQ(10,10,3,20)"))


def test_us323_long_and_deep_hierarchies_are_read_in_full(tmp_path: Path) -> None:
    lines = [f"{'@' * depth}L{depth}" for depth in range(15)] + [f"C{number:05d}" for number in range(30_000)]
    (tmp_path / "x.hrc").write_text("\n".join(lines), encoding="utf-8")
    tree = read_tree(tmp_path / "x.hrc")
    assert (len(tree.parent), tree.depth["L14"]) == (30_015, 15)


def test_us201_a_message_names_the_line_and_the_word(tmp_path: Path) -> None:
    (tmp_path / "t.tab").touch()
    (tmp_path / "job.arb").write_text("<OPENTABLEDATA> t.tab\n<SAFETYRULE> P(10,1)|NK(2)\n", encoding="utf-8")
    with pytest.raises(FormatError, match=r"job.arb, line 2: the rule NK takes 2 numbers, not 1"):
        run_batch(tmp_path / "job.arb")


def test_apriori_files_of_many_lines_are_read_quickly(batch: Batch, village: Path) -> None:
    """The user group's list of 2024 names slow reading of a-priori files."""
    (village / "a.hst").write_text('" 1","ba",c,2\n' * 20_000, encoding="utf-8")
    assert "Table 1: 20000 of 20000 a-priori lines followed" in run_batch(batch("P(10,1)", '<APRIORI> "a.hst",1,","', OUT)).notes
