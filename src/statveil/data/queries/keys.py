"""Records by their key: the fields by which somebody could be recognised, read as text, and what is counted for each different key."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from statveil.data.engines import Session, column, scalar_row
from statveil.data.microdata import Microdata
from statveil.data.queries.columns import NumberColumn, text_of
from statveil.data.queries.expressions import quoted

WEIGHT_DECIMALS = 6
"""Weights and costs are added up in units of 10**-6."""


@dataclass(frozen=True, kw_only=True)
class RecordKey:
    """The columns of a key. Queries call its fields k0, k1, ..., the numbers that tell equal keys apart n0, n1, ..., the texts that do
    v0, v1, ..., the household home."""

    data: Microdata
    fields: Sequence[str]
    missing: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Codes of each field that mean missing."""
    numbers: Sequence[str] = ()
    values: Sequence[str] = ()
    weight: str | None = None
    cost: str | None = None
    household: str | None = None

    @property
    def names(self) -> list[str]:
        kinds = {"k": self.fields, "n": self.numbers, "v": self.values}
        return [f"{letter}{place}" for letter, columns in kinds.items() for place in range(len(columns))]

    def text(self, name: str) -> str:
        """A field as text, or NULL where it is missing. Codes that a user calls missing are; 9 means 9.0 where a column holds numbers."""
        identifier = text_of(self.data.engine, name)
        text = f"NULLIF({identifier}, '')"
        if not self.missing.get(name):
            return text
        codes = [quoted(code.strip()) for code in self.missing[name]]
        listed = f"trimmed({identifier}) IN ({', '.join(codes)})"
        numbers = ", ".join(f"TRY_CAST({code} AS DOUBLE)" for code in codes)
        number = f"coalesce(TRY_CAST({identifier} AS DOUBLE) IN ({numbers}), false)"
        return f"CASE WHEN {listed} OR ({self.data.engine.holds_decimals(name)} AND {number}) THEN NULL ELSE {text} END"

    @property
    def texts(self) -> list[str]:
        return [f"{self.text(name)} AS k{place}" for place, name in enumerate(self.fields)]

    @property
    def told(self) -> list[str]:
        """By which equal keys are told apart."""
        numbers = [f"{_units(self.data, name)} AS n{place}" for place, name in enumerate(self.numbers)]
        return [*numbers, *(f"{_value(self.data, name)} AS v{place}" for place, name in enumerate(self.values))]

    @property
    def home(self) -> list[str]:
        """The household's identifier, empty where it is missing; nothing where records have none."""
        return [f"coalesce({text_of(self.data.engine, self.household)}, '') AS home"] if self.household else []


def _units(data: Microdata, name: str) -> str:
    return NumberColumn.of(data, name).units(WEIGHT_DECIMALS)


def _value(data: Microdata, name: str) -> str:
    """A column as text, empty where it is missing."""
    return f"coalesce({text_of(data.engine, name)}, '')"


def count_keys(session: Session, key: RecordKey) -> pa.Table:
    """Each different key with its records, and the sums of their weights and costs where there are any."""
    raw = ", ".join(dict.fromkeys(column(key.data.engine, name) for name in (*key.fields, *key.numbers, *key.values)))
    summed = {label: name for label, name in (("weight", key.weight), ("cost", key.cost)) if name}
    sums = ["count(*) AS records", *(f"sum({_units(key.data, name)}) AS {label}" for label, name in summed.items())]
    inner = f"SELECT {raw}, {', '.join(sums)} FROM records GROUP BY {raw}"
    outer = f"SELECT {', '.join([*key.texts, *key.told, 'records', *summed])} FROM ({inner})"
    totals = [f"CAST(sum({label}) AS BIGINT) AS {label}" for label in ("records", *summed)]
    names = ", ".join(key.names)
    return session.query(f"SELECT {names}, {', '.join(totals)} FROM ({outer}) GROUP BY {names}")


def count_members(session: Session, key: RecordKey) -> pa.Table:
    """Each different key of each household with its records."""
    names = ", ".join(["home", *key.names])
    rows = f"SELECT {', '.join([*key.home, *key.texts, *key.told])} FROM records"
    return session.query(f"SELECT {names}, count(*) AS records FROM ({rows}) GROUP BY {names}")


def count_values(session: Session, key: RecordKey, sensitive: str) -> pa.Table:
    """Each different key with each `value` of another column, empty where it is missing, and how many records have them."""
    value = f"{_value(key.data, sensitive)} AS value"
    return session.query(f"SELECT {', '.join([*key.texts, *key.told, value])}, count(*) AS records FROM records GROUP BY ALL")


def no_amount(data: Microdata, name: str) -> str:
    """Whether a value is no number of zero or more."""
    number = NumberColumn.of(data, name)
    return f"NOT coalesce({number.is_number} AND NOT {number.is_negative}, false)"


def count_where(session: Session, condition: str) -> int:
    return int(scalar_row(session.query(f"SELECT count(*) FILTER (WHERE {condition}) AS n FROM records"))["n"])


def total_units(session: Session, data: Microdata, name: str) -> int | None:
    """The sum of a column in units of 10**-6; None where a number does not fit."""
    number, units = NumberColumn.of(data, name), _units(data, name)
    large = f"coalesce({number.is_number} AND {units} IS NULL, false)"
    found = scalar_row(
        session.query(
            f"SELECT count(*) FILTER (WHERE {large}) AS large, coalesce(sum(CAST({units} AS DECIMAL(20, 0))), 0) AS total FROM records"
        )
    )
    return None if found["large"] else int(found["total"])


def records_by_risk(session: Session, key: RecordKey, risks: pa.Table, columns: Sequence[str], homes: pa.Table | None = None) -> pa.Table:
    """Every record with these columns and what `risks` tells of its key, and `homes` of its household, most risky first."""
    session.lend("risks", risks)
    fields = key.names[: len(key.fields)]
    told = [name for name in risks.column_names if not re.fullmatch(r"[knv][0-9]+", name)]
    same = " AND ".join(f"r.{name} IS NOT DISTINCT FROM u.{name}" for name in fields)
    wanted = [f"r.{column(key.data.engine, name)}" for name in columns]
    measures, joined = [f"u.{name}" for name in told], f"(SELECT *, {', '.join([*key.texts, *key.home])} FROM records) r"
    joined += f" LEFT JOIN (SELECT DISTINCT {', '.join([*fields, *told])} FROM risks) u ON {same}"
    if homes is not None:
        session.lend("homes", homes)
        measures, told = [*measures, "coalesce(h.household_risk, u.risk)"], [*told, "household_risk"]
        joined += " LEFT JOIN homes h ON r.home = h.home"
    ranks = [f"{measure} DESC" for measure in measures[1:]]
    found = session.query(f"SELECT {', '.join([*wanted, *measures])} FROM {joined} ORDER BY {', '.join([*ranks, *wanted])}")
    return found.rename_columns([*columns, *told])
