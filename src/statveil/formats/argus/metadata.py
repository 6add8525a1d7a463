"""Metadata files (.rda): which variables a file of records or a table has, where they stand, and what they are for.

Three dialects: records in columns of fixed width (`name start width missing...`), separated records (`name width missing...`, after a
first line <SEPARATOR>), and tables (`name missing...`). <SPSS> as first line stands for records in an SPSS file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Literal

from statveil.core.errors import FormatError
from statveil.formats.argus.lines import ArgusLine, Quoted, read_lines, whole, words_of

Dialect = Literal["fixed", "free", "spss", "table"]
MOST_MISSING = 2
MOST_LEVELS = 10
MOST_DISTANCES = 5
WIDEST = 10_000
DEFAULT_TOTAL = "Total"


class VariableRole(StrEnum):
    """What a variable is for, by the tag that says so."""

    RESPONSE = "NUMERIC"
    SHADOW = "SHADOW"
    COST = "COST"
    LOWER_LEVEL = "LOWERPL"
    UPPER_LEVEL = "UPPERPL"
    FREQUENCY = "FREQUENCY"
    TOP = "MAXSCORE"
    STATUS = "STATUS"
    WEIGHT = "WEIGHT"
    HOLDING = "HOLDING"
    REQUEST = "REQUEST"
    RECORD_KEY = "RECORDKEY"
    NONE = ""


OF_TABLES = (
    VariableRole.SHADOW,
    VariableRole.COST,
    VariableRole.LOWER_LEVEL,
    VariableRole.UPPER_LEVEL,
    VariableRole.FREQUENCY,
    VariableRole.TOP,
    VariableRole.STATUS,
)
OF_RECORDS = (VariableRole.WEIGHT, VariableRole.HOLDING, VariableRole.REQUEST, VariableRole.RECORD_KEY)


@dataclass(frozen=True, kw_only=True)
class ArgusVariable:
    """One variable. `start` counts from 1 and is None where fields are separated; `digits` are the characters of each level."""

    name: str
    start: int | None = None
    width: int | None = None
    missing: tuple[str, ...] = ()
    recodable: bool = False
    role: VariableRole = VariableRole.NONE
    total: str = DEFAULT_TOTAL
    codelist: str | None = None
    hierarchical: bool = False
    digits: tuple[int, ...] = ()
    tree: str | None = None
    lead: str = "@"
    distances: tuple[int, ...] = ()
    decimals: int = 0
    requests: tuple[str, ...] = ()
    truncable: bool = False
    extra: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Tags of the cell key method, with the words after them: kept, never used."""
    line: ArgusLine | None = field(default=None, compare=False, repr=False)

    @property
    def numeric(self) -> bool:
        return self.role in (
            VariableRole.RESPONSE,
            VariableRole.SHADOW,
            VariableRole.COST,
            VariableRole.LOWER_LEVEL,
            VariableRole.UPPER_LEVEL,
            VariableRole.TOP,
            VariableRole.WEIGHT,
        )


@dataclass(frozen=True, kw_only=True)
class Metadata:
    """All variables of a file, in its order. `safe`, `unsafe` and `protect` are the letters of a table's statuses."""

    dialect: Dialect
    variables: tuple[ArgusVariable, ...]
    separator: str = ";"
    safe: str = "S"
    unsafe: str = "U"
    protect: str = "P"
    path: Path | None = field(default=None, compare=False)

    def find(self, name: str) -> ArgusVariable | None:
        """Names are compared without regard to case, as tau-ARGUS does."""
        same = [variable for variable in self.variables if variable.name == name]
        alike = [variable for variable in self.variables if variable.name.casefold() == name.casefold()]
        return next(iter([*same, *alike]), None)

    def of_role(self, role: VariableRole) -> list[ArgusVariable]:
        return [variable for variable in self.variables if variable.role is role]

    def fault(self, words: str, *, variable: ArgusVariable | None = None, hint: str = "") -> FormatError:
        """A complaint about the file, at the variable's line or at its first."""
        line = (
            variable.line
            if variable and variable.line
            else ArgusLine(file=self.path.name if self.path else "The metadata", number=1, text="")
        )
        return line.fault(words, hint=hint)


def read_metadata(path: str | Path, *, table: bool | None = None) -> Metadata:
    """Read a .rda file; `table` says whether it describes a table or records, None looks at its tags."""
    path = Path(path)
    lines = read_lines(path)
    if not lines:
        raise FormatError(f"{path.name}, line 1: the file is empty.", hint="It must name the variables.")
    if table is None:
        table = _looks_like_table(lines)
    metadata = _Reader(table=table).read(lines)
    return replace(metadata, path=path)


