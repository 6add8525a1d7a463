"""An answer as a file, by the writers of `statveil.publish`. The same answer gives the same bytes in any process and any year:
neither clock nor version gets in.
"""

from __future__ import annotations

import io
import json
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import cast

import numpy as np
import pyarrow.parquet as pq

from statveil.core.arrays import frozen_array
from statveil.core.provenance import Provenance
from statveil.data.hierarchy import Hierarchy
from statveil.publish.formats import export, json_stat, pc_axis
from statveil.publish.formats.export import require_excel, write_workbook
from statveil.publish.formats.frames import TableWords, frame
from statveil.publish.formats.json_stat import PublishedTable
from statveil.publish.formats.sdmx import sdmx_columns
from statveil.publish.release import Release
from statveil.server.engine.answer import AnsweredDimension, AnsweredTable, title
from statveil.server.engine.notes import notes
from statveil.server.web import problems
from statveil.server.web.pages.html import table_page
from statveil.tables.spec import Dimension
from statveil.tables.table import ProtectedTable, View


@dataclass(frozen=True, kw_only=True)
class ShownDimension(Dimension):
    """A dimension of which only some codes are shown: they need not hang together in a tree."""

    trees: tuple[Hierarchy, ...] = ()
    shown: tuple[str, ...]
    labels: Mapping[str, str]
    below: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Nothing to check: the codes were checked when the table was made."""

    @cached_property
    def codes(self) -> tuple[str, ...]:
        return self.shown

    @cached_property
    def children(self) -> Mapping[str, tuple[str, ...]]:
        return self.below

    def label(self, code: str) -> str:
        return self.labels[code]


def dimension_of(answered: AnsweredDimension) -> Dimension:
    """The tree of the codes shown where they are one, else the codes with what hangs together."""
    parent = {code: above for code, above in zip(answered.codes, answered.parents, strict=True) if above is not None}
    labels = dict(zip(answered.codes, answered.labels, strict=True))
    tops = [code for code in answered.codes if code not in parent]
    if len(tops) == 1 and parent:
        tree = Hierarchy(parent=parent, total=tops[0], labels={code: label for code, label in labels.items() if label != code})
        if tree.codes == answered.codes:
            return Dimension(name=answered.id, trees=(tree,))
    below: dict[str, tuple[str, ...]] = {}
    for code, above in parent.items():
        below[above] = (*below.get(above, ()), code)
    return ShownDimension(name=answered.id, shown=answered.codes, labels=labels, below=below)


def published(answer: AnsweredTable) -> PublishedTable:
    """The answer as the writers know tables; a position without a number is one of their structural ones."""
    coordinates = np.stack(np.unravel_index(np.arange(answer.values.size), answer.values.shape), axis=1).astype(np.int64)
    there = ~answer.missing.ravel()
    view = View(
        name=title(answer),
        dimensions=tuple(dimension_of(dimension) for dimension in answer.dimensions),
        coordinates=frozen_array(coordinates[there]),
        cell=frozen_array(np.arange(int(there.sum()))),
        structural=frozen_array(coordinates[~there]),
    )
    protected = ProtectedTable(views=(view,), value=frozen_array(answer.values.ravel()[there]), decimals=answer.decimals)
    return PublishedTable(protected=protected, provenance=Provenance(parameters={}, input_hash="", release_hash=answer.hash, software={}))


def _release(answer: AnsweredTable) -> tuple[Release, View]:
    """The writers ask no more of a release than a published table has."""
    made = published(answer)
    return cast(Release, made), made.protected.views[0]


def words_of(answer: AnsweredTable) -> TableWords:
    """What files say beside the numbers."""
    names = {each.id: each.label for each in answer.dimensions}
    return TableWords(unit=answer.unit, notes=notes(answer), names=names, withheld=answer.withheld)


def _json_stat(answer: AnsweredTable) -> bytes:
    return json_stat.dataset_text(*_release(answer), words_of(answer)).encode()


def _csv(answer: AnsweredTable) -> bytes:
    return export.csv_bytes(frame(*_release(answer), "external", words_of(answer)))


def _csv_metadata(answer: AnsweredTable) -> bytes:
    """What the CSV file itself has no room for, as W3C's Metadata Vocabulary for Tabular Data has it: title, unit, notes, columns."""
    words = words_of(answer)
    *codes, value = [column.name for column in frame(*_release(answer), "external", words)]
    columns: list[dict[str, object]] = [{"name": name, "titles": name, "datatype": "string"} for name in codes]
    columns.append(
        {"name": value, "titles": value, "datatype": "decimal", "null": [words.withheld or ""], "schema:unitText": words.unit or ""}
    )
    told = {
        "@context": "http://www.w3.org/ns/csvw",
        "url": f"{answer.hash}?format=csv",
        "dc:title": title(answer),
        "notes": list(words.notes),
        "tableSchema": {"columns": columns},
    }
    return json.dumps(told, ensure_ascii=False, indent=1, sort_keys=True).encode()


