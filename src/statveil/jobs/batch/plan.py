"""A batch file checked from its first line to its last before anything runs: order, files, variables, and what we do not do.

A command that statveil does not carry out is refused by its name. Nothing is skipped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from statveil.core.errors import InputError, StatveilError
from statveil.formats.argus.apriori import Action, Apriori, read_apriori
from statveil.formats.argus.batch_commands import (
    Batch,
    Command,
    Faulty,
    Note,
    OpenData,
    OpenMetadata,
    Plain,
    ReadMicrodata,
    ReadTable,
    Recode,
    SafetyRule,
    Solver,
    SpecifyTable,
    Suppress,
    UseApriori,
    WriteTable,
    together,
)
from statveil.formats.argus.lines import ArgusLine, base_name, find_file
from statveil.formats.argus.metadata import ArgusVariable, Metadata, VariableRole, read_metadata
from statveil.formats.argus.tab import FREQUENCY_RESPONSE
from statveil.formats.argus.trees import read_recoding
from statveil.jobs.batch.recode import Recoder
from statveil.jobs.batch.rounding_wish import rounding_wish
from statveil.jobs.batch.rules import RuleSet, rule_set
from statveil.jobs.batch.suppression_wish import BY_WORD, LINKABLE, suppression_ask

FORMATS = {1: "CSV", 2: "pivot", 3: "code-value", 4: "SBS", 5: "intermediate", 6: "JJ", 7: "cell key"}
INTERMEDIATE = 5
PUBLIC_FORMATS = (1, 2, 3)
"""Formats that withhold or adjust unsafe values, so that somebody may publish them."""


_NOT_AFTER = {"CTA": (4, 5), "RND": (4, 5, 6)}
"""Formats without a place for what a method made of the values, as in tau-ARGUS."""


@dataclass(frozen=True, kw_only=True)
class TablePlan:
    """One table: where it comes from and by which rules. `read` is None until the data are read."""

    number: int
    data: Path
    metadata: Metadata
    ready: bool
    spec: SpecifyTable
    rules: RuleSet
    folders: tuple[Path, ...]
    read: ReadTable | None = None
    recodings: Mapping[str, Recoder] = field(default_factory=dict)
    """By the name of the variable; the last one counts."""

    @property
    def variables(self) -> list[ArgusVariable]:
        return [variable for variable in (self.metadata.find(name) for name in self.spec.dimensions) if variable]

    @property
    def counts(self) -> bool:
        return self.spec.response.casefold() == FREQUENCY_RESPONSE


@dataclass(frozen=True, kw_only=True)
class AprioriStep:
    table: int
    lines: tuple[Apriori, ...]
    command: UseApriori


@dataclass(frozen=True, kw_only=True)
class SuppressStep:
    """Tables that are protected together: one, or all of them linked."""

    tables: tuple[int, ...]
    command: Suppress


@dataclass(frozen=True, kw_only=True)
class WriteStep:
    table: int
    file: Path
    command: WriteTable


Step = AprioriStep | SuppressStep | WriteStep


@dataclass(frozen=True, kw_only=True)
class BatchSession:
    """Tables and the steps that follow; CLEAR begins a new one."""

    tables: tuple[TablePlan, ...]
    steps: tuple[Step, ...]


@dataclass(frozen=True, kw_only=True)
class BatchPlan:
    sessions: tuple[BatchSession, ...]
    log: Path | None = None
    version_files: tuple[Path, ...] = ()
    sources: tuple[Path, ...] = ()
    report: Path | None = None
    """The status report that GOINTERACTIVE asks for: it ends a batch where tau-ARGUS would show its tables."""

    @property
    def targets(self) -> list[Path]:
        steps = [step for session in self.sessions for step in session.steps if isinstance(step, WriteStep)]
        beside = [step.file.with_suffix(".rda") for step in steps if step.command.format == INTERMEDIATE]
        return [*(step.file for step in steps), *beside, *(each for each in (self.log, self.report) if each), *self.version_files]


def make_plan(batch: Batch, *, out: Path | None = None, data: Path | None = None) -> BatchPlan:
    """Check everything that can be checked before the data are read; all faults are told at once, what follows from another is not."""
    planner = _Planner(batch.path, out or batch.path.parent, [batch.path.parent, *([data] if data else [])])
    faults: list[StatveilError] = []
    for command in batch.commands:
        if planner.report is not None:
            faults.append(command.line.fault("nothing may follow GOINTERACTIVE", hint="It ends a batch."))
            break
        try:
            planner.take(command)
        except StatveilError as fault:
            faults.append(fault)
            planner.open.broken = True
    if not faults:
        return planner.finish()
    raise together(faults)


def refused(line: ArgusLine, what: str, *, hint: str = "") -> InputError:
    return InputError(f"{line.file}, line {line.number}: {what} is not done by statveil.", hint=hint)


@dataclass
class _Open:
    """What the lines so far have opened."""

    data: OpenData | None = None
    data_file: Path | None = None
    metadata: Metadata | None = None
    spec: SpecifyTable | None = None
    rule: SafetyRule | None = None
    tables: list[TablePlan] = field(default_factory=list)
    read: bool = False
    steps: list[Step] = field(default_factory=list)
    broken: bool = False
    """A line before was wrong: what the lines after it would find open cannot be told, and is not asked."""


class _Planner:
    def __init__(self, path: Path, out: Path, folders: Sequence[Path]) -> None:
        self.path, self.out, self.folders = path, out, tuple(folders)
        self.open = _Open()
        self.sessions: list[BatchSession] = []
        self.log: Path | None = None
        self.version_files: list[Path] = []
        self.sources: list[Path] = [path]
        self.report: Path | None = None

    def take(self, command: Command) -> None:  # noqa: C901, PLR0912 - one line for each command
        match command:
            case Faulty():
                raise command.fault
            case OpenData():
                self._open_data(command)
            case OpenMetadata():
                self._open_metadata(command)
            case SpecifyTable():
                self._specify(command)
            case SafetyRule():
                self._rule(command)
            case ReadMicrodata() | ReadTable():
                self._read(command)
            case UseApriori():
                self._apriori(command)
            case Suppress():
                self._suppress(command)
            case WriteTable():
                self._write(command)
            case Recode():
                self._recode(command)
            case Solver(name=name) if name != "FREE":
                raise refused(command.line, f"SOLVER {name}", hint="statveil has its own solvers: write FREE, or leave the line out.")
            case Note(name="LOGBOOK"):
                self.log = self._target(command.file)
            case Note():
                self.version_files.append(self._target(command.file))
            case Plain(name="CLEAR"):
                self._close()
            case Plain(name="GOINTERACTIVE"):
                self._settle_table()
                self.report = self.out / f"{self.path.stem}_status.txt"
            case Plain(name=name) if name != "SILENT":
                raise refused(command.line, name)
            case _:
                pass

    def finish(self) -> BatchPlan:
        self._close()
        if not self.sessions or not (self.report or any(session.steps for session in self.sessions)):
            raise InputError(f"{self.path.name} writes nothing.", hint="Add a WRITETABLE command.")
        return BatchPlan(
            sessions=tuple(self.sessions),
            log=self.log,
            version_files=tuple(self.version_files),
            sources=tuple(self.sources),
            report=self.report,
        )

    def _close(self) -> None:
        self._settle_table()
        if self.open.tables and not self.open.read and not self.open.broken:
            raise InputError(f"{self.path.name} specifies tables that it never reads.", hint="Add READMICRODATA or READTABLE.")
        if self.open.tables:
            self.sessions.append(BatchSession(tables=tuple(self.open.tables), steps=tuple(self.open.steps)))
        self.open = _Open()

    def _in_order(self, command: Command, holds: object, words: str, *, hint: str = "") -> None:
        if not holds and not self.open.broken:
            raise command.line.fault(words, hint=hint)

    def _open_data(self, command: OpenData) -> None:
        file = self._existing(command.line, command.file)
        if command.table:
            self._imply_table(command)
        self._settle_table()
        now = self.open
        free = not now.read and not now.data and (not now.tables or (command.table and now.tables[0].ready))
        self._in_order(command, free, "data are open already", hint="CLEAR closes them. Only ready tables come from several files.")
        now.data, now.data_file = command, file

    def _open_metadata(self, command: OpenMetadata) -> None:
        file = self._existing(command.line, command.file)
        self._in_order(command, self.open.data and not self.open.metadata, "OPENMETADATA follows OPENMICRODATA or OPENTABLEDATA")
        if self.open.data:
            self.open.metadata = read_metadata(file, table=self.open.data.table)

    def _specify(self, command: SpecifyTable) -> None:
        self._settle_table()
        ready = self.open.metadata and not self.open.read
        self._in_order(command, ready, "SPECIFYTABLE follows OPENMETADATA, and comes before the data are read")
        if self.open.metadata:
            _check_variables(command, self.open.metadata)
            self.open.spec = command

    def _rule(self, command: SafetyRule) -> None:
        self._imply_table(command)
        self._in_order(command, self.open.spec and not self.open.rule, "SAFETYRULE follows SPECIFYTABLE")
        rules = rule_set(command)
        if self.open.spec and self.open.metadata:
            _check_rules(rules, self.open.spec, self.open.metadata)
            self.open.rule = command

    def _imply_table(self, command: Command) -> None:
        """A file of ready cells is the table itself, where no SPECIFYTABLE says which."""
        now = self.open
        if now.data and now.data.table and now.metadata and not now.spec:
            now.spec = _whole_file(command.line, now.metadata)

    def _settle_table(self) -> None:
        """What SPECIFYTABLE and SAFETYRULE said becomes a table."""
        now, spec, rules = self.open, self.open.spec, rule_set(self.open.rule)
        now.spec = now.rule = None
        if spec is None or now.metadata is None or now.data_file is None or now.data is None:
            return
        if not rules.all and not now.data.table and not now.broken:
            raise spec.line.fault("the table has no rule", hint="Records need a SAFETYRULE such as P(10,1).")
        folders = tuple(dict.fromkeys([*([now.metadata.path.parent] if now.metadata.path else []), now.data_file.parent, *self.folders]))
        now.tables.append(
            TablePlan(
                number=len(now.tables) + 1,
                data=now.data_file,
                metadata=now.metadata,
                ready=now.data.table,
                spec=spec,
                rules=rules,
                folders=folders,
            )
        )
        if now.data.table:
            now.data = now.data_file = now.metadata = None

    def _read(self, command: ReadMicrodata | ReadTable) -> None:
        if isinstance(command, ReadTable):
            self._imply_table(command)
        self._settle_table()
        now = self.open
        self._in_order(command, now.tables and not now.read, "data are read once, after SPECIFYTABLE and SAFETYRULE")
        fits = not now.tables or isinstance(command, ReadTable) == now.tables[0].ready
        self._in_order(command, fits, "READMICRODATA reads records, READTABLE reads ready tables")
        if isinstance(command, ReadTable):
            now.tables = [replace(table, read=command) for table in now.tables]
        now.read = True

    def _table_of(self, command: UseApriori | Recode | WriteTable) -> TablePlan | None:
        """The table that a command is about; None where a line before was wrong, and it cannot be told."""
        self._require_read(command, command.table)
        return None if self.open.broken else self.open.tables[command.table - 1]

    def _require_read(self, command: Command, table: int) -> None:
        self._in_order(command, self.open.read, "the data are not read yet", hint="READMICRODATA or READTABLE comes first.")
        count = len(self.open.tables)
        self._in_order(command, table <= count, f"there is no table {table}", hint=f"{count} tables were specified.")

    def _protected_by(self, table: int) -> str:
        """The method that protects a table so far; nothing if none does."""
        found = [step.command.method for step in self.open.steps if isinstance(step, SuppressStep) and table in step.tables]
        return found[-1] if found else ""

    def _apriori(self, command: UseApriori) -> None:
        file, table = self._existing(command.line, command.file), self._table_of(command)
        if table is None:
            return
        if self._protected_by(command.table):
            raise command.line.fault("the table is protected already", hint="APRIORI comes before SUPPRESS.")
        lines = read_apriori(file, separator=command.separator, dimensions=len(table.spec.dimensions))
        self.open.steps.append(AprioriStep(table=command.table, lines=lines, command=command))

    def _recode(self, command: Recode) -> None:
        level = command.by in list("123456789")
        how: Recoder = int(command.by) if level else read_recoding(self._existing(command.line, command.by))
        table = self._table_of(command)
        if table is None:
            return
        if table.ready:
            raise command.line.fault("a ready table cannot be recoded: RECODE is for records")
        if self._protected_by(command.table) or any(getattr(step, "table", 0) == command.table for step in self.open.steps):
            raise command.line.fault("RECODE comes before APRIORI, SUPPRESS and WRITETABLE of its table")
        variable = _known(command.line, table.metadata, command.variable)
        if variable not in table.variables:
            raise command.line.fault(f"{command.variable!r} does not span table {command.table}")
        self.open.tables[command.table - 1] = replace(table, recodings={**table.recodings, variable.name: how})

    def _suppress(self, command: Suppress) -> None:
        _check_suppress(command)
        self._require_read(command, command.table)
        self._in_order(command, not self._protected_by(command.table), "the table is protected already")
        tables = self.open.tables if command.table == 0 else self.open.tables[command.table - 1 : command.table]
        if len(tables) > 1 and any(table.ready or table.recodings for table in tables):
            raise refused(
                command.line,
                f"SUPPRESS {command.method}(0) (all tables linked) of ready or recoded tables",
                hint="Shared cells are found by their records: open the records, recoded before. Or protect each table by its number.",
            )
        step = SuppressStep(tables=tuple(table.number for table in tables), command=command)
        if command.method not in BY_WORD:
            self._refuse_secondary(step)
        self.open.steps.append(step)

    def _refuse_secondary(self, step: SuppressStep) -> None:
        """Cells that an a-priori file says are suppressed already mean nothing to a method that suppresses none."""
        for apriori in self.open.steps:
            if isinstance(apriori, AprioriStep) and apriori.table in step.tables:
                for said in apriori.lines:
                    if said.action in (Action.SECONDARY, Action.SECONDARY_MANUAL) and said.line:
                        words = f"the action {said.action} (secondary suppression) before {step.command.method}"
                        raise refused(said.line, words, hint="Only GH, MOD, OPT and NET suppress cells.")

    def _write(self, command: WriteTable) -> None:
        if command.format == 7:
            raise refused(command.line, "WRITETABLE in format 7 (cell key)")
        for option in ("AR", "AO", "AD", "AC"):
            if command.options.get(option):
                raise refused(command.line, f"WRITETABLE with the option {option}+")
        table = self._table_of(command)
        if table is None:
            return
        protected = self._protected_by(command.table)
        if protected and command.format in _NOT_AFTER.get(protected, ()):
            words = f"WRITETABLE in format {command.format} ({FORMATS[command.format]}) after {protected}"
            raise refused(command.line, words, hint="Use 1, 2 or 3.")
        if command.format in PUBLIC_FORMATS and not protected and not command.options.get("AS"):
            raise refused(
                command.line,
                f"WRITETABLE in format {command.format} of a table that is not protected",
                hint="Put SUPPRESS CTA(table) before it; or write an internal file: AS+, or format 4, 5 or 6.",
            )
        self.open.steps.append(WriteStep(table=command.table, file=self._target(command.file), command=command))

    def _existing(self, line: ArgusLine, written: str) -> Path:
        file = find_file(written, list(self.folders))
        if file is None:
            raise InputError(
                f"{line.file}, line {line.number}: there is no file {written!r}.", hint="It may lie beside the batch file, or in --data."
            )
        self.sources.append(file)
        return file

    def _target(self, written: str) -> Path:
        """Where a file is written: a path of another system keeps its last part only."""
        path = Path(written)
        foreign = "\\" in written or (len(written) > 1 and written[1] == ":")
        return self.out / base_name(written) if foreign else self.out / path


def _check_suppress(command: Suppress) -> None:
    """The method is one of ours, and its numbers are understood."""
    if command.method == "CKM":
        raise refused(command.line, "SUPPRESS CKM (cell key)", hint="In Python: sv.classical.cell_key.")
    if command.method == "RND":
        rounding_wish(command)
    elif command.method != "CTA":
        suppression_ask(command)
    if command.table == 0 and command.method not in ("CTA", *LINKABLE):
        raise refused(command.line, f"SUPPRESS {command.method}(0) (all tables linked)", hint="Protect each table by its number.")


def _whole_file(line: ArgusLine, metadata: Metadata) -> SpecifyTable:
    """The table that a file of ready cells holds, where no SPECIFYTABLE says it: all that spans it, and its only response."""
    spanning = tuple(variable.name for variable in metadata.variables if variable.recodable)
    responses = [variable.name for variable in metadata.of_role(VariableRole.RESPONSE)]
    counts = metadata.of_role(VariableRole.FREQUENCY)
    if not spanning or len(responses) > 1 or not (responses or counts):
        raise line.fault("which table to read is not told by the .rda file", hint="Add a SPECIFYTABLE command.")
    shadow, cost = (next((each.name for each in metadata.of_role(role)), None) for role in (VariableRole.SHADOW, VariableRole.COST))
    return SpecifyTable(
        line=line, dimensions=spanning, response=responses[0] if responses else FREQUENCY_RESPONSE, shadow=shadow, cost=cost
    )


def _check_variables(command: SpecifyTable, metadata: Metadata) -> None:
    for name in command.dimensions:
        variable = _known(command.line, metadata, name)
        if not variable.recodable:
            raise command.line.fault(f"{name!r} cannot span a table", hint="Such a variable has the tag <RECODEABLE> in the .rda file.")
    if len({name.casefold() for name in command.dimensions}) < len(command.dimensions):
        raise command.line.fault("a variable spans the table twice")
    if command.response.casefold() != FREQUENCY_RESPONSE:
        variable = _known(command.line, metadata, command.response)
        if not variable.numeric and variable.role is not VariableRole.FREQUENCY:
            raise command.line.fault(f"the response {command.response!r} is not numeric")
    for other in (command.shadow, command.cost if command.cost not in ("-1", "-2", "-3") else None):
        if other is not None and not _known(command.line, metadata, other).numeric:
            raise command.line.fault(f"{other!r} is not numeric")
    if command.cost == "-3":
        raise refused(command.line, "the cost function -3 (distance)", hint="Use a cost variable, -1 (frequency) or -2 (unity).")


def _known(line: ArgusLine, metadata: Metadata, name: str) -> ArgusVariable:
    variable = metadata.find(name)
    if variable is None:
        names = ", ".join(repr(each.name) for each in metadata.variables)
        raise line.fault(f"the .rda file has no variable {name!r}", hint=f"Its variables: {names}.")
    return variable


def _check_rules(rules: RuleSet, spec: SpecifyTable, metadata: Metadata) -> None:
    line = rules.line or spec.line
    needs = [
        (VariableRole.WEIGHT, rules.weighted, "WGT(1)"),
        (VariableRole.HOLDING, any(each.holdings for each in rules.asked), "a rule about holdings"),
    ]
    needs.append((VariableRole.REQUEST, rules.requested and metadata.dialect != "table", "REQ"))
    for role, needed, what in needs:
        if needed and not metadata.of_role(role):
            raise line.fault(f"{what} needs a variable with the tag <{role}>, and the .rda file has none")
