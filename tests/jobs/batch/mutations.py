"""Damaged files, and the reader that each kind of file goes through."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from statveil.formats.argus.apriori import read_apriori
from statveil.formats.argus.metadata import read_metadata
from statveil.formats.argus.outputs import read_code_value
from statveil.formats.argus.records import dimension_trees, read_records
from statveil.formats.argus.tab import read_cells
from statveil.formats.argus.trees import read_labels, read_recoding, read_tree
from statveil.formats.system import read_system
from tests.formats.argus.batches import read_batch

LONGEST = 40_000
"""Bytes of a sample that are used: a damaged line is as damaged in a short file."""


def read_asc(path: Path) -> Any:
    metadata = read_metadata(path.with_suffix(".rda"), table=False)
    data = read_records(path, metadata)
    return [dimension_trees(data, metadata, each, folders=[path.parent]) for each in metadata.variables if each.recodable]


def read_rda(path: Path) -> Any:
    """The metadata, and the table or the records beside them."""
    metadata = read_metadata(path)
    if path.with_suffix(".tab").exists():
        return read_cells(path.with_suffix(".tab"), path)
    return read_asc(path.with_suffix(".asc")) if path.with_suffix(".asc").exists() else metadata


READERS: dict[str, Callable[[Path], Any]] = {
    ".rda": read_rda,
    ".hrc": read_tree,
    ".cdl": read_labels,
    ".grc": read_recoding,
    ".hst": read_apriori,
    ".arb": read_batch,
    ".tab": read_cells,
    ".asc": read_asc,
    ".txt": lambda path: read_code_value(path, dimensions=2),
    ".jj": lambda path: read_system(path, non_additive=True),
}
PAIRS = {"metadata_ex1": "tabdata_ex1", "metadata_ex2": "microdata_ex2", "Tau_TestW": "tau_testW"}
"""Metadata that are not called like their data."""


def collect(shared: Path, folder: Path) -> list[Path]:
    """Copies of the samples under plain names, cut to a length that takes no time."""
    sources = [path for path in sorted((shared / "tauargus").rglob("*")) if path.suffix.lower() in READERS and "cellkey" not in str(path)]
    sources += [path for path in sorted((shared / "tauargus" / "tauargus" / "cellkey").rglob("*.*")) if path.suffix in (".rda", ".hrc")]
    found = [_copy(each, folder / each.parent.name / f"{PAIRS.get(each.stem, each.stem)}{each.suffix.lower()}") for each in sources]
    shutil.copy(next(path for path in found if path.name == "tau_testW.rda"), folder / "Simple2D_InputData" / "tau_testW.rda")
    found += [_copy(shared / "csplib" / f"{name}.jj", folder / "csplib" / f"{name}.jj") for name in ("cox_kelly_4x9", "targus")]
    return found


def _copy(source: Path, target: Path) -> Path:
    target.parent.mkdir(exist_ok=True, parents=True)
    content = source.read_bytes()
    cut = content if source.suffix == ".jj" else content[: content.rfind(b"\n", 0, LONGEST) + 1] or content
    target.write_bytes(cut if len(content) > LONGEST else content)
    return target


def damaged(content: bytes, rng: np.random.Generator) -> bytes:
    """The content with one to three of the things that go wrong with files."""
    for _ in range(int(rng.integers(1, 4))):
        content = MUTATIONS[int(rng.integers(len(MUTATIONS)))](content, rng)
    return content


def _at(content: bytes, rng: np.random.Generator) -> int:
    return int(rng.integers(0, max(len(content), 1)))


def _truncated(content: bytes, rng: np.random.Generator) -> bytes:
    return content[: _at(content, rng)]


def _swapped(content: bytes, rng: np.random.Generator) -> bytes:
    one, other = sorted((_at(content, rng), _at(content, rng)))
    if one == other:
        return content
    return content[:one] + content[other : other + 1] + content[one + 1 : other] + content[one : one + 1] + content[other + 1 :]


def _other_bytes(content: bytes, rng: np.random.Generator) -> bytes:
    at = _at(content, rng)
    return content[:at] + rng.integers(0, 256, size=int(rng.integers(1, 9)), dtype=np.uint8).tobytes() + content[at + 1 :]


def _nul(content: bytes, rng: np.random.Generator) -> bytes:
    at = _at(content, rng)
    return content[:at] + b"\0" * int(rng.integers(1, 4)) + content[at:]


def _number(content: bytes, rng: np.random.Generator, new: Callable[[bytes], bytes]) -> bytes:
    places = list(re.finditer(rb"\d+", content))
    if not places:
        return content
    place = places[int(rng.integers(len(places)))]
    return content[: place.start()] + new(place[0]) + content[place.end() :]


def _huge(content: bytes, rng: np.random.Generator) -> bytes:
    huge = (b"9" * 400, b"1e999999999", b"99999999999999999999", b"-1", b"1e308", b"4294967296", b"0" * 300)
    return _number(content, rng, lambda _old: huge[int(rng.integers(len(huge)))])


def _wrong_count(content: bytes, rng: np.random.Generator) -> bytes:
    return _number(content, rng, lambda old: str(int(old[:15]) + int(rng.integers(-3, 1000))).encode())


def _lines(content: bytes, rng: np.random.Generator) -> bytes:
    lines = content.splitlines(keepends=True)
    if not lines:
        return content
    at, kind = int(rng.integers(len(lines))), int(rng.integers(4))
    changed = {0: [], 1: [lines[at]] * 2, 2: [lines[at][: len(lines[at]) // 2]], 3: [lines[int(rng.integers(len(lines)))]]}[kind]
    return b"".join([*lines[:at], *changed, *lines[at + 1 :]])


def _marks(content: bytes, rng: np.random.Generator) -> bytes:
    at = _at(content, rng)
    mark = (b'"', b"<", b">", b";", b",", b"(", b")", b"\t", b"\r", b"\n", b"@", b"-", b"|", b"//", b"\xff\xfe", b"\xef\xbb\xbf")
    return content[:at] + mark[int(rng.integers(len(mark)))] * int(rng.integers(1, 50)) + content[at:]


MUTATIONS = (_truncated, _swapped, _other_bytes, _nul, _huge, _wrong_count, _lines, _marks)


def mutants(samples: list[Path], wanted: int, seed: int) -> Iterator[tuple[Path, bytes]]:
    """(sample, damaged content), as many as wanted, the samples in turn."""
    rng = np.random.default_rng(seed)
    for number in range(wanted):
        sample = samples[number % len(samples)]
        yield sample, damaged(sample.read_bytes(), rng)
