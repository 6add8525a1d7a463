"""A release as data files, one per view. Same release, same bytes: no clock and no machine name gets in.

The external edition holds codes, labels and released numbers only. A structural zero is an empty field; an empty position is a zero.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from statveil.publish.formats import excel, json_stat, pc_axis, sdmx_csv, sdmx_ml
from statveil.publish.formats.files import csv_field, paths_of, write_bytes, write_whole
from statveil.publish.formats.frames import Column, Text, frame
from statveil.publish.formats.numbers import decimal_array, decimal_text

if TYPE_CHECKING:
    from statveil.publish.release import Edition, Release
    from statveil.tables.table import View


def write_csv(release: Release, path: Path, *, edition: Edition = "external") -> list[Path]:
    """Comma separated, UTF-8, decimal point, constant decimals; text that looks like a formula is guarded."""
    return _each_view(release, path, lambda view: csv_bytes(frame(release, view, edition)))


def write_json_stat(release: Release, path: Path) -> list[Path]:
    """JSON-stat 2.0 datasets with the hierarchies; external edition only."""
    return _each_view(release, path, lambda view: json_stat.dataset_text(release, view).encode())


def write_sdmx_csv(release: Release, path: Path, *, version: sdmx_csv.Version = "2.0") -> list[Path]:
    """SDMX-CSV 2.0 (or 1.0), every observation free for publication; external edition only."""
    return _each_view(release, path, lambda view: csv_bytes(sdmx_csv.columns(release, view, version)))


def write_sdmx_ml(release: Release, path: Path) -> list[Path]:
    """SDMX-ML 2.1 generic data; external edition only. Needs the extra `sdmx`."""
    sdmx_ml.require()
    return _each_view(release, path, lambda view: sdmx_ml.message_text(release, view).encode())


def write_pc_axis(release: Release, path: Path) -> list[Path]:
    """PC-Axis 2013 in UTF-8; external edition only."""
    return _each_view(release, path, lambda view: pc_axis.file_text(release, view).encode())


def write_parquet(release: Release, path: Path, *, edition: Edition = "external") -> list[Path]:
    """Text and exact decimals; the release's hash travels in the file's metadata."""

    def write(view: View, temporary: Path) -> None:
        metadata = {"statveil.publish.release": release.provenance.release_hash}
        pq.write_table(arrow_table(frame(release, view, edition), metadata), temporary, compression="zstd")

    return _each_file(release, path, write)


def write_excel(release: Release, path: Path, *, edition: Edition = "external") -> list[Path]:
    """A workbook with filters; needs the extra `excel`."""
    excel.require()
    return _each_file(release, path, lambda view, temporary: excel.write_workbook(frame(release, view, edition), temporary, view.name))


def _each_view(release: Release, path: Path, content: Callable[[View], bytes]) -> list[Path]:
    views = release.protected.views
    return [write_bytes(file, content(view)) for file, view in zip(paths_of(path, views), views, strict=True)]


def _each_file(release: Release, path: Path, write: Callable[[View, Path], None]) -> list[Path]:
    views = release.protected.views
    files = zip(paths_of(path, views), views, strict=True)
    return [write_whole(file, lambda temporary, view=view: write(view, temporary)) for file, view in files]  # type: ignore[misc]


def csv_bytes(columns: list[Column]) -> bytes:
    """The file is built column by column: the text buffer of the joined column is the file itself."""
    header = ",".join(csv_field(column.name) for column in columns) + "\n"
    fields = [_csv_column(column) for column in columns]
    lines = pc.binary_join_element_wise(*fields, pa.scalar(",", pa.large_string()), null_handling="replace", null_replacement="")
    ended = pc.binary_join_element_wise(lines, pa.scalar("\n", pa.large_string()), pa.scalar("", pa.large_string()))
    return header.encode() + (ended.buffers()[2].to_pybytes()[: pc.sum(pc.binary_length(ended)).as_py()] if len(ended) else b"")


def _csv_column(column: Column) -> Any:
    if isinstance(column, Text):
        return pa.array([csv_field(word) for word in column.words], pa.large_string()).take(pa.array(column.index))
    return decimal_text(column.units, column.decimals, column.missing)


def arrow_table(columns: list[Column], metadata: dict[str, str]) -> Any:
    arrays = [_arrow_column(column) for column in columns]
    return pa.table(arrays, names=[column.name for column in columns]).replace_schema_metadata(metadata)


def _arrow_column(column: Column) -> Any:
    if isinstance(column, Text):
        return pa.array(column.words, pa.string()).take(pa.array(column.index))
    return decimal_array(column.units, column.decimals, column.missing)
