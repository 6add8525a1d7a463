"""An invented business survey of an invented country, Meridia: for demonstrations, tests and timings.

Nothing in it is real. Like a real one it is skewed (a few giants), clustered (districts have their own industries) and
owned (holdings with enterprises in several cells), so that the rules find sensitive cells at the leaves and above them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from statveil.core.arrays import FloatArray, IntArray
from statveil.core.errors import InputError
from statveil.data.hierarchy import Hierarchy

Branch = tuple[str, str, str]

REGIONS: tuple[Branch, ...] = (
    ("N", "Total", "Northmark"),
    ("N1", "N", "Fjordland"),
    ("N11", "N1", "Isvik"),
    ("N12", "N1", "Skarholm"),
    ("N13", "N1", "Vesterhavn"),
    ("N2", "N", "Upper Tarn"),
    ("N21", "N2", "Tarnstead"),
    ("N22", "N2", "Grimsel"),
    ("C", "Total", "Midlands"),
    ("C1", "C", "Capital Basin"),
    ("C11", "C1", "Aurelia City"),
    ("C12", "C1", "Aurelia Ring"),
    ("C13", "C1", "Lindenau"),
    ("C2", "C", "Weald"),
    ("C21", "C2", "Oakhurst"),
    ("C22", "C2", "Brambury"),
    ("S", "Total", "Southshore"),
    ("S1", "S", "Costa Clara"),
    ("S11", "S1", "Port Salina"),
    ("S12", "S1", "Marisol"),
    ("S13", "S1", "Isla Verde"),
    ("S2", "S", "Dry Hills"),
    ("S21", "S2", "Montalba"),
    ("S22", "S2", "Quercia"),
)

INDUSTRIES: tuple[Branch, ...] = (
    ("C", "Total", "Manufacturing"),
    ("10", "C", "Food products"),
    ("10.1", "10", "Meat"),
    ("10.11", "10.1", "Processing of meat"),
    ("10.13", "10.1", "Meat products"),
    ("10.7", "10", "Bakery products"),
    ("10.71", "10.7", "Bread and fresh pastry"),
    ("10.73", "10.7", "Pasta"),
    ("25", "C", "Metal products"),
    ("25.1", "25", "Structural metal"),
    ("25.11", "25.1", "Metal structures"),
    ("25.12", "25.1", "Metal doors and windows"),
    ("25.6", "25", "Treatment of metals"),
    ("25.61", "25.6", "Coating of metals"),
    ("25.62", "25.6", "Machining"),
    ("F", "Total", "Construction"),
    ("41", "F", "Buildings"),
    ("41.2", "41", "Construction of buildings"),
    ("41.21", "41.2", "Residential buildings"),
    ("41.22", "41.2", "Other buildings"),
    ("43", "F", "Specialised construction"),
    ("43.2", "43", "Installation"),
    ("43.21", "43.2", "Electrical installation"),
    ("43.22", "43.2", "Plumbing and heating"),
    ("43.3", "43", "Completion and finishing"),
    ("43.32", "43.3", "Joinery"),
    ("43.34", "43.3", "Painting and glazing"),
    ("G", "Total", "Trade"),
    ("45", "G", "Motor vehicles"),
    ("45.1", "45", "Sale of vehicles"),
    ("45.11", "45.1", "Sale of cars"),
    ("45.19", "45.1", "Sale of lorries"),
    ("45.2", "45", "Repair of vehicles"),
    ("45.21", "45.2", "Repair of bodies"),
    ("45.22", "45.2", "Tyres and maintenance"),
    ("46", "G", "Wholesale trade"),
    ("46.3", "46", "Food and drink"),
    ("46.31", "46.3", "Fruit and vegetables"),
    ("46.34", "46.3", "Beverages"),
    ("46.7", "46", "Other specialised wholesale"),
    ("46.71", "46.7", "Fuels"),
    ("46.73", "46.7", "Wood and building materials"),
    ("47", "G", "Retail trade"),
    ("47.1", "47", "Non-specialised stores"),
    ("47.11", "47.1", "Supermarkets"),
    ("47.19", "47.1", "Department stores"),
    ("47.7", "47", "Other goods in specialised stores"),
    ("47.71", "47.7", "Clothing"),
    ("47.73", "47.7", "Pharmacies"),
    ("H", "Total", "Transport"),
    ("49", "H", "Land transport"),
    ("49.3", "49", "Passenger transport"),
    ("49.31", "49.3", "Urban transport"),
    ("49.32", "49.3", "Taxis"),
    ("49.4", "49", "Freight by road"),
    ("49.41", "49.4", "Freight transport by road"),
    ("49.42", "49.4", "Removal services"),
    ("52", "H", "Support of transport"),
    ("52.1", "52", "Warehousing"),
    ("52.10", "52.1", "Warehousing and storage"),
    ("52.2", "52", "Handling"),
    ("52.24", "52.2", "Cargo handling"),
    ("52.29", "52.2", "Forwarding"),
    ("I", "Total", "Accommodation and food"),
    ("55", "I", "Accommodation"),
    ("55.1", "55", "Hotels"),
    ("55.10", "55.1", "Hotels and similar"),
    ("55.2", "55", "Holiday accommodation"),
    ("55.20", "55.2", "Holiday and short-stay accommodation"),
    ("56", "I", "Food and drink service"),
    ("56.1", "56", "Restaurants"),
    ("56.11", "56.1", "Restaurants"),
    ("56.12", "56.1", "Mobile food service"),
    ("56.3", "56", "Bars"),
    ("56.30", "56.3", "Beverage serving"),
    ("J", "Total", "Information and communication"),
    ("62", "J", "Computer services"),
    ("62.0", "62", "Programming and consultancy"),
    ("62.01", "62.0", "Programming"),
    ("62.02", "62.0", "Consultancy"),
    ("63", "J", "Information services"),
    ("63.1", "63", "Data processing"),
    ("63.11", "63.1", "Data processing and hosting"),
    ("63.12", "63.1", "Web portals"),
)

SIZES: tuple[Branch, ...] = (
    ("1-9", "Total", "Micro: 1 to 9 persons"),
    ("10-49", "Total", "Small: 10 to 49 persons"),
    ("50-249", "Total", "Medium: 50 to 249 persons"),
    ("250+", "Total", "Large: 250 persons or more"),
)


SIZE_EDGES = (10, 50, 250)
"""Employment at which the second, third and fourth size class begin."""

SPECIALISATION = 0.9
"""Spread (in logarithms) of how much of an industry a district has; the thinnest part of it is left out."""
SHARE_LEFT_OUT = 0.25

EMPLOYMENT_TAIL = 1.05
"""Pareto exponent of employment: the smaller, the larger the giants."""
SMALLEST_EMPLOYMENT, LARGEST_EMPLOYMENT = 2, 12_000

TURNOVER_SPREAD = 0.95
SHARE_WITHOUT_TURNOVER = 0.004
HOLDING_MEMBERS = 6
HOLDING_REACH = 0.5
"""Enterprises that a holding owns on average, and how far apart they lie in the order of industries and districts."""


def region_tree() -> Hierarchy:
    """Parts of the country, regions, districts."""
    return _tree(REGIONS)


def industry_tree() -> Hierarchy:
    """Sections, divisions, groups, classes: codes in the manner of NACE."""
    return _tree(INDUSTRIES)


def size_tree() -> Hierarchy:
    """Classes of employment."""
    return _tree(SIZES)


def enterprises(records: int = 40_000, *, seed: int = 1) -> pa.Table:
    """That many enterprises; the same seed gives the same ones.

    Columns: enterprise, region, industry, size, turnover (thousands), employment, holding (its own id where an enterprise
    is independent), weight (how many enterprises the record stands for; 1 in the size classes surveyed in full).
    """
    if records < 1:
        raise InputError(f"enterprises: records must be 1 or more, not {records}.")
    random = np.random.Generator(np.random.PCG64(seed))
    district, industry = _places(random, records)
    employment = _employment(random, records)
    size = np.digitize(employment, SIZE_EDGES)
    return pa.table(
        {
            "enterprise": _ids("E", np.arange(1, records + 1)),
            "region": _codes(region_tree(), district),
            "industry": _codes(industry_tree(), industry),
            "size": _codes(size_tree(), size),
            "turnover": pa.array(_turnover(random, employment, industry)),
            "employment": pa.array(employment),
            "holding": _holdings(random, employment, district, industry),
            "weight": pa.array(_weights(random, size)),
        }
    )


def _tree(branches: tuple[Branch, ...]) -> Hierarchy:
    return Hierarchy(parent={code: above for code, above, _ in branches}, labels={code: label for code, _, label in branches})


def _codes(tree: Hierarchy, index: IntArray) -> Any:
    return pa.array(tree.leaves).take(pa.array(index))


def _ids(letter: str, numbers: IntArray) -> Any:
    return pc.binary_join_element_wise(letter, pc.utf8_lpad(pa.array(numbers).cast(pa.string()), 8, "0"), "")


def _places(random: np.random.Generator, records: int) -> tuple[IntArray, IntArray]:
    """District and industry of each enterprise, drawn together from a table of how common each pair is.

    The table is the same for every seed and size: the country does not change, only the sample.
    """
    country = np.random.Generator(np.random.PCG64(20_11))
    districts, industries = len(region_tree().leaves), len(industry_tree().leaves)
    common = np.outer(country.lognormal(0, 0.6, districts), country.lognormal(0, 0.9, industries))
    common *= country.lognormal(0, SPECIALISATION, common.shape)
    common[common < np.quantile(common, SHARE_LEFT_OUT)] = 0
    pair = np.searchsorted(np.cumsum(common.ravel()) / common.sum(), random.random(records), side="right")
    district, industry = np.divmod(np.minimum(pair, common.size - 1), industries)
    return district, industry


def _employment(random: np.random.Generator, records: int) -> IntArray:
    """Pareto, cut off at the largest employer the country can have."""
    smallest_share = (SMALLEST_EMPLOYMENT / LARGEST_EMPLOYMENT) ** EMPLOYMENT_TAIL
    uniform = random.uniform(smallest_share, 1, records)
    return np.floor(SMALLEST_EMPLOYMENT * uniform ** (-1 / EMPLOYMENT_TAIL)).astype(np.int64)


def _turnover(random: np.random.Generator, employment: IntArray, industry: IntArray) -> IntArray:
    """Employment times what a person brings in, which depends on the industry and on luck."""
    per_person = 60 * 1.06 ** (industry % 17)
    luck = random.lognormal(0, TURNOVER_SPREAD, employment.size)
    active = random.random(employment.size) >= SHARE_WITHOUT_TURNOVER
    return np.where(active, np.rint(employment * per_person * luck), 0).astype(np.int64)


def _holdings(random: np.random.Generator, employment: IntArray, district: IntArray, industry: IntArray) -> Any:
    """The larger an enterprise, the likelier a holding owns it, together with others in similar trades and places."""
    owned = random.random(employment.size) < np.clip(0.25 * np.log10(employment / 4), 0, 0.9)
    neighbourhood = industry * (district.max() + 1) + district + HOLDING_REACH * random.standard_cauchy(employment.size)
    in_order = np.argsort(np.where(owned, neighbourhood, np.inf), kind="stable")
    group = np.empty(employment.size, dtype=np.int64)
    group[in_order] = np.cumsum(random.random(employment.size) < 1 / HOLDING_MEMBERS)
    return pc.if_else(pa.array(owned), _ids("H", group), _ids("E", np.arange(1, employment.size + 1)))


def _weights(random: np.random.Generator, size: IntArray) -> FloatArray:
    """Small enterprises are sampled, the larger ones all surveyed; quarters stand for non-response."""
    design = np.array([4.0, 1.5, 1.0, 1.0])[size]
    return np.where(size < 2, design + random.integers(0, 4, size.size) / 4, 1.0)
