"""Batch files: every command as a typed one, and a complaint at its line for everything else."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from statveil.core.errors import FormatError
from statveil.formats.argus.batch_commands import (
    Note,
    OpenData,
    ReadTable,
    Recode,
    RuleCall,
    SafetyRule,
    SpecifyTable,
    Suppress,
    UseApriori,
    WriteTable,
)
from tests.formats.argus.batches import read_batch

TEXT = """//a comment
\\\\another
<LOGBOOK> "my log.txt"
<OPENMICRODATA>\t"C:\\my data\\x.asc"
<SPECIFYTABLE> "Size""Region of birth"|"Var2"|"Sh"|"-1"|0.5
<SAFETYRULE> P(15,1)|NK(0,0)|FREQ(3,30)|MIS(1)|
<READTABLE> 1T
<APRIORI> "x.hst", 2, ",", 0, 1
<RECODE> 1, Region, "GK.grc"
<SUPPRESS> GH(1, 75, 0)
<WRITETABLE> (1, 3, AS+ fl-, "out (1), final.txt")
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "job.arb"
    path.write_bytes(text.replace("\n", "\r\n").encode("latin-1"))
    return path


def test_every_command_is_read(tmp_path: Path) -> None:
    found = read_batch(written(tmp_path, TEXT)).commands
    line = found[0].line
    assert found == (
        Note(line=line, name="LOGBOOK", file="my log.txt"),
        OpenData(line=line, file="C:\\my data\\x.asc", table=False),
        SpecifyTable(line=line, dimensions=("Size", "Region of birth"), response="Var2", shadow="Sh", cost="-1", power=Decimal("0.5")),
        SafetyRule(
            line=line,
            rules=(
                RuleCall(name="P", numbers=(Decimal(15), Decimal(1))),
                RuleCall(name="NK", numbers=(Decimal(0), Decimal(0))),
                RuleCall(name="FREQ", numbers=(Decimal(3), Decimal(30))),
                RuleCall(name="MIS", numbers=(Decimal(1),)),
            ),
        ),
        ReadTable(line=line, totals=1),
        UseApriori(line=line, file="x.hst", table=2, separator=",", ignore_errors=False, expand=True),
        Recode(line=line, table=1, variable="Region", by="GK.grc"),
        Suppress(line=line, method="GH", table=1, arguments=("75", "0")),
        WriteTable(line=line, table=1, format=3, options={"AS": True, "FL": False}, file="out (1), final.txt"),
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "line 1: the batch file has no command"),
        ("OPENMICRODATA x\n", "line 1: a command begins with its name"),
        ("//\n<FROBNICATE>\n", "line 2: unknown command <FROBNICATE>"),
        ("<SAFETYRULE> P(1,2,3,4)\n", "line 1: the rule P takes 1 to 3 numbers, not 4"),
        ("<SAFETYRULE> Q(1)\n", "line 1: unknown rule Q"),
        ("<SAFETYRULE> P(x)\n", "line 1: a number should stand here, not 'x'"),
        ("<SAFETYRULE> P(1\n", "line 1: a quotation mark or a ( is not closed"),
        ('<SPECIFYTABLE> "a""b"\n', "line 1: a table reads"),
        ("<READTABLE> 7\n", "line 1: READTABLE takes"),
        ('<APRIORI> "x.hst", 0, ","\n', "line 1: the number of a table should stand here"),
        ('<APRIORI> "x.hst", 1, ","," 2"\n', "line 1: 0 or 1 should stand here"),
        ("<SUPPRESS> XYZ(1)\n", "line 1: unknown method XYZ"),
        ('<WRITETABLE> (1, 9, , "x")\n', "line 1: the format must be a number from 1 to 7"),
        ('<WRITETABLE> (1, 3, AS, "x")\n', "line 1: options read like AS+FL-"),
        ('<WRITETABLE> (1, 3, ZZ+, "x")\n', "line 1: unknown option ZZ"),
        ('<WRITETABLE> (1, 3, 4, "x")\n', "line 1: format 3 has no options of the number 4"),
        ('<WRITETABLE> (1, 6, 1, "x")\n', "line 1: format 6 has no options of the number 1"),
        ("<SOLVER> GUROBI\n", "line 1: unknown solver 'GUROBI'"),
        ("<OPENMICRODATA>\n", "line 1: the name of a file should stand here"),
    ],
)
def test_a_complaint_names_file_and_line(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(FormatError) as caught:
        read_batch(written(tmp_path, text))
    assert f"job.arb, {words}" in str(caught.value)


def test_all_wrong_lines_are_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"(?s)has 2 faults:.*line 1: unknown command <A>.*line 3: unknown command <B>"):
        read_batch(written(tmp_path, "<A>\n<READMICRODATA>\n<B>\n"))
