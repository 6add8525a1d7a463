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
    """Base of all our errors: `exit_code` for the command line, `http_status` for the server."""

    exit_code = 1
    http_status = 500

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(f"{message} {hint}".strip())
        self.message = message
        self.hint = hint


class InputError(StatveilError):
    exit_code, http_status = 2, 422


class UnknownColumn(InputError):
    pass


class HierarchyError(InputError):
    pass


class TableNotAdditive(InputError):
    pass


class RuleError(InputError):
    pass


class FormatError(InputError):
    pass


class InfeasibleProblem(StatveilError):
    """`explanation` is an `infeasible.explain.Explanation` where the clash was found, else None. The message holds its public words."""

    exit_code, http_status = 3, 409

    def __init__(self, message: str, *, hint: str = "", explanation: object | None = None) -> None:
        super().__init__(message, hint=hint)
        self.explanation = explanation


class OutOfTime(StatveilError):
    exit_code, http_status = 4, 504


class NoTableFound(StatveilError):
    """Nothing is proved by it: another method, another seed or wider bounds may find one."""

    exit_code, http_status = 4, 409


class AuditFailed(StatveilError):
    exit_code, http_status = 5, 409


class BackendError(StatveilError):
    exit_code, http_status = 6, 503


class BackendMissing(BackendError):
    pass


class SolverFailed(BackendError):
    pass


class EngineFailed(BackendError):
    pass


class ServerClosed(BackendError):
    """A server that does not answer, or not to us: nothing can be said of what it would have told."""


class DisclosureRefused(StatveilError):
    exit_code, http_status = 7, 403
