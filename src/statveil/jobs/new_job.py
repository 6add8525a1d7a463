"""`statveil new`: look at the data and write a job to start from, for a table, a file of records, or a server."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from statveil.core.errors import InputError
from statveil.core.limits import known
from statveil.core.toml import to_toml
from statveil.data.profile import ColumnProfile, profile
from statveil.data.readers import read_microdata
from statveil.jobs.template import write_new

Kind = Literal["table", "records", "server"]
KINDS = ("table", "records", "server")
RULES = [{"type": "p-percent", "p": 10}, {"type": "minimum-frequency", "n": 3, "level": 20}]


class Shown(NamedTuple):
    """Sizes by judgement: how much a first job asks for."""

    dimensions: int = 3
    keys: int = 6
    codes: int = 200
    """A column with more codes wants a tree, and is not suggested as a dimension."""


SHOWN = Shown()
WEIGHTS, HOLDINGS = ("weight", "wgt", "wt"), ("holding", "owner", "group", "parent")


class Roles(NamedTuple):
    """What each column may be for, by its look and its name."""

    dimensions: list[ColumnProfile]
    measures: list[str]
    weight: str | None
    holding: str | None
    unit: str | None


def new_job(data: Path, target: Path, kind: Kind = "table") -> list[ColumnProfile]:
    """Write the job; what the columns look like is given back, to be shown."""
    known("kind", kind, KINDS)
    columns = profile(read_microdata(data))
    content = to_toml(_content(kind, os.path.relpath(data, target.parent), columns))
    text = _HEADS[kind].format(target=target.name) + content + _columns_in_words(columns)
    write_new(target, text)
    return columns


def roles_of(columns: Sequence[ColumnProfile]) -> Roles:
    weight = _named([each for each in columns if each.look != "identifier"], WEIGHTS)
    holding = _named([each for each in columns if each.look in ("code", "identifier")], HOLDINGS)
    codes = [each for each in columns if each.look == "code" and 1 < each.distinct <= SHOWN.codes and each.name not in (holding, weight)]
    amounts = sorted((each for each in columns if each.look == "number" and each.name != weight), key=lambda each: -each.distinct)
    unit = next((each.name for each in columns if each.look == "identifier" and each.name != holding), None)
    return Roles(sorted(codes, key=lambda each: each.distinct), [each.name for each in amounts], weight, holding, unit)


def _named(columns: Sequence[ColumnProfile], words: Sequence[str]) -> str | None:
    return next((each.name for each in columns if any(word in each.name.lower() for word in words)), None)


def _content(kind: Kind, file: str, columns: Sequence[ColumnProfile]) -> dict[str, object]:
    roles = roles_of(columns)
    if not roles.dimensions:
        raise InputError("No column of the data looks like codes to tabulate by.", hint="`statveil new` without data writes a job to edit.")
    return {"table": _table, "records": _records, "server": _server}[kind](Path(file).as_posix(), roles)


def _table(file: str, roles: Roles) -> dict[str, object]:
    measure = roles.measures[0] if roles.measures else None
    table = {"name": measure or "count", "measure": measure, "holding": roles.holding, "weight": roles.weight, "dimensions": _flat(roles)}
    return {"data": {"file": file}, "table": table, "rule": RULES, "limits": {"seconds": 60}}


def _records(file: str, roles: Roles) -> dict[str, object]:
    fields: dict[str, object] = {each.name: {} for each in roles.dimensions[: SHOWN.keys]}
    dropped = [name for name in (roles.unit,) if name is not None]
    return {
        "data": {"file": file},
        "fields": fields,
        "safety": {"threshold": 3, "order": 3},
        "output": {"file": "safe.csv", "drop": dropped},
    }


def _server(file: str, roles: Roles) -> dict[str, object]:
    if roles.unit is None:
        raise InputError(
            "No column of the data tells records apart, which a server needs.", hint="Add a column with an id for each record."
        )
    measures: list[dict[str, object]] = [{"id": name, "column": name} for name in roles.measures]
    measures.append({"id": "records", "count": True})
    part = {"id": Path(file).stem, "file": file, "unit": roles.unit, "holding": roles.holding, "dimensions": _flat(roles)}
    return {"key": {"file": "secret.key"}, "store": {"file": "store.sqlite"}, "dataset": [{**part, "measure": measures, "rule": RULES}]}


def _flat(roles: Roles) -> dict[str, object]:
    return {each.name: "flat" for each in roles.dimensions[: SHOWN.dimensions]}


def _columns_in_words(columns: Sequence[ColumnProfile]) -> str:
    """The columns as they look, so that the job can be edited without the data at hand."""
    lines = [f"#   {each.name}: {each.look}, {each.distinct:,} different, {each.missing:,} missing" for each in columns]
    return "\n# The columns of the data:\n" + "\n".join(lines) + "\n"


_HEADS = {
    "table": """# A table to protect: look it over, then run  statveil protect {target}
# A tree of codes: region = {{ hierarchy = "regions.csv" }}. Every key is explained in what `statveil new` writes without data.

""",
    "records": """# A file of records to make safe: look it over, then run  statveil protect {target}
# [fields] names what an intruder may know.

""",
    "server": """# A table server: look it over, run  statveil serve --new-key secret.key,  then  statveil serve {target}

""",
}
