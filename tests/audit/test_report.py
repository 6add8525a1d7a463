"""An audit shows itself: faults first."""

from __future__ import annotations

from statveil.audit.report import AuditReport, Check

REPORT = AuditReport(
    checks=(
        Check(name="sums", words="Every total is the sum of its parts", checked=4, faults=1, findings=("region = A",)),
        Check(name="zeros", words="Zeros stay zeros", checked=1200, faults=0),
    )
)


def test_the_display_names_what_failed() -> None:
    assert repr(REPORT).splitlines() == [
        "AuditReport: FAILED, 2 checks, 1,204 times done, 1 fault",
        "  FAILED Every total is the sum of its parts: 1 fault",
    ]
    assert "<td>Zeros stay zeros</td><td>1,200</td>" in REPORT._repr_html_()


def test_a_row_a_check() -> None:
    assert REPORT.to_arrow()["findings"].to_pylist() == ["region = A", ""]
    assert REPORT.to_pandas()["passed"].tolist() == [False, True]
