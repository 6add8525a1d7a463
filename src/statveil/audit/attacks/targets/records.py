"""Records as the attacks need them: places among the codes, owners, whole units."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from statveil.audit.attacks.public import Register
from statveil.core.arrays import IntArray
from statveil.data.microdata import Microdata
from statveil.data.queries.columns import units_or_one
from statveil.data.queries.tabulation import read_coded
from statveil.tables.spec import Dimension, TableSpec
from statveil.tables.tabulate.columns import check_columns


def read_records(
    data: Microdata, dimensions: Sequence[Dimension], measures: Mapping[str, str | None], *, holding: str | None, order: Sequence[str] = ()
) -> tuple[Register, dict[str, IntArray], dict[str, int]]:
    """The register, the values of each measure in units of its last decimal, and those decimals.

    `measures` maps ids to columns (None: a count). Records come in the order of the columns `order`, if any are given.
    """
    trees = {dimension.name: list(dimension.trees) for dimension in dimensions}
    specs = [TableSpec(dimensions=trees, measure=name, holding=holding, name=each) for each, name in measures.items()]
    with data.engine.session() as session:
        columns = check_columns(session, data, specs)
        numbers = {each: columns.number(name) for each, name in measures.items()}
        amounts = [units_or_one(number, number.decimals if number else 0) for number in numbers.values()]
        names = [each.name for each in dimensions]
        found = read_coded(session, data.engine, names, amounts, owner=holding, order=order)
    places = {each.name: _places(found[f"code{place}"], each) for place, each in enumerate(dimensions)}
    owners: IntArray = found["owner"].combine_chunks().dictionary_encode().indices.to_numpy().astype(np.int64)
    values = {each: found[f"amount{place}"].to_numpy().astype(np.int64) for place, each in enumerate(measures)}
    return Register(dimensions, places, owners), values, {each: columns.decimals(name) for each, name in measures.items()}


def _places(codes: object, dimension: Dimension) -> IntArray:
    encoded = codes.combine_chunks().dictionary_encode()  # type: ignore[attr-defined]
    of_code = np.array([dimension.position[code] for code in encoded.dictionary.to_pylist()], dtype=np.int64)
    return np.asarray(of_code[encoded.indices.to_numpy()], dtype=np.int64)
