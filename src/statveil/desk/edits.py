"""What the forms do to a job: functions from its content to the new one. What a form does not name stays as it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from statveil.core.errors import InputError
from statveil.desk.forms import Words, number, word
from statveil.jobs.new_job import in_expressions
from statveil.jobs.schema import RULE_TYPES

RULE_FIELDS: Mapping[str, Mapping[str, int]] = {
    "p-percent": {"p": 10},
    "minimum-frequency": {"n": 3, "level": 20},
    "dominance": {"n": 2, "k": 85},
    "prior-posterior": {"p": 10, "q": 50},
}
"""The rules that have a form, and what their fields begin with."""
RULE_WORDS: Mapping[str, str] = {
    "p-percent": "The second largest must not know the largest to p percent.",
    "minimum-frequency": "Fewer than n respondents; such cells move by level percent.",
    "dominance": "The n largest have more than k percent.",
    "prior-posterior": "As p-percent, where others are known to q percent beforehand.",
    "manual": "Decided cell by cell.",
}


NEW = "new"
"""The place of a table that the job does not have yet."""


def tables_of(content: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The linked tables of the job; one is a list of one."""
    tables = content.get("table", [])
    return [dict(each) for each in (tables if isinstance(tables, list) else [tables])]


def names_of(content: Mapping[str, Any]) -> list[str]:
    return [str(each.get("name", "table")) for each in tables_of(content)]


def place_of(content: Mapping[str, Any], at: str) -> int:
    """Which of the tables is meant: the first, unless another one is named; after the last a new one."""
    tables = tables_of(content)
    if at == NEW:
        return len(tables)
    return int(at) if at.isascii() and at.isdigit() and int(at) < len(tables) else 0


def _with_tables(content: dict[str, Any], tables: list[dict[str, Any]]) -> dict[str, Any]:
    return {**content, "table": tables if len(tables) > 1 else tables[0]}


def with_records(content: dict[str, Any], form: Words) -> dict[str, Any]:
    """Which records are used, and which words mean that a value is missing."""
    data = {key: value for key, value in content.get("data", {}).items() if key != "where"}
    words = word(form, "missing").split()
    if words:
        data["missing"] = words
    elif not isinstance(data.get("missing"), Mapping):  # words by column are edited in job.toml
        data.pop("missing", None)
    data |= {"where": word(form, "where")} if word(form, "where") else {}
    return {**content, "data": data}


def with_missing_words(content: dict[str, Any], form: Words) -> dict[str, Any]:
    """These words mean a missing value in this column, beside those that did so before."""
    name, data = word(form, "column"), content.get("data", {})
    before = data.get("missing", [])
    by_column = dict(before) if isinstance(before, Mapping) else {"*": before} if before else {}
    words = dict.fromkeys([*by_column.get(name, by_column.get("*", [])), *form.get("word", [])])
    return {**content, "data": {**data, "missing": {**by_column, name: list(words)}}}


def with_complete(content: dict[str, Any], form: Words) -> dict[str, Any]:
    """Only records that have a value in this column."""
    data = content.get("data", {})
    asked = f"{in_expressions(word(form, 'column'))} is not missing"
    return {**content, "data": {**data, "where": f"({data['where']}) and {asked}" if data.get("where") else asked}}


def with_table(content: dict[str, Any], form: Words) -> dict[str, Any]:
    """Dimensions, measure, holding and weight of one of the linked tables, or of a new one."""
    if "dataset" in content:
        raise InputError("This job is that of a table server, not of a table.")
    chosen, tables, at = form.get("dimension", []), tables_of(content), place_of(content, word(form, "at"))
    if not chosen:
        raise InputError("A table needs at least one dimension.")
    before = tables[at] if at < len(tables) else {}
    table = {key: value for key, value in before.items() if key not in ("measure", "holding", "weight", "dimensions")}
    table |= {key: word(form, key) for key in ("measure", "holding", "weight") if word(form, key)}
    if word(form, "name"):
        table["name"] = word(form, "name")[:80]
    elif not before and tables:
        table["name"] = f"{word(form, 'measure') or 'count'} by {', '.join(chosen)}"[:80]
    table["dimensions"] = {name: _same_or(tree_of(name, form), before, name) for name in chosen}
    sets = [
        {**each, "table": table["name"]} if before and each.get("table") == before.get("name") and "name" in table else each
        for each in content.get("cell_set", [])
    ]
    new = _with_tables(content, [*tables[:at], table, *tables[at + 1 :]])
    return {**new, "cell_set": sets} if sets else new


