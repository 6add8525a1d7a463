"""The description of the API (OpenAPI) as its page tells it: operations with examples, and what answers hold."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode


@dataclass(frozen=True, kw_only=True)
class ApiExample:
    """A request that works on the demonstration. `body` is JSON, or nothing."""

    method: str
    address: str
    words: str = ""
    body: str = ""


def operations(described: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What the page tells about each operation."""
    return [
        {
            "method": method.upper(),
            "path": path,
            "summary": told.get("summary", ""),
            "parameters": [_parameter(one) for one in told.get("parameters", [])],
            "examples": list(examples(method, path, told)),
            "answers": [(status, answer["description"], _schema_of(answer)) for status, answer in sorted(told["responses"].items())],
        }
        for path, methods in described["paths"].items()
        for method, told in methods.items()
    ]


def examples(method: str, path: str, told: Mapping[str, Any]) -> Iterator[ApiExample]:
    """The requests that the description's own examples make; none where a part of the path has no example."""
    given = [(one, one["schema"]["examples"][0]) for one in told.get("parameters", []) if "examples" in one["schema"]]
    here = path
    for one, value in given:
        here = here.replace("{" + one["name"] + "}", quote(_text(value), safe="")) if one["in"] == "path" else here
    if "{" in here:
        return
    bodies = told.get("requestBody", {}).get("content", {}).get("application/json", {}).get("examples", {})
    for each in bodies.values():
        yield ApiExample(method=method.upper(), address=here, words=each["summary"], body=json.dumps(each["value"]))
    if not bodies:
        pairs = [(one["name"], _text(value)) for one, values in given if one["in"] == "query" for value in _listed(values)]
        yield ApiExample(method=method.upper(), address=f"{here}?{urlencode(pairs, quote_via=quote, safe=':')}" if pairs else here)


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _parameter(one: Mapping[str, Any]) -> dict[str, Any]:
    words = one.get("description", "").replace("`", "")
    return {"name": one["name"], "place": one["in"], "required": one.get("required", False), "words": words}


def _schema_of(answer: Mapping[str, Any]) -> str:
    """The name of what an answer holds."""
    return next((_kind(each["schema"]) for each in answer.get("content", {}).values() if "$ref" in each.get("schema", {})), "")


def schemas(described: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Each kind of answer with its fields."""
    return [
        {
            "name": name,
            "words": told.get("description", ""),
            "fields": [(field, _kind(one), one.get("description", "")) for field, one in told["properties"].items()],
        }
        for name, told in sorted(described["components"]["schemas"].items())
        if "properties" in told
    ]


def _kind(schema: Mapping[str, Any]) -> str:
    """A schema in a few words."""
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if "anyOf" in schema:
        return " or ".join(_kind(each) for each in schema["anyOf"])
    if schema.get("type") == "array":
        return f"list of {_kind(schema.get('items', {}))}"
    if isinstance(schema.get("additionalProperties"), dict):
        return f"mapping to {_kind(schema['additionalProperties'])}"
    return json.dumps(schema["const"]) if "const" in schema else str(schema.get("type", "anything"))
