"""What is asked of raw records, and what became of them; how it is done is in preparation.py."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from statveil.core.show import ShortDisplay, counted

MissingWords = Sequence[str] | Mapping[str, Sequence[str]]
Kind = Literal["number", "text", "truth"]


@dataclass(frozen=True, kw_only=True)
class PreparedWishes:
    """What was asked of the records before they are used.

    missing: words that mean that a value is missing, in all columns or by column (`"*"`: in all others). where: the condition that
    records must meet. derive: new columns by expressions, each of which may use those before it.
    """

    missing: MissingWords = ()
    where: str | None = None
    derive: Mapping[str, str] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.missing or self.where is not None or self.derive)

    def as_arguments(self) -> dict[str, object]:
        """Those that were given, as `read_microdata` takes them."""
        missing = {name: list(words) for name, words in self.missing.items()} if isinstance(self.missing, Mapping) else list(self.missing)
        given: dict[str, object] = {"missing": missing, "where": self.where, "derive": dict(self.derive)}
        return {name: value for name, value in given.items() if value}


class DerivedColumn(NamedTuple):
    """kind: number, text or truth. missing: in how many of the records that were kept it has no value."""

    name: str
    kind: Kind
    decimals: int
    missing: int


@dataclass(frozen=True, kw_only=True, repr=False)
class PreparationReport(ShortDisplay):
    """What became of the records. Counts of the office's own data: not for publication.

    read, kept: records that came, and that met the condition. missing: by column how many values were one of its missing words.
    derived: the new columns. numbers: columns that expressions read as numbers.
    """

    read: int
    kept: int
    missing: Mapping[str, int]
    derived: tuple[DerivedColumn, ...]
    numbers: tuple[str, ...]

    def _headline(self) -> str:
        return f"Preparation (confidential): {self.kept:,} of {counted(self.read, 'record')} kept"

    def _facts(self) -> list[str]:
        return self._steps()

    def in_words(self) -> list[str]:
        """One line for each thing that was done."""
        dropped = self.read - self.kept
        return [*self._steps(), f"{self.kept:,} of {self.read:,} records kept"] if dropped else self._steps()

    def _steps(self) -> list[str]:
        found = {name: count for name, count in self.missing.items() if count}
        words = {1: "1 value was a missing word"}
        lines = [f"{name}: {words.get(count, f'{count:,} values were missing words')}" for name, count in found.items()]
        if self.missing and not lines:
            lines = ["No value is one of the missing words."]
        lines += [f"{name}: read as a number" for name in self.numbers]
        for each in self.derived:
            shape = f"{each.kind}, {each.decimals} decimals" if each.kind == "number" else each.kind
            lines.append(f"{each.name}: derived ({shape}), {each.missing:,} missing")
        return lines
