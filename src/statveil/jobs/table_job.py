"""The job file: one TOML that says what to protect and how.

`read_job` gives a `TableJob`; its methods turn the parts into the objects the library works with. Paths in a job are
relative to the job file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from statveil.core.errors import InputError, StatveilError
from statveil.core.floors import Floors
from statveil.core.limits import Limits
from statveil.core.secret import SecretKey
from statveil.core.toml import read_toml, to_toml
from statveil.data.hierarchy import Hierarchy
from statveil.data.microdata import Microdata
from statveil.jobs.schema import DimensionPart, JobFile, ManualPart, RulePart, TablePart, check_job, rule_of
from statveil.jobs.tables.assess import LinkedTables
from statveil.protect.keep.wishes import Keep
from statveil.protect.options import Bounds, GivingCells, Method, Options, TableRepair
from statveil.risk.rules import Rule
from statveil.risk.rules.manual import Manual
from statveil.tables.linked import CellSet, Equation
from statveil.tables.spec import TableSpec, Trees


@dataclass(frozen=True, kw_only=True)
class TableJob:
    """A checked job: `content` as the TOML holds it, `parts` as objects, `base` the folder its paths start from."""

    parts: JobFile
    content: Mapping[str, Any]
    base: Path
    text: str

    @property
    def name(self) -> str:
        """Name of the release: its table's, or "tables" when several are linked."""
        return self.parts.table[0].name if len(self.parts.table) == 1 else "tables"

    def path(self, written: str) -> Path:
        return self.base / written

    @cached_property
    def microdata(self) -> Microdata:
        data = self.parts.data
        with _about("data"):
            file = _existing(self.path(data.file), written=data.file)
            return data.microdata(file)

    def specs(self) -> list[TableSpec]:
        tables = self.parts.table
        return [self._spec(table, "table" if len(tables) == 1 else f"table[{place}]") for place, table in enumerate(tables, start=1)]

    def rules(self) -> list[Rule]:
        found = []
        for place, part in enumerate(self.parts.rule, start=1):
            with _about(f"rule[{place}]"):
                found.append(self._rule(part))
        return found

    def linked(self) -> LinkedTables:
        """The tables, and what links them beyond the cells they share."""
        equations, sets = list[Equation](), list[CellSet]()
        for place, equation in enumerate(self.parts.equation, start=1):
            with _about(f"equation[{place}]"):
                equations.append(Equation(**equation.model_dump()))
        for place, asked in enumerate(self.parts.cell_set, start=1):
            with _about(f"cell_set[{place}]"):
                sets.append(CellSet(cells=asked.cells, view=asked.table, level=asked.level))
        return LinkedTables(tables=self.specs(), equations=equations, sets=sets, search_sets=self.parts.protection.search_sets)

    def options(self) -> Options:
        chosen = self.parts.protection
        with _about("protection.bounds"):
            bounds = Bounds(**chosen.bounds.model_dump())
        with _about("protection"):
            options = Options(variant=chosen.variant, norm=chosen.norm, weights=chosen.weights, cap=chosen.cap, bounds=bounds)
            floors = Floors(scheme=chosen.floors, cap=chosen.floor_cap, tiny=chosen.tiny, coalitions=chosen.coalitions, key=self._key())
            options = replace(options, hold=tuple(chosen.hold), hold_within=chosen.hold_within)
        return replace(options, repair=self._repair(), floors=floors)

    def _key(self) -> SecretKey | None:
        """The key that the job names; None: the office's."""
        named = self.parts.protection.key
        return None if named is None else SecretKey.from_file(self.path(named))

    def method(self) -> Method:
        return Method(name=self.parts.protection.method, seed=self.parts.protection.seed)

    def _repair(self) -> TableRepair | None:
        """What may give where no safe table exists; None: nothing."""
        asked = self.parts.repair
        if asked is None:
            return None
        with _about("repair"):
            only = tuple(GivingCells(cells=each.cells, view=each.table, protection=each.protection) for each in asked.only)
            return TableRepair(order=tuple(asked.order), only=only, weaken_protection=asked.weaken_protection)

    def keep(self) -> Keep | None:
        """Statistics to keep; None: none."""
        asked = self.parts.keep
        if asked is None:
            return None
        with _about("keep"):
            return Keep(**asked.model_dump())

    def limits(self) -> Limits:
        with _about("limits"):
            return Limits(**self.parts.limits.model_dump())

    def within(self, seconds: float | None) -> TableJob:
        """The same job with another time limit (None: its own)."""
        if seconds is None:
            return self
        content = {**self.content, "limits": {**self.content.get("limits", {}), "seconds": seconds}}
        return TableJob(parts=check_job(content), content=content, base=self.base, text=to_toml(content))

    def _spec(self, table: TablePart, key: str) -> TableSpec:
        dimensions: dict[str, Trees] = {}
        for column, part in table.dimensions.items():
            with _about(f"{key}.dimensions.{column}"):
                dimensions[column] = self._trees(column, part)
        rest = table.model_dump(exclude={"dimensions"})
        with _about(key):
            return TableSpec(dimensions=dimensions, **rest)

    def _trees(self, column: str, part: DimensionPart) -> Trees:
        return part.trees(self._tree, lambda: self.microdata.codes(column))

    def _tree(self, written: str, total: str | None) -> Hierarchy:
        return Hierarchy.from_csv(_existing(self.path(written), written=written), total=total)

    def _rule(self, part: RulePart) -> Rule:
        if isinstance(part, ManualPart):
            level = {} if part.level is None else {"level": part.level}
            return Manual.from_csv(_existing(self.path(part.file), written=part.file), spread=part.spread, **level)
        return rule_of(part)


def read_job(path: Path, *, base: Path | None = None) -> TableJob:
    """Read and check a job file; its paths start from `base` (by default the folder it lies in)."""
    file = read_toml(path, start_from="`statveil new` writes a job file to start from.")
    with _about(str(path)):
        base = path.parent if base is None else base
        return TableJob(parts=check_job(file.content), content=file.content, base=base, text=file.text)


def _existing(path: Path, *, written: str) -> Path:
    if path.is_dir():
        raise InputError(f"{written} is a folder, not a file.")
    if not path.is_file():
        raise InputError(f"There is no file {written}.", hint="Paths in a job start from the folder of the job file.")
    return path


@contextmanager
def _about(key: str) -> Iterator[None]:
    """Put the key in front of whatever is said about it."""
    try:
        yield
    except StatveilError as error:
        raise type(error)(f"{key}: {error.message}", hint=error.hint) from error.__cause__
