"""What each error means and what to do, for `statveil explain`."""

from __future__ import annotations

import difflib
from typing import NamedTuple

from statveil.core import errors
from statveil.core.errors import InputError


class Meaning(NamedTuple):
    what: str
    do: str


MEANINGS = {
    "InputError": Meaning(
        "Something given to statveil is wrong: a file, a key of the job, a setting, or the folder to write to.",
        "Read the key or file that the message names. `statveil new` writes a job file with every key explained.",
    ),
    "UnknownColumn": Meaning(
        "The job names a column that the data lack.",
        "Compare the spelling with the columns listed in the message; check data.delimiter if there seems to be one column only.",
    ),
    "HierarchyError": Meaning(
        "A tree of codes is not a tree, or the data hold codes that it lacks.",
        "Mend the code that the message names: one parent a code, no cycles, no code both finest and aggregate; add what is missing.",
    ),
    "TableNotAdditive": Meaning(
        "A ready table was given whose parts do not add up to its totals.",
        "Check its decimals and totals; let the totals be computed from the parts.",
    ),
    "RuleError": Meaning(
        "A rule has an impossible parameter, or asks for something that the data do not hold.",
        "See the allowed range in the message. A request or waiver rule needs table.request or table.waiver.",
    ),
    "FormatError": Meaning(
        "A file is not in the format it should be in.",
        "Go to the line that the message names. Encoding, delimiter and decimal sign can be given under [data].",
    ),
    "InfeasibleProblem": Meaning(
        "No table can be safe, additive and within the bounds at once, or keep the statistics asked as well: that is proved.",
        "The message names requirements that clash. Widen protection.bounds, drop protection.cap, unfreeze cells, or use variant "
        "'at-least' in place of 'exact'. A part [repair] in the job, or `protect FILE.jj --repair`, loosens them in a stated order.",
    ),
    "OutOfTime": Meaning(
        "The time limit came before any safe table was found.",
        "Give more time: limits.seconds in the job, or --seconds.",
    ),
    "NoTableFound": Meaning(
        "The method came to its end without a safe table. Nothing is proved by that: one may exist.",
        "Try method 'auto' or 'exact', or another seed; or widen protection.bounds or protection.cap, or unfreeze cells.",
    ),
    "AuditFailed": Meaning(
        "The independent check found a fault in the numbers, or could not be made in full; or an attack learns more than it may. Nothing "
        "is released.",
        "Where an attack is named, its line says how much it learns, and docs/attacks.md what helps. A fault found by `statveil protect` "
        "is one of statveil: report it. After `statveil check`: the files, the job or the data changed since the release, or are not where "
        "they were.",
    ),
    "BackendError": Meaning(
        "A solver or the data engine let statveil down.",
        "Run again; if it stays, look at memory and disk space, and report it.",
    ),
    "ServerClosed": Meaning(
        "A table server does not answer, or not to this key.",
        "Check its address and `/healthz`, and the API key: it must be one of this server's, with the role that the request needs.",
    ),
    "BackendMissing": Meaning(
        "A package that this job needs is not installed.",
        "Install the extra that the message names, for example: pip install 'statveil[excel]'.",
    ),
    "SolverFailed": Meaning(
        "The solver stopped without an answer or gave a wrong one.",
        "Give more time or another method (protection.method); report it with the size of the table.",
    ),
    "EngineFailed": Meaning(
        "The data engine could not read or add up the records.",
        "Look at memory and disk space; check that the columns of measure and weight hold numbers.",
    ),
    "DisclosureRefused": Meaning(
        "The request itself would disclose confidential data.",
        "Ask for a coarser table. There is no switch to override it.",
    ),
}

OTHER_CODES = {
    0: Meaning("All went well.", "Nothing."),
    1: Meaning("Internal error: a fault in statveil, not in your data. Nothing was released.", "Run again with --debug and report it."),
    130: Meaning(
        "Stopped by ctrl-C, a kill or a closed terminal before the release was complete. Nothing was released.",
        "Wait until progress shows an objective, then stop.",
    ),
}


def explanation(error: str | None) -> str:
    """What `error` (a name in any case, or an exit code) means; all of them when none is named."""
    if error is None:
        return "\n".join(f"{exit_code(name):>3}  {name:<18} {meaning.what}" for name, meaning in MEANINGS.items())
    if error.lstrip("-").isdigit():
        return _of_code(int(error))
    names = {name.lower(): name for name in MEANINGS}
    if error.lower() not in names:
        near = difflib.get_close_matches(error.lower(), names, n=1)
        guess = f" Did you mean {names[near[0]]}?" if near else ""
        raise InputError(f"There is no error {error!r}.{guess}", hint=f"Known: {', '.join(MEANINGS)}, and exit codes.")
    return _of_name(names[error.lower()])


def exit_code(name: str) -> int:
    code: int = getattr(errors, name).exit_code
    return code


def _of_name(name: str) -> str:
    meaning = MEANINGS[name]
    return f"{name} (exit code {exit_code(name)})\n  What: {meaning.what}\n  Do:   {meaning.do}"


def _of_code(code: int) -> str:
    if code in OTHER_CODES:
        return f"Exit code {code}\n  What: {OTHER_CODES[code].what}\n  Do:   {OTHER_CODES[code].do}"
    names = [name for name in MEANINGS if exit_code(name) == code]
    if not names:
        raise InputError(f"There is no exit code {code}.", hint="Known: 0 to 7, and 130.")
    return "\n".join(_of_name(name) for name in names)
