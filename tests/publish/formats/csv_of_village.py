"""Releases written as CSV and read again."""

from __future__ import annotations

import csv
from pathlib import Path

from statveil.publish.formats import export
from statveil.publish.read_back.csv_file import PublicTable

WRITERS = [export.write_csv, export.write_parquet, export.write_excel, export.write_json_stat, export.write_sdmx_csv]
JSON_STAT = {
    "type": "object",
    "required": ["version", "class", "id", "size", "dimension", "value"],
    "properties": {
        "version": {"const": "2.0"},
        "class": {"const": "dataset"},
        "label": {"type": "string"},
        "id": {"type": "array", "items": {"type": "string"}, "minItems": 1, "uniqueItems": True},
        "size": {"type": "array", "items": {"type": "integer", "minimum": 1}},
        "value": {
            "oneOf": [
                {"type": "array", "items": {"type": ["number", "null"]}},
                {"type": "object", "propertyNames": {"pattern": "^[0-9]+$"}, "additionalProperties": {"type": ["number", "null"]}},
            ]
        },
        "dimension": {
            "type": "object",
            "additionalProperties": {
                "type": "object",
                "required": ["category"],
                "properties": {
                    "label": {"type": "string"},
                    "category": {
                        "type": "object",
                        "required": ["index"],
                        "additionalProperties": False,
                        "properties": {
                            "index": {"type": "array", "items": {"type": "string"}, "uniqueItems": True},
                            "label": {"type": "object", "additionalProperties": {"type": "string"}},
                            "child": {"type": "object", "additionalProperties": {"type": "array", "items": {"type": "string"}}},
                        },
                    },
                },
            },
        },
        "extension": {"type": "object"},
    },
}


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def row_codes(table: PublicTable, row: int) -> tuple[str, ...]:
    return tuple(words[place] for words, place in zip(table.codes, table.index[row], strict=True))
