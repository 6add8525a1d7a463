"""A batch file (.arb) as typed commands. Reading it checks the words of every line, not yet what they refer to."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import NamedTuple

from statveil.core.errors import FormatError, InputError, StatveilError
from statveil.formats.argus.lines import ArgusLine, read_lines

_NUMBER = re.compile(r"-?(\d{1,15}\.?\d{0,15}|\.\d{1,15})")


class BatchTuning(NamedTuple):
    """What is refused in a batch file."""

    most_tables: int = 1000
    """By judgement."""


TUNING = BatchTuning()


@dataclass(frozen=True, kw_only=True)
class Command:
    line: ArgusLine = field(compare=False, repr=False)


@dataclass(frozen=True, kw_only=True)
class OpenData(Command):
    file: str
    table: bool


@dataclass(frozen=True, kw_only=True)
class OpenMetadata(Command):
    file: str


@dataclass(frozen=True, kw_only=True)
class SpecifyTable(Command):
    """Response `<freq>` counts. `cost` is a variable or "-1" frequency, "-2" unity, "-3" distance; `power` is tau-ARGUS's lambda."""

    dimensions: tuple[str, ...]
    response: str
    shadow: str | None = None
    cost: str | None = None
    power: Decimal = Decimal(1)


@dataclass(frozen=True, kw_only=True)
class RuleCall:
    name: str
    numbers: tuple[Decimal, ...]


@dataclass(frozen=True, kw_only=True)
class SafetyRule(Command):
    rules: tuple[RuleCall, ...]


@dataclass(frozen=True, kw_only=True)
class ReadMicrodata(Command):
    pass


@dataclass(frozen=True, kw_only=True)
class ReadTable(Command):
    """`totals`: 0 check them, 1 add them up anew, 2 allow what does not add up. A T or F after it changes nothing: statuses stay."""

    totals: int = 0


@dataclass(frozen=True, kw_only=True)
class UseApriori(Command):
    file: str
    table: int
    separator: str
    ignore_errors: bool = True
    expand: bool = False


@dataclass(frozen=True, kw_only=True)
class Recode(Command):
    table: int
    variable: str
    by: str


@dataclass(frozen=True, kw_only=True)
class Suppress(Command):
    method: str
    table: int
    arguments: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class WriteTable(Command):
    table: int
    format: int
    options: Mapping[str, bool]
    file: str


@dataclass(frozen=True, kw_only=True)
class Solver(Command):
    name: str


@dataclass(frozen=True, kw_only=True)
class Note(Command):
    """LOGBOOK or VERSIONINFO: a file to write about the run."""

    name: str
    file: str


@dataclass(frozen=True, kw_only=True)
class Plain(Command):
    """A command without arguments of ours: CLEAR, SILENT, GOINTERACTIVE and what tau-ARGUS keeps for itself."""

    name: str


@dataclass(frozen=True, kw_only=True)
class Faulty(Command):
    """A line whose words are wrong: `name` is its command where it has a known one."""

    name: str
    fault: FormatError


@dataclass(frozen=True, kw_only=True)
class Batch:
    path: Path = field(compare=False)
    commands: tuple[Command, ...]

    @property
    def faults(self) -> tuple[FormatError, ...]:
        return tuple(each.fault for each in self.commands if isinstance(each, Faulty))


OPTIONS = ("HL", "SO", "AR", "HI", "AS", "SE", "FL", "QU", "TR", "AO", "AD", "AC")
_NUMBERED: Mapping[int, Sequence[Mapping[str, bool]]] = {
    2: ({}, {"AS": True}),
    3: ({}, {"AS": True}, {"SE": True}, {"AS": True, "SE": True}),
    4: ({}, {"HL": True}),
    5: ({"SO": True}, {"SO": False}),
}
"""What a number in place of options means, by format: batch files of tau-ARGUS 3 have them. Elsewhere 0 alone is known."""
RULES = {"P": (1, 3), "NK": (2, 2), "FREQ": (2, 2), "ZERO": (1, 1), "REQ": (3, 4), "WGT": (1, 1), "MIS": (1, 1), "MAN": (1, 1)}
SUPPRESSION_METHODS = ("GH", "MOD", "OPT", "NET", "RND", "CTA", "CKM")


def scan_batch(path: str | Path) -> Batch:
    """Read a .arb file; lines with wrong words are kept as `Faulty` commands, so that the lines after them can be looked at too."""
    path = Path(path)
    lines = [(line, line.text.replace("\t", " ").strip()) for line in read_lines(path)]
    commands = tuple(_command(line, text) for line, text in lines if not text.startswith(("//", "\\\\")))
    if not commands:
        raise FormatError(f"{path.name}, line 1: the batch file has no command.", hint="Is it cut off?")
    return Batch(path=path, commands=commands)


