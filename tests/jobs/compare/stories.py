"""A village with one vet alone in a street, as a job to compare methods on."""

from __future__ import annotations

from pathlib import Path

from statveil.jobs.compare.compare import MethodRow
from statveil.jobs.compare.measures import Loss, Risk
from statveil.jobs.table_job import TableJob, read_job

RECORDS = "street,trade,income\n" + "".join(
    f"{street},{trade},{income}\n"
    for street, trade, incomes in [
        ("A", "vet", [900]), ("A", "baker", [100, 120, 140, 90]), ("B", "vet", [200, 180, 210, 190]),
        ("B", "baker", [300, 310, 280, 250]), ("C", "vet", [150, 160, 170, 140]), ("C", "baker", [700, 600, 650, 620]),
    ]
    for income in incomes
)  # fmt: skip
JOB = """
[data]
file = "village.csv"
[table]
name = "income"
{measure}
[table.dimensions]
street = "flat"
trade = "flat"
[[rule]]
type = "minimum-frequency"
n = 2
[protection]
key = "key"
[limits]
seconds = 20
"""


def village(folder: Path, *, measure: str = 'measure = "income"', more: str = "") -> TableJob:
    (folder / "village.csv").write_text(RECORDS, encoding="utf-8")
    (folder / "key").write_text("ab" * 32, encoding="ascii")
    (folder / "key").chmod(0o600)
    (folder / "job.toml").write_text(JOB.format(measure=measure) + more, encoding="utf-8")
    return read_job(folder / "job.toml")


def row(name: str, lost: float, *, close: int = 0) -> MethodRow:
    loss = Loss(cells=9, suppressed=0, moved=1, lost=lost, change=lost, broken=0, correlation=1.0, slope=1.0, variance_ratio=1.0)
    return MethodRow(name=name, words=name, seconds=1.0, loss=loss, risk=Risk(sensitive=2, close=close, exact=0, narrow=0))
