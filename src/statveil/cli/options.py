"""Options that several commands have in the same words."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

OutOption = Annotated[Path | None, typer.Option("--out", "-o", metavar="DIR", help="Folder to write to.", show_default=False)]
SecondsOption = Annotated[float | None, typer.Option("--seconds", metavar="S", help="Time limit of the optimisation.", show_default=False)]
GapOption = Annotated[float, typer.Option("--gap", metavar="G", help="Stop once the certified gap is this small (0.01 is 1%).")]
MethodOption = Annotated[str, typer.Option("--method", metavar="M", help="How to search; an unknown name lists the known ones.")]
SeedOption = Annotated[int, typer.Option("--seed", metavar="N", help="Seed of the random numbers.")]
WeightsOption = Annotated[str, typer.Option("--weights", metavar="file|unit|value|inverse", help="What it costs to move a cell by one.")]
VariantOption = Annotated[
    str, typer.Option("--variant", metavar="at-least|exact", help="Sensitive cells move by at least, or exactly, their level.")
]
NonAdditiveOption = Annotated[bool, typer.Option("--non-additive", help="Accept a file whose relations do not hold.")]
NegativeLevelsOption = Annotated[bool, typer.Option("--negative-levels", help="Take levels below zero as zero.")]
DelimiterOption = Annotated[
    str | None, typer.Option("--delimiter", metavar="C", help="Of a CSV file; found if not given.", show_default=False)
]
EncodingOption = Annotated[
    str | None, typer.Option("--encoding", metavar="E", help="Of a CSV file; found if not given.", show_default=False)
]
DecimalOption = Annotated[
    str | None, typer.Option("--decimal", metavar=".|,", help="Decimal mark in numbers written as text.", show_default=False)
]
AsJsonOption = Annotated[bool, typer.Option("--json", help="One JSON object on stdout, progress as JSON lines on stderr.")]
ForceOption = Annotated[bool, typer.Option("--force", help="Replace an earlier release in the folder.")]
DebugOption = Annotated[bool, typer.Option("--debug", help="Show the traceback of an internal error. It may hold confidential values.")]
