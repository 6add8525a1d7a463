"""An invented business register for the table server: 100,000 records, 50 districts x 80 industries x 6 sizes x 5 legal forms.

Nothing in it is real. Few places and trades hold most of the records and a few owners most of the turnover, so that tables have
thousands of sensitive cells, and pairs of safe ones that differ by a single record.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from statveil.core.arrays import FloatArray, IntArray
from statveil.core.errors import InputError

DISTRICTS, INDUSTRIES, SIZES, FORMS = 50, 80, 6, 5
DIMENSIONS = ("district", "industry", "size", "form")
CONFIG = """\
[key]
file = "secret.key"
[store]
file = "store.sqlite"
[[dataset]]
id = "register"
file = "register.parquet"
unit = "unit"
holding = "holding"
filters = [{filters}]
measure = [{{ id = "turnover", column = "turnover" }}, {{ id = "persons", column = "persons" }}, {{ id = "units", count = true }}]
rule = [{{ type = "p-percent", p = 10 }}, {{ type = "minimum-frequency", n = 3, level = 10 }}]
[dataset.dimensions]
{dimensions}
"""
_LEVELS = {
    "district": '{ digits = [1, 1], levels = ["part", "district"] }',
    "industry": '{ digits = [1, 1], levels = ["section", "industry"] }',
}
SHARE_OWNED = 0.03
"""Records that belong to the holding of another one: of 100,000 records about 97,000 holdings are left."""


def register(records: int = 100_000, *, seed: int = 1) -> pa.Table:
    """That many records; the same seed gives the same ones.

    Columns: unit, holding, district and industry (codes of two digits; the first is a coarser group), size, form, turnover, persons.
    """
    if records < 1:
        raise InputError(f"register: records must be 1 or more, not {records}.")
    random = np.random.Generator(np.random.PCG64(seed))
    district = _drawn(random, records, DISTRICTS, 0.9)
    industry = _drawn(random, records, INDUSTRIES, 0.9)
    persons = np.minimum(np.floor(random.pareto(1.1, records) + 1), 20_000).astype(np.int64)
    size = np.digitize(persons, (2, 5, 10, 50, 250))
    form = _drawn(random, records, FORMS, 1.2)
    turnover = np.rint(persons * random.lognormal(4.0, 1.0, records)).astype(np.int64)
    turnover[random.random(records) < 0.01] = 0
    return pa.table(
        {
            "unit": _codes("U", np.arange(records), 7),
            "holding": _codes("H", _owners(random, records), 7),
            "district": _codes("", district, 2),
            "industry": _codes("", industry, 2),
            "size": _codes("S", size, 1),
            "form": _codes("F", form, 1),
            "turnover": pa.array(turnover),
            "persons": pa.array(persons),
        }
    )


def write_register_server(
    folder: Path, records: int = 100_000, *, dimensions: Sequence[str] = DIMENSIONS, levels: bool = False, more: str = ""
) -> Path:
    """The register and a server's configuration for it, whose path is returned; the key is left to whoever starts the server.

    `levels` puts coarser groups above districts and industries; `more` is put before the rest, such as a [web] part.
    """
    pq.write_table(register(records), folder / "register.parquet")
    filters = ", ".join(f'"{name}"' for name in dimensions if name in ("size", "form"))
    lines = "\n".join(f"{name} = {_LEVELS.get(name, '{}') if levels else '{}'}" for name in dimensions)
    path = folder / "server.toml"
    path.write_text(more + CONFIG.format(filters=filters, dimensions=lines), encoding="utf-8", newline="\n")
    return path


def _drawn(random: np.random.Generator, records: int, codes: int, skew: float) -> IntArray:
    """Codes drawn with frequencies that fall like a power of their rank."""
    share: FloatArray = np.arange(1, codes + 1, dtype=np.float64) ** -skew
    return random.permutation(codes)[random.choice(codes, records, p=share / share.sum())].astype(np.int64)


def _owners(random: np.random.Generator, records: int) -> IntArray:
    """Its own number, or that of another record drawn at random."""
    owned = random.random(records) < SHARE_OWNED
    return np.where(owned, random.integers(0, records, records), np.arange(records)).astype(np.int64)


def _codes(letter: str, numbers: IntArray, width: int) -> pa.Array:
    return pa.array([f"{letter}{number:0{width}d}" for number in numbers.tolist()])