def _sdmx_csv(answer: AnsweredTable) -> bytes:
    return export.csv_bytes(sdmx_columns(*_release(answer), "2.0", words_of(answer)))


def _pc_axis(answer: AnsweredTable) -> bytes:
    return pc_axis.file_text(*_release(answer), words_of(answer)).encode()


def _parquet(answer: AnsweredTable) -> bytes:
    file, words = io.BytesIO(), words_of(answer)
    told = {"statveil.release": answer.hash, "statveil.unit": words.unit, "statveil.notes": "\n".join(words.notes)}
    table = export.arrow_table(frame(*_release(answer), "external", words), told)
    pq.write_table(table, file, compression="zstd")
    return file.getvalue()


def _excel(answer: AnsweredTable) -> bytes:
    require_excel()
    release, view = _release(answer)
    words = words_of(answer)
    with tempfile.TemporaryDirectory(prefix="statveil-") as folder:
        path = Path(folder) / "table.xlsx"
        write_workbook(frame(release, view, "external", words), path, view.name, words.notes)
        return path.read_bytes()


def _html(answer: AnsweredTable) -> bytes:
    return table_page(answer).encode()


@dataclass(frozen=True, kw_only=True)
class Format:
    """A way to write a table: its short name, its media type, the ending of its files."""

    name: str
    words: str
    media_type: str
    ending: str
    write: Callable[[AnsweredTable], bytes]


FORMATS: tuple[Format, ...] = (
    Format(name="json", words="JSON-stat 2.0", media_type="application/json", ending="json", write=_json_stat),
    Format(name="csv", words="CSV", media_type="text/csv", ending="csv", write=_csv),
    Format(
        name="csv-metadata",
        words="Unit and notes of the CSV",
        media_type="application/csvm+json",
        ending="csv-metadata.json",
        write=_csv_metadata,
    ),
    Format(name="sdmx-csv", words="SDMX-CSV 2.0", media_type="application/vnd.sdmx.data+csv", ending="sdmx.csv", write=_sdmx_csv),
    Format(name="px", words="PC-Axis", media_type="text/x-pcaxis", ending="px", write=_pc_axis),
    Format(
        name="xlsx",
        words="Excel",
        media_type="application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        ending="xlsx",
        write=_excel,
    ),
    Format(name="parquet", words="Parquet", media_type="application/vnd.apache.parquet", ending="parquet", write=_parquet),
    Format(name="html", words="HTML", media_type="text/html", ending="html", write=_html),
)
BY_NAME = {each.name: each for each in FORMATS}


def choose(wanted: str | None, accept: str) -> Format:
    """The format named, else the one that the Accept header likes best, else JSON-stat."""
    if wanted is not None:
        if wanted not in BY_NAME:
            raise problems.request_problem(f"Unknown format {wanted[:40]!r}.", advice=f"Known: {', '.join(BY_NAME)}.")
        return BY_NAME[wanted]
    for liked in _liked(accept):
        for each in FORMATS:
            if _matches(liked, each.media_type):
                return each
    raise problems.Problem(
        status=406,
        code="not-acceptable",
        title="None of the formats that you accept is on offer.",
        advice="On offer: " + ", ".join(f"{each.media_type} (?format={each.name})" for each in FORMATS),
    )


def _liked(accept: str) -> list[str]:
    """Media types by falling preference, in the order given where it is the same; all are welcome if none is named."""
    found: list[tuple[float, str]] = []
    for part in accept.split(","):
        kind, *parameters = (word.strip().lower() for word in part.split(";"))
        weights = [word[2:] for word in parameters if word.startswith("q=")]
        found.append((_weight(weights[0]) if weights else 1.0, kind))
    named = [kind for weight, kind in sorted(found, key=lambda pair: -pair[0]) if weight > 0 and kind]
    return named if any(kind for _, kind in found) else ["*/*"]


def _weight(text: str) -> float:
    try:
        return max(0.0, min(1.0, float(text)))
    except ValueError:
        return 0.0


def _matches(liked: str, media_type: str) -> bool:
    return liked in ("*/*", media_type, media_type.split("/", maxsplit=1)[0] + "/*")
