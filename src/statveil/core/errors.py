"""Every error statveil raises, in one tree.

    StatveilError
    ├── InputError            exit 2, HTTP 422   something given to us is wrong
    │   ├── UnknownColumn
    │   ├── HierarchyError
    │   ├── TableNotAdditive
    │   ├── RuleError
    │   └── FormatError
    ├── InfeasibleProblem     exit 3, HTTP 409   proved: no safe table exists under the bounds given
    ├── OutOfTime             exit 4, HTTP 504   the limit came before any safe table
    ├── NoTableFound          exit 4, HTTP 409   the method ended by itself without a safe table; one may exist
    ├── AuditFailed           exit 5, HTTP 409   the independent check found a fault: nothing is released
    ├── BackendError          exit 6, HTTP 503   a solver or an engine let us down
    │   ├── BackendMissing
    │   ├── SolverFailed
    │   ├── EngineFailed
    │   └── ServerClosed
    └── DisclosureRefused     exit 7, HTTP 403   the request itself would disclose

A message says what happened, where, and what to do next. It never holds a confidential value,
a respondent's id or a query.
"""

from __future__ import annotations


class StatveilError(Exception):
    """Base of all our errors: `exit_code` for the command line, `http_status` for the server.

    message: what happened, and where. hint: what to do next.

    >>> error = StatveilError("The folder is not empty.", hint="Name another.")
    >>> print(error, error.exit_code, error.http_status)
    The folder is not empty. Name another. 1 500
    """

    exit_code = 1
    http_status = 500

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(f"{message} {hint}".strip())
        self.message = message
        self.hint = hint


class InputError(StatveilError):
    """Something given to us is wrong.

    >>> import statveil as sv
    >>> sv.Limits(seconds=0)
    Traceback (most recent call last):
    statveil.core.errors.InputError: Limits: seconds must be a positive number.
    """

    exit_code, http_status = 2, 422


class UnknownColumn(InputError):
    """A name that is no column of the records.

    >>> import pyarrow as pa, statveil as sv
    >>> shops = sv.read_microdata(pa.table({"area": ["p"], "sales": [7]}))
    >>> sv.tabulate(shops, sv.TableSpec(dimensions={"region": None}, measure="sales"))
    Traceback (most recent call last):
    statveil.core.errors.UnknownColumn: The frame has no column 'region'. Its columns: 'area', 'sales'.
    """


class HierarchyError(InputError):
    """A tree of codes that is none.

    >>> import statveil as sv
    >>> sv.Hierarchy.from_dict({"north": "A"})
    Traceback (most recent call last):
    statveil.core.errors.HierarchyError: Below 'north' stands str. Give a dict of codes, a list of codes, or None for a leaf.
    """


class TableNotAdditive(InputError):
    """Totals that are not the sums of their parts.

    >>> import statveil as sv
    >>> sv.table_from_cells({"shop": sv.Hierarchy.flat(["A", "B"])}, {("A",): 12, ("B",): 30, ("Total",): 50})
    Traceback (most recent call last):
    statveil.core.errors.TableNotAdditive: Cell ('Total',) is not the sum of its parts along 'shop'; ...
    """


class RuleError(InputError):
    """A rule, or the office's word on a cell, that cannot be meant.

    >>> import statveil as sv
    >>> sv.PPercent(0)
    Traceback (most recent call last):
    statveil.core.errors.RuleError: PPercent: p must be more than 0 and at most 100, not 0.
    """


class FormatError(InputError):
    """A file that is not of the format its name says.

    >>> import tempfile, statveil as sv
    >>> from pathlib import Path
    >>> path = Path(tempfile.mkdtemp()) / "table.jj"
    >>> _ = path.write_text("no table\\n")
    >>> sv.read_jj(path)
    Traceback (most recent call last):
    statveil.core.errors.FormatError: table.jj, line 1: the constant 0 should stand here.
    """


class InfeasibleProblem(StatveilError):
    """Proved: no safe table exists under the bounds given. The message holds the public words of the explanation.

    explanation: a `sv.repair.Explanation` where the clash was found, else None.

    >>> error = InfeasibleProblem("No safe table exists.")
    >>> error.exit_code, error.explanation is None
    (3, True)
    """

    exit_code, http_status = 3, 409

    def __init__(self, message: str, *, hint: str = "", explanation: object | None = None) -> None:
        super().__init__(message, hint=hint)
        self.explanation = explanation


class OutOfTime(StatveilError):
    """The limit came before any safe table.

    >>> OutOfTime("Stopped before any safe table was found.").exit_code
    4
    """

    exit_code, http_status = 4, 504


class NoTableFound(StatveilError):
    """The method ended by itself without a safe table. Nothing is proved by it: another method, another seed or wider bounds may find one.

    >>> NoTableFound("No table was found within a base of every cell.").http_status
    409
    """

    exit_code, http_status = 4, 409


class AuditFailed(StatveilError):
    """The independent check found a fault: nothing is released.

    >>> AuditFailed("The independent audit found faults; nothing is released.").exit_code
    5
    """

    exit_code, http_status = 5, 409


class BackendError(StatveilError):
    """A solver, an engine or a store let us down.

    >>> all(issubclass(error, BackendError) for error in (BackendMissing, SolverFailed, EngineFailed, ServerClosed))
    True
    """

    exit_code, http_status = 6, 503


class BackendMissing(BackendError):
    """A package that what was asked needs is not installed.

    >>> print(BackendMissing("Excel files need xlsxwriter.", hint="Run: pip install 'statveil[excel]'"))
    Excel files need xlsxwriter. Run: pip install 'statveil[excel]'
    """


class SolverFailed(BackendError):
    """A solver refused, or answered what does not hold.

    >>> SolverFailed("HiGHS refused the model.").exit_code
    6
    """


class EngineFailed(BackendError):
    """The engine of the records refused, or ran out of memory.

    >>> EngineFailed("Spark ended the query.").http_status
    503
    """


class ServerClosed(BackendError):
    """A server that does not answer, or not to us: nothing can be said of what it would have told.

    >>> ServerClosed("The server does not answer.").http_status
    503
    """


class DisclosureRefused(StatveilError):
    """The request itself would disclose.

    >>> DisclosureRefused("This result is not approved.").exit_code
    7
    """

    exit_code, http_status = 7, 403