def without_table(content: dict[str, Any], form: Words) -> dict[str, Any]:
    tables, at = tables_of(content), place_of(content, word(form, "at"))
    if len(tables) < 2:
        raise InputError("A job needs at least one table.")
    return _with_tables(content, [*tables[:at], *tables[at + 1 :]])


def with_equation(content: dict[str, Any], form: Words) -> dict[str, Any]:
    """A measure is the sum of others, in every record: then in every cell, too."""
    total, parts = word(form, "total"), list(form.get("part", []))
    measures = {each.get("measure") for each in tables_of(content)}
    if not total or not parts:
        raise InputError("An equation needs the measure that is the sum, and its parts.")
    if not {total, *parts} <= measures:
        raise InputError("An equation is between measures of the linked tables.", hint="Add a linked table for each of them first.")
    return {**content, "equation": [*content.get("equation", []), {"total": total, "parts": parts}]}


def without_equation(content: dict[str, Any], form: Words) -> dict[str, Any]:
    kept = [each for at, each in enumerate(content.get("equation", [])) if str(at) != word(form, "place")]
    rest = {key: value for key, value in content.items() if key != "equation"}
    return {**rest, "equation": kept} if kept else rest


def with_tree(content: dict[str, Any], form: Words, file: str) -> dict[str, Any]:
    """The tree of a dimension in this file, in every linked table that has the dimension: they share its codes."""
    name, tables = word(form, "of"), tables_of(content)
    if not any(name in each.get("dimensions", {}) for each in tables):
        raise InputError(f"No table has the dimension {name!r}.", hint="Tick it on the screen Table first.")
    changed = [
        {**each, "dimensions": {**each["dimensions"], name: {"hierarchy": file}}} if name in each["dimensions"] else each for each in tables
    ]
    return _with_tables(content, changed)


def _same_or(tree: dict[str, Any] | str, before: Mapping[str, Any], name: str) -> dict[str, Any] | str:
    """What the form does not show of a tree stays, such as the name of its total, as long as the tree is the same."""
    old = before.get("dimensions", {}).get(name)
    is_same = isinstance(old, Mapping) and isinstance(tree, Mapping) and all(old.get(key) == value for key, value in tree.items())
    return dict(old) if is_same else tree


def tree_of(name: str, form: Words) -> dict[str, Any] | str:
    kind, digits, file = word(form, f"tree {name}"), word(form, f"digits {name}"), word(form, f"file {name}")
    if kind == "digits":
        try:
            return {"digits": [int(each) for each in digits.replace(",", " ").split()]}
        except ValueError:
            raise InputError(f"{name}: digits are whole numbers, such as 1 2.") from None
    if kind == "file":
        if not file:
            raise InputError(f"{name}: choose the file that holds its tree.", hint="Add it on the first screen.")
        return {"hierarchy": file}
    return "flat"


def with_rule(content: dict[str, Any], form: Words) -> dict[str, Any]:
    """Add a rule (no place) or change the one at its place."""
    kind, place = word(form, "type"), word(form, "place")
    if "dataset" in content:
        raise InputError("The rules of a server are set on the screen Dataset.")
    if kind not in RULE_FIELDS:
        raise InputError("There is no form for such a rule.", hint=f"Rules of a job file: {', '.join(RULE_TYPES)}.")
    rules = list(content.get("rule", []))
    before = rules[int(place)] if place.isascii() and place.isdigit() and int(place) < len(rules) else None
    if before is not None and before.get("type") != kind:
        raise InputError("The rule at this place is another one now.")
    rule = {**(before or {}), "type": kind, **{name: number(word(form, name), name) for name in RULE_FIELDS[kind] if word(form, name)}}
    if before is None:
        rules.append(rule)
    else:
        rules[int(place)] = rule
    return {**content, "rule": rules}


def without_rule(content: dict[str, Any], form: Words) -> dict[str, Any]:
    place = word(form, "place")
    return {**content, "rule": [rule for at, rule in enumerate(content.get("rule", [])) if str(at) != place]}


