"""What the forms do to a job: functions from its content to the new one. What a form does not name stays as it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from statveil.core.errors import InputError
from statveil.desk.forms import Words, number, word
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


def first_table(content: Mapping[str, Any]) -> dict[str, Any]:
    table = content.get("table", {})
    return dict(table[0] if isinstance(table, list) else table)


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


def with_table(content: dict[str, Any], form: Words) -> dict[str, Any]:
    """Dimensions, measure, holding and weight; several linked tables are edited by hand."""
    if isinstance(content.get("table"), list) and len(content["table"]) > 1:
        raise InputError("This job has several linked tables.", hint="Edit them in job.toml; the desk runs them as they are.")
    chosen = form.get("dimension", [])
    if not chosen:
        raise InputError("A table needs at least one dimension.")
    table = {key: value for key, value in first_table(content).items() if key not in ("measure", "holding", "weight", "dimensions")}
    table |= {key: word(form, key) for key in ("measure", "holding", "weight") if word(form, key)}
    if word(form, "name"):
        table["name"] = word(form, "name")[:80]
    return {**content, "table": {**table, "dimensions": {name: _tree(name, form) for name in chosen}}}


def _tree(name: str, form: Words) -> dict[str, Any] | str:
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


def with_protection(content: dict[str, Any], form: Words) -> dict[str, Any]:
    chosen = {key: word(form, key) for key in ("norm", "weights", "method", "attacks") if word(form, key)}
    limits = {"seconds": number(word(form, "seconds"), "seconds")} if word(form, "seconds") else {}
    return {**content, "protection": {**content.get("protection", {}), **chosen}, "limits": {**content.get("limits", {}), **limits}}