def together(faults: Sequence[StatveilError]) -> StatveilError:
    """One fault as it is; several in one message, each with its line: whoever mends a file wants to know all of it."""
    if len(faults) == 1:
        return faults[0]
    kinds = {type(fault) for fault in faults}
    kind = kinds.pop() if len(kinds) == 1 else InputError
    return kind(f"The batch file has {len(faults)} faults:\n" + "\n".join(f"  {fault}" for fault in faults))


def _command(line: ArgusLine, text: str) -> Command:
    found = re.match(r"<([A-Za-z]{1,30})>", text)
    name = found[1].upper() if found else ""
    try:
        if not found:
            raise line.fault("a command begins with its name in angle brackets", hint="Comments begin with //.")
        if name not in _READERS:
            raise line.fault(f"unknown command <{name}>", hint=f"Known: {', '.join(sorted(_READERS))}.")
        return _READERS[name](line, name, text[found.end() :].strip())
    except FormatError as fault:
        return Faulty(line=line, name=name, fault=fault)


def split(line: ArgusLine, text: str, mark: str) -> list[str]:
    """Parts between marks; a mark inside quotation marks or parentheses does not part."""
    parts: list[str] = []
    begin, depth, quoted = 0, 0, False
    for at, sign in enumerate(text):
        quoted ^= sign == '"'
        depth += 0 if quoted else (sign == "(") - (sign == ")")
        if depth < 0:
            raise line.fault("a ) without its (")
        if sign == mark and not quoted and not depth:
            parts.append(text[begin:at].strip())
            begin = at + 1
    if quoted or depth:
        raise line.fault("a quotation mark or a ( is not closed")
    return [*parts, text[begin:].strip()]


def _unquoted(text: str) -> str:
    return text[1:-1] if len(text) >= 2 and text[0] == text[-1] == '"' else text


def _file(line: ArgusLine, text: str) -> str:
    name = _unquoted(text)
    if not name.strip() or '"' in name:
        raise line.fault("the name of a file should stand here", hint="Put quotation marks around a name with blanks in it.")
    return name


def _table(line: ArgusLine, text: str, *, least: int = 1) -> int:
    if not re.fullmatch(r"\d{1,4}", text) or not least <= int(text) <= TUNING.most_tables:
        raise line.fault(f"the number of a table should stand here, not {text[:20]!r}")
    return int(text)


def _number(line: ArgusLine, text: str) -> Decimal:
    if not _NUMBER.fullmatch(text):
        raise line.fault(f"a number should stand here, not {text[:20]!r}")
    return Decimal(text)


def _call(line: ArgusLine, text: str) -> tuple[str, list[str]]:
    """`NAME(argument, argument)`."""
    found = re.fullmatch(r"([A-Za-z]*)\s*\((.*)\)", text)
    if not found:
        raise line.fault("a name and parentheses should stand here", hint="For example: CTA(1).")
    return found[1].upper(), split(line, found[2], ",")


def _flag(line: ArgusLine, text: str) -> bool:
    if text not in ("0", "1"):
        raise line.fault(f"0 or 1 should stand here, not {text[:20]!r}")
    return text == "1"


def _specify(line: ArgusLine, _name: str, rest: str) -> SpecifyTable:
    parts = split(line, rest, "|")
    dimensions = re.findall(r'"([^"]*)"|([^"\s]+)', parts[0])
    names = tuple(quoted or bare for quoted, bare in dimensions)
    if not names or not all(names) or not 2 <= len(parts) <= 5 or not _unquoted(parts[1]):
        raise line.fault('a table reads "v1""v2"|"response"|"shadow"|"cost"|lambda, the last three if needed')
    response, shadow, cost, last = [*parts[1:], "", "", ""][:4]
    cost, *power = split(line, cost, ",")  # lambda may stand after a comma too
    if len(power) > 1 or (power and last):
        raise line.fault("lambda is given twice")
    wanted = last or "".join(power)
    return SpecifyTable(
        line=line,
        dimensions=names,
        response=_unquoted(response),
        shadow=_unquoted(shadow) or None,
        cost=_unquoted(cost) or None,
        power=_number(line, _unquoted(wanted)) if wanted else Decimal(1),
    )


def _rules(line: ArgusLine, _name: str, rest: str) -> SafetyRule:
    calls = [_call(line, part) for part in split(line, rest, "|") if part]
    for name, words in calls:
        if name not in RULES:
            raise line.fault(f"unknown rule {name}", hint=f"Known: {', '.join(RULES)}.")
        least, most = RULES[name]
        if not least <= len(words) <= most:
            raise line.fault(f"the rule {name} takes {least if least == most else f'{least} to {most}'} numbers, not {len(words)}")
    found = [RuleCall(name=name, numbers=tuple(_number(line, word) for word in words)) for name, words in calls]
    if any(number < 0 for rule in found for number in rule.numbers):
        raise line.fault("a number of a rule is below zero")
    return SafetyRule(line=line, rules=tuple(found))


def _read_table(line: ArgusLine, _name: str, rest: str) -> ReadTable:
    found = re.fullmatch(r"([012])?\s*[TtFf]?", rest)
    if not found:
        raise line.fault("READTABLE takes 0, 1 or 2, perhaps with T or F")
    return ReadTable(line=line, totals=int(found[1] or 0))