USUAL = {"norm": "l1", "weights": "inverse", "method": "auto", "attacks": "refuse", "seconds": 60}
"""How a job protects that says nothing of it."""


def protection_of(content: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that have a form, as they are or as they usually are."""
    told = {**content.get("protection", {}), **content.get("limits", {})}
    return {name: told.get(name, usual) for name, usual in USUAL.items()}


def as_set(content: Mapping[str, Any], form: Words) -> bool:
    """Whether the form of the settings says what the job says already."""
    return all(word(form, name) in ("", str(now)) for name, now in protection_of(content).items())


def with_protection(content: dict[str, Any], form: Words) -> dict[str, Any]:
    if "dataset" in content:
        raise InputError("A server has no such settings.")
    chosen = {key: word(form, key) for key in ("norm", "weights", "method", "attacks") if word(form, key)}
    limits = {"seconds": number(word(form, "seconds"), "seconds")} if word(form, "seconds") else {}
    protection = {} if "fields" in content else {"protection": {**content.get("protection", {}), **chosen}}
    return {**content, **protection, "limits": {**content.get("limits", {}), **limits}}


TAKEABLE = ("adjustment", "keep")
"""Methods of a comparison that a job can ask for; the others are made by commands of their own."""
USUALLY_KEPT = dict.fromkeys(("mean", "variance", "correlation", "slope"), "sensitive")


def with_method(content: dict[str, Any], method: str) -> dict[str, Any]:
    """Adjustment alone, or with the statistics of the job kept; the usual four where it names none."""
    if method not in TAKEABLE:
        raise InputError(
            "A job cannot ask for this method.", hint="It has a command of its own: statveil suppress, or the Python interface."
        )
    rest = {key: value for key, value in content.items() if key not in ("keep", "tradeoff")}
    return {**rest, "keep": content.get("keep", USUALLY_KEPT)} if method == "keep" else rest


def with_keys(content: dict[str, Any], form: Words) -> dict[str, Any]:
    """The key fields with their menus, what is rare, and the columns that are left out of a safe file."""
    chosen, before = form.get("field", []), content.get("fields", {})
    if "dataset" in content:
        raise InputError("This job is that of a table server, not of a safe file.")
    if not chosen:
        raise InputError("A safe file needs at least one key field: what an intruder may know.")
    safety = {**content.get("safety", {}), "threshold": number(word(form, "threshold") or "3", "threshold")}
    order = word(form, "order") or "3"
    safety["order"] = order if order == "full" else number(order, "order")
    fixed = {name: level for name, level in content.get("recoding", {}).get("fixed", {}).items() if name in chosen}
    recoding = {
        **{key: value for key, value in content.get("recoding", {}).items() if key != "fixed"},
        **({"fixed": fixed} if fixed else {}),
    }
    return {
        **content,
        "fields": {name: _menu(name, form, before.get(name, {})) for name in chosen},
        "safety": safety,
        **({"recoding": recoding} if recoding else {}),
        "output": {**content.get("output", {}), "drop": list(form.get("drop", []))},
    }


def _menu(name: str, form: Words, before: dict[str, Any]) -> dict[str, Any]:
    kind, widths, file = word(form, f"menu {name}"), word(form, f"widths {name}"), word(form, f"file {name}")
    if kind == "kept":
        return before
    if kind == "widths":
        return {"intervals": [number(each, f"{name}: a width") for each in widths.replace(",", " ").split()]}
    if kind == "file":
        if not file:
            raise InputError(f"{name}: choose the file that holds its tree.", hint="Add it on the first screen.")
        return {"hierarchy": file}
    return {}


def with_fixed(content: dict[str, Any], form: Words) -> dict[str, Any]:
    """A recoding that is decided; an empty level leaves it to the planner again."""
    name, level = word(form, "field"), word(form, "level")
    recoding = dict(content.get("recoding", {}))
    fixed = {key: value for key, value in recoding.pop("fixed", {}).items() if key != name}
    fixed |= {name: level} if level else {}
    recoding |= {"fixed": fixed} if fixed else {}
    rest = {key: value for key, value in content.items() if key != "recoding"}
    return {**rest, "recoding": recoding} if recoding else rest
