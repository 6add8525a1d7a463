"""What the forms do to the configuration of a server: functions from its content to the new one. What a form does not name stays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from statveil.core.errors import InputError
from statveil.desk.edits import tree_of
from statveil.desk.forms import Words, number, word

FORMED_RULES = {"p-percent": ("p",), "minimum-frequency": ("n", "level")}
"""The rules that the form of a dataset has; others stay as they are in job.toml."""
COUNT, KEPT = "count", "kept"
_TREES = ("hierarchy", "hierarchies", "digits")
_OPTIONAL = ("label", "holding", "weight", "depth", "small_counts", "filters")


def place_of(content: Mapping[str, Any], at: str) -> int:
    """Which of the datasets is meant: the first, unless another one is named."""
    return int(at) if at.isascii() and at.isdigit() and int(at) < len(content.get("dataset", [])) else 0


def dataset_at(content: Mapping[str, Any], at: str) -> dict[str, Any]:
    return dict(content["dataset"][place_of(content, at)])


def with_another(content: dict[str, Any], part: Mapping[str, Any]) -> dict[str, Any]:
    """One dataset more, after the others; its id is part of addresses and never that of another one."""
    taken, id_, number = {each["id"] for each in content["dataset"]}, str(part["id"]), 2
    while id_ in taken:
        id_, number = f"{part['id']}-{number}", number + 1
    return {**content, "dataset": [*content["dataset"], {**part, "id": id_}]}


def without_dataset(content: dict[str, Any], form: Words) -> dict[str, Any]:
    if len(content["dataset"]) < 2:
        raise InputError("A server needs at least one dataset.")
    return _with_part(content, word(form, "at"))


def _with_part(content: dict[str, Any], at: str, *part: Mapping[str, Any]) -> dict[str, Any]:
    place, parts = place_of(content, at), content["dataset"]
    return {**content, "dataset": [*parts[:place], *part, *parts[place + 1 :]]}


def with_dataset(content: dict[str, Any], form: Words) -> dict[str, Any]:
    """Dimensions, measures, unit and rules of a dataset."""
    before = dataset_at(content, word(form, "at"))
    chosen, measures = form.get("dimension", []), form.get("measure", [])
    if not chosen or not measures:
        raise InputError("A dataset needs at least one dimension and one measure.")
    part = {key: value for key, value in before.items() if key not in _OPTIONAL}
    told = {**{key: word(form, key) for key in ("label", "holding", "weight")}, "unit": word(form, "unit") or before.get("unit")}
    sizes = {key: number(word(form, key), key) for key in ("depth", "small_counts") if word(form, key)}
    filters = [name for name in form.get("filter", []) if name in chosen]
    part |= {key: value for key, value in {**told, **sizes, "filters": filters}.items() if value not in ("", None, [])}
    part["dimensions"] = {name: _dimension(name, form, before["dimensions"].get(name)) for name in chosen}
    part["measure"] = [_measure(name, form, before["measure"]) for name in measures]
    part["rule"] = _rules(form, before["rule"])
    return _with_part(content, word(form, "at"), part)


def with_records_of_dataset(content: dict[str, Any], at: str, changed: Mapping[str, Any]) -> dict[str, Any]:
    """Which records are served; `changed` is what a job would hold under data."""
    part = {key: value for key, value in dataset_at(content, at).items() if key not in ("missing", "where")}
    return _with_part(content, at, {**part, **changed})


def columns_of_measures(part: Mapping[str, Any]) -> list[str]:
    return [each["column"] for each in part["measure"] if "column" in each]


def as_table(content: Mapping[str, Any], at: str, dimension: str, measure: str = "") -> dict[str, Any]:
    """A table job of one dimension and one measure of the dataset, its first one where none is named: what its tree and its records are
    is then said in the words of a table."""
    part = dataset_at(content, at)
    data = {key: part[key] for key in ("file", "delimiter", "encoding", "decimal", "missing", "where", "derive") if key in part}
    tree = part["dimensions"][dimension]
    kept = {key: tree[key] for key in ("hierarchy", "hierarchies", "digits", "total") if key in tree} if isinstance(tree, Mapping) else tree
    columns = [measure] if measure else columns_of_measures(part)[:1]
    table = {"dimensions": {dimension: kept}, **({"measure": columns[0]} if columns else {})}
    table |= {"holding": part["holding"]} if part.get("holding") else {}
    return {"data": data, "table": table, "rule": part["rule"]}


def _dimension(name: str, form: Words, before: Any) -> dict[str, Any] | str:
    """Its tree as the form has it; labels of codes and names of levels stay while the tree is the same."""
    old = {key: value for key, value in before.items() if key != "label"} if isinstance(before, Mapping) else {}
    asked = "flat" if word(form, f"tree {name}") == KEPT else tree_of(name, form)
    tree = dict(asked) if isinstance(asked, Mapping) else {}
    if word(form, f"tree {name}") == KEPT or tree == {key: old[key] for key in _TREES if key in old}:
        tree = old
    label = {"label": word(form, f"label {name}")} if word(form, f"label {name}") else {}
    return {**tree, **label} or "flat"


def _measure(column: str, form: Words, before: list[dict[str, Any]]) -> dict[str, Any]:
    """By column; the number of records is the measure `count`. An id that is in use stays: it is part of addresses."""
    first = {"id": "records", "count": True} if column == COUNT else {"id": column, "column": column}
    old = next((each for each in before if each.get("column", COUNT) == column), first)
    told = {key: word(form, f"{key} of {column}") for key in ("label", "unit")}
    return {**{key: value for key, value in old.items() if key not in told}, **{key: value for key, value in told.items() if value}}


def _rules(form: Words, before: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The two usual rules as the form has them, an empty one left out, and all others as they are."""
    found = [dict(rule) for rule in before if rule["type"] not in FORMED_RULES]
    for kind, names in FORMED_RULES.items():
        old = next((rule for rule in before if rule["type"] == kind), {})
        given = {name: number(word(form, f"{kind} {name}"), name) for name in names if word(form, f"{kind} {name}")}
        if given:
            found.append({**old, "type": kind, **given})
    if not found:
        raise InputError("A dataset needs at least one rule.")
    return found