def _looks_like_table(lines: list[ArgusLine]) -> bool:
    tags = {tag.upper() for line in lines for tag in words_of(line) if _is_tag(tag)}
    if tags & {f"<{role}>" for role in OF_TABLES} or tags & {"<SAFE>", "<UNSAFE>", "<PROTECT>", "<COSTVAR>"}:
        return True
    heads = [words for words in map(words_of, lines) if words and not _is_tag(words[0])]
    return "<SEPARATOR>" in tags and not any(len(words) > 1 and words[1].isdigit() for words in heads)


class _Reader:
    """Lines to metadata: file tags first, then variables with their tags."""

    def __init__(self, *, table: bool) -> None:
        self.table = table
        self.dialect: Dialect = "table" if table else "fixed"
        self.file_words: dict[str, str] = {}
        self.variables: list[ArgusVariable] = []

    def read(self, lines: list[ArgusLine]) -> Metadata:
        for place, line in enumerate(lines):
            words = words_of(line)
            if not words:
                continue
            tags = next((at for at, word in enumerate(words) if _is_tag(word)), len(words))
            if tags:  # a line may open a variable and name tags of it at once
                self.variables.append(self._variable(line, words[:tags]))
            if words[tags:]:
                self._tag(line, _split_tags(words[tags:]), first=place == 0)
        if not self.variables:
            raise lines[-1].fault("the file names no variable", hint="A line that does not begin with < opens a variable.")
        letters = {tag: self.file_words.get(tag, default) for tag, default in _DEFAULTS.items()}
        return Metadata(
            dialect=self.dialect,
            variables=tuple(self.variables),
            separator=letters["separator"],
            safe=letters["safe"],
            unsafe=letters["unsafe"],
            protect=letters["protect"],
        )

    def _variable(self, line: ArgusLine, words: list[str]) -> ArgusVariable:
        name, rest = words[0], words[1:]
        if any(name.casefold() == other.name.casefold() for other in self.variables):
            raise line.fault(f"variable {name!r} is there twice")
        numbers: dict[str, int] = {}
        for what in {"fixed": ("start", "width"), "free": ("width",), "spss": ("start", "width")}.get(self.dialect, ()):
            if not rest:
                raise line.fault(f"variable {name!r} has no {what}", hint="See the dialects of .rda files in the documentation.")
            numbers[what] = whole(line, rest.pop(0), what, least=1 if self.dialect == "fixed" else 0, most=WIDEST)
        if len(rest) > MOST_MISSING:
            raise line.fault(f"variable {name!r} has more than two missing values")
        missing = tuple(word for word in rest if word.strip())
        return ArgusVariable(name=name, start=numbers.get("start"), width=numbers.get("width"), missing=missing, line=line)

    def _tag(self, line: ArgusLine, tags: list[tuple[str, list[str]]], *, first: bool) -> None:
        for tag, words in tags:
            if tag in _FILE_TAGS:
                self._file_tag(line, tag, words, first=first)
            elif not self.variables:
                raise line.fault(f"<{tag}> stands before any variable", hint="A variable comes first, its tags below it.")
            else:
                self.variables[-1] = self._qualified(line, self.variables[-1], tag, words)

    def _file_tag(self, line: ArgusLine, tag: str, words: list[str], *, first: bool) -> None:
        if tag == "SPSS" and first and not self.table:
            self.dialect = "spss"
        elif tag == "SEPARATOR" and (first or self.table):
            self.file_words["separator"] = _separator(line, words)
            self.dialect = "table" if self.table else "free"
        elif self.table and tag in ("SAFE", "UNSAFE", "PROTECT") and len(words) == 1:
            self.file_words[tag.lower()] = words[0]
        else:
            raise line.fault(f"<{tag}> is not allowed here")

    def _qualified(self, line: ArgusLine, variable: ArgusVariable, tag: str, words: list[str]) -> ArgusVariable:
        if tag in _ROLES:
            return self._with_role(line, variable, _ROLES[tag], words)
        if tag in _EXTRA:
            return replace(variable, extra={**variable.extra, tag: tuple(words)})
        if tag not in _SETTERS:
            raise line.fault(f"unknown tag <{tag[:40]}>", hint=f"Known: {', '.join(sorted({*_SETTERS, *_ROLES, *_FILE_TAGS, *_EXTRA}))}.")
        return _SETTERS[tag](line, variable, words)

    def _with_role(self, line: ArgusLine, variable: ArgusVariable, role: VariableRole, words: list[str]) -> ArgusVariable:
        if role in (OF_RECORDS if self.table else OF_TABLES):
            raise line.fault(f"<{role}> does not belong to {'a table' if self.table else 'records'}")
        if role is VariableRole.REQUEST:
            variable = replace(variable, requests=tuple(words))
        elif words:
            raise line.fault(f"unknown word after <{role}>")
        # A weight or a level is numeric as well, whichever tag comes first.
        return variable if role is VariableRole.RESPONSE and variable.role else replace(variable, role=role)


