"""Batch files as wholes: all faults at once and none that follows from another, GOINTERACTIVE, ready tables alone, the logbook."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from statveil.core.errors import FormatError, InputError, RuleError
from statveil.jobs.batch.run import run_batch

Batch = Callable[..., Path]
INTERNAL = '<WRITETABLE> (1, 3, AS+, "out.txt")'
READY_RDA = '<SEPARATOR> ";"\narea\n<RECODEABLE>\n<TOTCODE> T\nsales\n<NUMERIC>\nstatus\n<STATUS>\n'
READY_TAB = "T;30;S\na;10;U\nb;20;S\n"


def faults(path: Path) -> list[str]:
    """What is wrong, line by line, without the names of files."""
    with pytest.raises(InputError) as caught:
        run_batch(path)
    return re.findall(r"line \d+: .*", str(caught.value))


def test_all_faults_of_a_file_are_told_at_once(batch: Batch) -> None:
    """Words, variables, files and what is not done; the table that they leave open is not complained of."""
    path = batch(
        "P(x)", "<SUPPRESS> CKM(1)", '<APRIORI> "none.hst",1,","', '<WRITETABLE> (1, 7, , "x")', "<FROBNICATE>", spec='"size"|"turnover"'
    )
    assert [each[:40] for each in faults(path)] == [
        "line 3: the .rda file has no variable 's",
        "line 4: a number should stand here, not ",
        "line 6: SUPPRESS CKM (cell key) is not d",
        "line 7: there is no file 'none.hst'. It ",
        "line 8: WRITETABLE in format 7 (cell key",
        "line 9: unknown command <FROBNICATE>. Kn",
    ]


@pytest.mark.parametrize("what", ["<OPENMICRODATA> none.asc", "<OPENMETADATA> none.rda"])
def test_a_missing_file_is_the_only_fault_that_is_told(batch: Batch, what: str) -> None:
    path = batch("P(10,1)", "<RECODE> 1, region, 1", "<SUPPRESS> CTA(1)", INTERNAL)
    lines = path.read_text().splitlines()
    place = next(at for at, line in enumerate(lines) if line.startswith(what.split(maxsplit=1)[0]))
    path.write_text("\n".join([*lines[:place], what, *lines[place + 1 :]]))
    assert [each.split(" '")[0] for each in faults(path)] == [f"line {place + 1}: there is no file"]


def test_faults_of_one_kind_keep_it(batch: Batch) -> None:
    path = batch("NK(1,100)", INTERNAL)
    text = path.read_text()
    path.write_text(text.replace("<READMICRODATA>", '<SPECIFYTABLE> "region"|"turnover"\n<SAFETYRULE> NK(2,0)\n<READMICRODATA>'))
    with pytest.raises(RuleError, match=r"(?s)2 faults.*line 4: Dominance: k.*line 6: Dominance: k"):
        run_batch(path)
    path.write_text(text.replace("NK(1,100)", "P(10,1)") + "\n<CLEAR> \n<READTABLE>\n<CLEAR>\n<SAFETYRULE> P(1,1)")
    with pytest.raises(FormatError, match=r"(?s)2 faults.*line 8: data are read once.*line 10: SAFETYRULE follows SPECIFYTABLE"):
        run_batch(path)


def test_gointeractive_ends_a_batch_with_a_report_of_its_tables(batch: Batch, village: Path) -> None:
    """Sixteen cells; with fewer than three records: 1 x ve, 2 x ve, the south's bakers (10 x ba under two names), 99 x ve (two names)."""
    result = run_batch(batch("FREQ(3,20)", "<GOINTERACTIVE>"))
    assert [file.name for file in result.files] == ["job_status.txt"]
    told = (village / "job_status.txt").read_text(encoding="utf-8").splitlines()
    assert told == ["Table 1: 12 safe (1), 4 unsafe frequency (5)", "Table 1: 16 cells, 4 unsafe"]


@pytest.mark.parametrize("rule", ["", "<SAFETYRULE> MAN(20)\n"])
def test_a_ready_table_needs_no_specifytable(tmp_path: Path, rule: str) -> None:
    (tmp_path / "t.tab").write_text(READY_TAB)
    (tmp_path / "t.rda").write_text(READY_RDA)
    (tmp_path / "t.arb").write_text(f"<OPENTABLEDATA> t.tab\n<OPENMETADATA> T.RDA\n{rule}<READTABLE> 0\n{INTERNAL}")
    assert run_batch(tmp_path / "t.arb").notes[0] == "Table 1: 3 cells, 1 unsafe"
    assert (tmp_path / "out.txt").read_text().splitlines() == ['"T",30,1', '"a",10,9', '"b",20,1']


def test_several_ready_tables_that_nothing_specifies(tmp_path: Path) -> None:
    (tmp_path / "t.tab").write_text(READY_TAB)
    (tmp_path / "u.tab").write_text(READY_TAB.replace("U", "S"))
    (tmp_path / "t.rda").write_text(READY_RDA)
    opened = "".join(f"<OPENTABLEDATA> {name}.tab\n<OPENMETADATA> t.rda\n" for name in "tu")
    (tmp_path / "t.arb").write_text(f"{opened}<READTABLE>\n<GOINTERACTIVE>")
    assert run_batch(tmp_path / "t.arb").notes == ("Table 1: 3 cells, 1 unsafe", "Table 2: 3 cells, 0 unsafe")