def _apriori(line: ArgusLine, _name: str, rest: str) -> UseApriori:
    parts = split(line, rest, ",")
    if not 3 <= len(parts) <= 5:
        raise line.fault('an a-priori file reads "file", table, "separator", ignore errors (0, 1), expand (0, 1), the last two if needed')
    separator = _unquoted(parts[2])
    if len(separator) != 1:
        raise line.fault("the separator must be one character in quotation marks")
    flags = [_flag(line, part) if part else default for part, default in zip(parts[3:], (True, False), strict=False)]
    ignore, expand = [*flags, *(True, False)[len(flags) :]]
    return UseApriori(
        line=line, file=_file(line, parts[0]), table=_table(line, parts[1]), separator=separator, ignore_errors=ignore, expand=expand
    )


def _recode(line: ArgusLine, _name: str, rest: str) -> Recode:
    parts = split(line, rest, ",")
    if len(parts) != 3 or not _unquoted(parts[1]):
        raise line.fault("a recoding reads: table, variable, file or level")
    return Recode(line=line, table=_table(line, parts[0]), variable=_unquoted(parts[1]), by=_file(line, parts[2]))


def _suppress(line: ArgusLine, _name: str, rest: str) -> Suppress:
    if rest.upper().startswith("CKM") and ")" in rest:
        rest = rest[: rest.index(")") + 1]  # names of files may follow
    method, words = _call(line, rest)
    if method not in SUPPRESSION_METHODS:
        raise line.fault(f"unknown method {method}", hint=f"Known: {', '.join(SUPPRESSION_METHODS)}.")
    return Suppress(line=line, method=method, table=_table(line, words[0], least=0), arguments=tuple(words[1:]))


def _write(line: ArgusLine, _name: str, rest: str) -> WriteTable:
    name, words = _call(line, rest)
    if name or len(words) != 4:
        raise line.fault('a table to write reads (table, format, options, "file")')
    if words[1] not in list("1234567"):
        raise line.fault("the format must be a number from 1 to 7")
    chosen = int(words[1])
    options = _numbered(line, chosen, int(words[2])) if re.fullmatch(r"\d{1,3}", words[2]) else _options(line, words[2])
    return WriteTable(line=line, table=_table(line, words[0]), format=chosen, options=options, file=_file(line, words[3]))


def _numbered(line: ArgusLine, chosen: int, number: int) -> Mapping[str, bool]:
    known = _NUMBERED.get(chosen, ({},))
    if number >= len(known):
        raise line.fault(f"format {chosen} has no options of the number {number}", hint="Options read like AS+FL-.")
    return known[number]


def _options(line: ArgusLine, text: str) -> dict[str, bool]:
    found = re.findall(r"([A-Z]{2})\s*([+-])\s*", text.upper())
    if "".join(f"{name}{sign}" for name, sign in found) != re.sub(r"\s", "", text.upper()):
        raise line.fault(f"options read like AS+FL-, not {text[:40]!r}")
    unknown = [name for name, _ in found if name not in OPTIONS]
    if unknown:
        raise line.fault(f"unknown option {unknown[0]}", hint=f"Known: {', '.join(OPTIONS)}.")
    return {name: sign == "+" for name, sign in found}


def _solver(line: ArgusLine, _name: str, rest: str) -> Solver:
    name = split(line, rest, ",")[0].upper()
    if name not in ("CPLEX", "XPRESS", "FREE"):
        raise line.fault(f"unknown solver {name[:20]!r}", hint="Known: CPLEX, XPRESS, FREE.")
    return Solver(line=line, name=name)


_READERS: Mapping[str, Callable[[ArgusLine, str, str], Command]] = {
    "OPENMICRODATA": lambda line, _name, rest: OpenData(line=line, file=_file(line, rest), table=False),
    "OPENTABLEDATA": lambda line, _name, rest: OpenData(line=line, file=_file(line, rest), table=True),
    "OPENMETADATA": lambda line, _name, rest: OpenMetadata(line=line, file=_file(line, rest)),
    "SPECIFYTABLE": _specify,
    "SAFETYRULE": _rules,
    "READMICRODATA": lambda line, _name, _rest: ReadMicrodata(line=line),
    "READTABLE": _read_table,
    "APRIORI": _apriori,
    "APRIORY": _apriori,
    "RECODE": _recode,
    "SUPPRESS": _suppress,
    "WRITETABLE": _write,
    "SOLVER": _solver,
    "LOGBOOK": lambda line, name, rest: Note(line=line, name=name, file=_file(line, rest)),
    "VERSIONINFO": lambda line, name, rest: Note(line=line, name=name, file=_file(line, rest)),
    **dict.fromkeys(("CLEAR", "SILENT", "GOINTERACTIVE", "ANCO", "COVER", "JJ"), lambda line, name, _rest: Plain(line=line, name=name)),
}