def _is_tag(word: str) -> bool:
    return word.startswith("<") and not isinstance(word, Quoted)


def _split_tags(words: list[str]) -> list[tuple[str, list[str]]]:
    """Tags with the words after each: `<NUMERIC> <SHADOW>` are two on one line."""
    tags: list[tuple[str, list[str]]] = []
    for word in words:
        if _is_tag(word):
            tags.append((word[1:].removesuffix(">").upper(), []))
        else:
            tags[-1][1].append(word)
    return tags


def _separator(line: ArgusLine, words: list[str]) -> str:
    marks = [{"\\t": "\t", "TAB": "\t"}.get(word, word) for word in words]
    if not marks and line.text.rstrip().endswith("\t"):
        marks = ["\t"]
    if '"\t"' in line.text:
        marks = ["\t"]
    if len(marks) != 1 or len(marks[0]) != 1 or marks[0] == '"' or marks[0].isalnum():
        raise line.fault("the separator must be one character", hint='For example: <SEPARATOR> ";".')
    return marks[0]


def _one(line: ArgusLine, tag: str, words: list[str]) -> str:
    if len(words) != 1:
        raise line.fault(f"<{tag}> takes one word", hint="Put quotation marks around a name with blanks in it.")
    return words[0]


def _file(line: ArgusLine, tag: str, words: list[str]) -> str:
    """A name with blanks in it may stand without quotation marks, as some programs write it."""
    return _one(line, tag, words if any(isinstance(word, Quoted) for word in words) else [" ".join(words)])


def _numbers(line: ArgusLine, tag: str, words: list[str], *, at_most: int) -> tuple[int, ...]:
    if not 0 < len(words) <= at_most:
        raise line.fault(f"<{tag}> takes one to {at_most} numbers")
    return tuple(whole(line, word, f"<{tag}>", most=WIDEST) for word in words)


def _digits(line: ArgusLine, variable: ArgusVariable, words: list[str]) -> ArgusVariable:
    levels = _numbers(line, "HIERLEVELS", words, at_most=MOST_LEVELS)
    used = tuple(level for level in levels if level)
    if not used or levels[: len(used)] != used:
        raise line.fault("<HIERLEVELS> must be one or more positive numbers, then zeros")
    if variable.width and sum(used) != variable.width:
        raise line.fault(f"<HIERLEVELS> adds up to {sum(used)}, but codes of {variable.name!r} have {variable.width} characters")
    return replace(variable, hierarchical=True, digits=used)


_DEFAULTS = {"separator": ";", "safe": "S", "unsafe": "U", "protect": "P"}
_FILE_TAGS = ("SEPARATOR", "SPSS", "SAFE", "UNSAFE", "PROTECT")
_OF_MU_ARGUS = ("IDLEVEL", "SUPPRESSWEIGHT", "SUPPRESSPRIORITY", "HOUSE_ID", "HOUSEHOLD")
"""What the sister program says of a variable: nothing about tables."""
_EXTRA = ("PFILE", "PFILE_FREQ", "PFILE_CONT", "PFILE_SEP", "CKM", "INCLUDEZEROS", "PARITY", "SEPARATION", "SCALING", *_OF_MU_ARGUS)
_ROLES = {str(role): role for role in VariableRole if role} | {"COSTVAR": VariableRole.COST}
_SETTERS: Mapping[str, Callable[[ArgusLine, ArgusVariable, list[str]], ArgusVariable]] = {
    "RECODEABLE": lambda _line, variable, _words: replace(variable, recodable=True),
    "RECODABLE": lambda _line, variable, _words: replace(variable, recodable=True),
    "TRUNCABLE": lambda _line, variable, _words: replace(variable, truncable=True),
    "HIERARCHICAL": lambda _line, variable, _words: replace(variable, hierarchical=True),
    "TOTCODE": lambda line, variable, words: replace(variable, total=_one(line, "TOTCODE", words or [""]) or DEFAULT_TOTAL),
    "CODELIST": lambda line, variable, words: replace(variable, codelist=_file(line, "CODELIST", words)),
    "HIERCODELIST": lambda line, variable, words: replace(variable, hierarchical=True, tree=_file(line, "HIERCODELIST", words)),
    "HIERLEADSTRING": lambda line, variable, words: replace(variable, lead=_one(line, "HIERLEADSTRING", words) or "@"),
    "HIERLEVELS": _digits,
    "DISTANCE": lambda line, variable, words: replace(variable, distances=_numbers(line, "DISTANCE", words, at_most=MOST_DISTANCES)),
    "DECIMALS": lambda line, variable, words: replace(variable, decimals=whole(line, _one(line, "DECIMALS", words), "<DECIMALS>", most=20)),
}