@pytest.mark.parametrize("rda", [READY_RDA.replace("<RECODEABLE>\n", ""), READY_RDA + "more\n<NUMERIC>\n"])
def test_a_file_that_does_not_tell_its_table_needs_specifytable(tmp_path: Path, rda: str) -> None:
    (tmp_path / "t.tab").write_text(READY_TAB)
    (tmp_path / "t.rda").write_text(rda)
    (tmp_path / "t.arb").write_text(f"<OPENTABLEDATA> t.tab\n<OPENMETADATA> t.rda\n<READTABLE> 0\n{INTERNAL}")
    assert faults(tmp_path / "t.arb") == ["line 3: which table to read is not told by the .rda file. Add a SPECIFYTABLE command."]


def test_the_logbook_holds_commands_and_times_and_no_value(batch: Batch, village: Path) -> None:
    path = batch("FREQ(3,20)", INTERNAL)
    path.write_text(f"<LOGBOOK> log.txt\n{path.read_text()}")
    run_batch(path)
    told = (village / "log.txt").read_text(encoding="utf-8").splitlines()
    assert told[0] == "line 1: <LOGBOOK> log.txt"
    assert told[5] == "line 6: <READMICRODATA>"
    timed = [re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\S*  (.*)", line) for line in told[7:]]
    assert [found and found[1] for found in timed] == ["Table 1: 16 cells, 4 unsafe", "Table 1: written to out.txt"]
    assert not {"1160", "500", "450"} & set(re.findall(r"\d+", "\n".join(told)))


def test_options_may_be_numbers_as_older_versions_wrote_them(batch: Batch, village: Path) -> None:
    """99 x ba is empty: 3 adds the statuses and leaves it out. SBS with 1 has levels, intermediate with 0 has statuses only."""
    run_batch(batch("FREQ(3,20)", *(f'<WRITETABLE> (1, {numbers}, "{name}")' for name, numbers in FILES.items())))
    lines = {name: (village / name).read_text().splitlines() for name in FILES}
    assert len(lines["all.txt"]) == 21
    assert len(lines["some.txt"]) == 20
    assert lines["some.txt"][0] == '"Total","Total",1160,1'
    assert lines["levels.sbs"][1] == '"Total",0,"ba",0,510,8,V'
    assert lines["plain.sbs"][1] == '"Total","ba",510,8,V'
    assert lines["short.tab"][0] == '"Total";"Total";1160;S'
    assert "<FREQUENCY>" not in (village / "short.rda").read_text()
    assert lines["long.tab"][0].startswith('"Total";"Total";1160;15;')


FILES = {"all.txt": "3, 1", "some.txt": "3, 3", "levels.sbs": "4, 1", "plain.sbs": "4, 0", "short.tab": "5, 0", "long.tab": "5, 1"}


@pytest.mark.shared
@pytest.mark.parametrize(
    ("folder", "name", "told"),
    [
        ("tauargus/tableinput", "TestTable", ["Table 1: "]),
        ("tauargus", "TestRecode", ["Table 1: ", "Table 2: "]),
    ],
)
def test_sample_batches_run_as_they_are(shared_data: Path, tmp_path: Path, folder: str, name: str, told: list[str]) -> None:
    home = shared_data / "tauargus"
    for place in (home / "checkTauArgus" / "Simple2D_InputData", home / "tauargus", home / folder):
        for file in place.iterdir():
            if file.is_file() and not (tmp_path / file.name).exists():
                (tmp_path / file.name).symlink_to(file)
    done = run_batch(tmp_path / f"{name}.arb", out=tmp_path)
    assert [file.name for file in done.files] == [f"{name}_status.txt"]
    assert [note[:9] for note in done.notes] == told


@pytest.mark.shared
@pytest.mark.slow
@pytest.mark.parametrize("change", [str, str.lower, str.upper], ids=["as it is", "lower", "upper"])
@pytest.mark.parametrize("name", ["ex1", "ex2"])
def test_sample_batches_that_suppress_run_in_any_letter_case(
    shared_data: Path, tmp_path: Path, name: str, change: Callable[[str], str]
) -> None:
    """Commands, rules, parameters, options, variables and names of companion files, all of them changed."""
    home = shared_data / "tauargus" / "checkTauArgus" / "tests" / "Batch" / name
    for file in home.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    path = tmp_path / f"batch_{name}.arb"
    path.write_text(change(path.read_text(encoding="utf-8")), encoding="utf-8")
    done = run_batch(path, out=tmp_path)
    written = sorted(file.name.lower() for file in done.files)
    assert written == [f"arguslog_{name}.log", f"tabout_{name}.txt"]
    assert any("3 cells suppressed" in note and "audited" in note for note in done.notes)