def write_metadata(metadata: Metadata, path: str | Path) -> None:
    """Write a .rda file that reads back to the same metadata."""
    with Path(path).open("w", encoding="utf-8", newline="\r\n") as file:
        file.writelines(f"{line}\n" for line in metadata_lines(metadata))


def metadata_lines(metadata: Metadata) -> list[str]:
    lines = []
    if metadata.dialect == "spss":
        lines.append("<SPSS>")
    if metadata.dialect in ("free", "table"):
        lines.append(f"<SEPARATOR> {_quoted(metadata.separator)}")
    if metadata.dialect == "table":
        lines += [f"<{tag}> {_quoted(getattr(metadata, tag.lower()))}" for tag in ("SAFE", "UNSAFE", "PROTECT")]
    for variable in metadata.variables:
        lines += _variable_lines(variable, metadata.dialect)
    return lines


def _variable_lines(variable: ArgusVariable, dialect: Dialect) -> list[str]:
    numbers = {"fixed": [variable.start, variable.width], "spss": [variable.start, variable.width], "free": [variable.width]}.get(
        dialect, []
    )
    head = [_quoted(variable.name), *map(str, numbers), *map(_quoted, variable.missing)]
    return [" ".join(head), *(f"    {tag}" for tag in _tag_lines(variable, dialect))]


def _tag_lines(variable: ArgusVariable, dialect: Dialect) -> list[str]:
    words = {
        "TOTCODE": [variable.total] if variable.recodable else [],
        "CODELIST": [variable.codelist] if variable.codelist else [],
        "HIERLEVELS": list(map(str, variable.digits)),
        "HIERCODELIST": [variable.tree] if variable.tree else [],
        "HIERLEADSTRING": [variable.lead] if variable.tree else [],
        "DISTANCE": list(map(str, variable.distances)),
        "DECIMALS": [str(variable.decimals)] if variable.decimals else [],
        **variable.extra,
    }
    lines = ["<RECODEABLE>"] if variable.recodable else []
    lines += ["<HIERARCHICAL>"] if variable.hierarchical else []
    lines += ["<TRUNCABLE>"] if variable.truncable else []
    lines += [_role_line(variable, dialect)] if variable.role else []
    return lines + [f"<{tag}> {' '.join(_tag_word(tag, word) for word in given)}" for tag, given in words.items() if given]


def _role_line(variable: ArgusVariable, dialect: Dialect) -> str:
    """A table's numbers are <NUMERIC> <ROLE>; the response is <NUMERIC> alone."""
    if variable.role is VariableRole.REQUEST:
        return " ".join(["<REQUEST>", *map(_quoted, variable.requests)])
    plain = variable.role in (VariableRole.RESPONSE, VariableRole.FREQUENCY, VariableRole.TOP, VariableRole.STATUS) or dialect != "table"
    return f"<{variable.role}>" if plain else f"<NUMERIC> <{variable.role}>"


def _tag_word(tag: str, word: str) -> str:
    return word if tag in ("HIERLEVELS", "DISTANCE", "DECIMALS", "CKM", "SCALING") else _quoted(word)


def _quoted(word: str) -> str:
    if '"' in word or "\n" in word or "\r" in word:
        raise FormatError(f"A .rda file cannot hold the name {word!r}: it has a quotation mark or a line end in it.", hint="Rename it.")
    return f'"{word}"'
