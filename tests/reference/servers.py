"""Table servers in a few lines each, good and bad ones: what the attacks must break, and what they must not."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np

import statveil as sv
from statveil.audit.attacks.case import Truth
from statveil.audit.attacks.public import AnswerAxis, AnswerTable, Catalogue, Register, TableRequest, Trace
from statveil.core.errors import DisclosureRefused
from statveil.tables.spec import Dimension

RULES = (sv.PPercent(10), sv.MinimumFrequency(3, level=10))
MEASURES = ("turnover", "wages")


class Village:
    """A few hundred invented records: skewed, with zeros, holdings, and a tree of regions that can be grouped in two ways."""

    def __init__(self, records: int = 2500, seed: int = 3, *, forest: bool = False) -> None:
        rng = np.random.Generator(np.random.PCG64(seed))
        trades = sv.Hierarchy.from_dict({"T1": [f"t{n}" for n in range(6)], "T2": [f"t{n}" for n in range(6, 12)]})
        regions = [sv.Hierarchy.flat([f"r{n}" for n in range(10)])]
        if forest:
            regions = [
                sv.Hierarchy.from_dict({"east": [f"r{n}" for n in range(5)], "west": [f"r{n}" for n in range(5, 10)]}),
                sv.Hierarchy.from_dict({"coast": [f"r{n}" for n in range(0, 10, 2)], "inland": [f"r{n}" for n in range(1, 10, 2)]}),
            ]
        trees = {
            "trade": (trades,),
            "region": tuple(regions),
            "size": (sv.Hierarchy.flat(["s", "m", "l"]),),
            "form": (sv.Hierarchy.flat(["a", "b"]),),
        }
        self.dimensions = tuple(Dimension(name=name, trees=each) for name, each in trees.items())
        codes = {each.name: _drawn(each, records, rng) for each in self.dimensions}
        near = codes["trade"] * 100 + codes["region"]  # a holding owns neighbours: several records of one cell
        owner = np.where(rng.random(records) < 0.08, near, np.arange(10_000, records + 10_000))
        self.register = Register(self.dimensions, codes, owner)
        values = {name: np.ceil(rng.lognormal(3, 2.2, records)).astype(np.int64) for name in MEASURES}
        for amounts in values.values():
            amounts[rng.random(records) < 0.06] = 0
        self.values = {**values, "units": np.ones(records, dtype=np.int64)}

    def catalogue(self, *, filters: Sequence[str] = ("size", "form"), counts: bool = False, most_change: float | None = None) -> Catalogue:
        measures = (*MEASURES, "units") if counts else MEASURES
        return Catalogue(
            dimensions=self.dimensions,
            measures=measures,
            filters=tuple(filters),
            counts="units" if counts else None,
            most_change=most_change,
        )


def _drawn(dimension: Dimension, records: int, rng: np.random.Generator) -> np.ndarray:
    leaves = np.array([dimension.position[code] for code in dimension.trees[0].leaves])
    return leaves[np.minimum((rng.random(records) ** 1.7 * leaves.size).astype(int), leaves.size - 1)]


class Server:
    """Tabulates exactly; subclasses change the numbers. Filters make new populations."""

    def __init__(self, village: Village, *, catalogue: Catalogue | None = None, key: str = "key", values: dict | None = None) -> None:
        self.village, self.key = village, key
        self.catalogue = catalogue or village.catalogue()
        self.values = values or village.values
        self.truth = Truth(village.register, self.values, RULES, counts=self.catalogue.counts)
        self.asked = 0

    def ask(self, request: TableRequest) -> AnswerTable:
        self.asked += 1
        for name, _ in request.filters:
            if name not in self.catalogue.filters:
                raise DisclosureRefused("Not a filter.")
        axes = tuple(AnswerAxis(id=axis.id, codes=self._codes(axis.id, axis.codes, totals=request.totals)) for axis in request.axes)
        shape = tuple(len(axis.codes) for axis in axes)
        empty = AnswerTable(axes=axes, values=np.zeros(shape, dtype=np.int64), shown=np.ones(shape, dtype=np.bool_))
        values = self.released(request, empty).reshape(shape)
        trace = Trace(seconds=self.seconds(request, empty), body=values.tobytes(), headers={"date": str(self.asked), "etag": "x"})
        return AnswerTable(axes=axes, values=values, shown=empty.shown, trace=trace)

    def _codes(self, name: str, codes: tuple[str, ...] | None, *, totals: bool) -> tuple[str, ...]:
        dimension = self.catalogue.dimension(name)
        wanted = set(codes or dimension.trees[0].leaves)
        if totals:
            for tree in dimension.trees:
                for code in list(wanted):
                    above = tree.parent.get(code)
                    while above is not None:
                        wanted.add(above)
                        above = tree.parent.get(above)
        return tuple(code for code in dimension.codes if code in wanted)

    def released(self, request: TableRequest, table: AnswerTable) -> np.ndarray:
        return self.truth.cells(request, table).value

    def seconds(self, request: TableRequest, table: AnswerTable) -> float:
        """A time that tells nothing."""
        return 0.01 + _uniform("time", repr(request)) / 1000


class Bare(Server):
    """Publishes the truth."""


class Naive(Server):
    """Chooses senses anew for every table: averages give the truth away. It takes longer where there is something to hide."""

    def released(self, request: TableRequest, table: AnswerTable) -> np.ndarray:
        truth = self.truth.cells(request, table)
        up = np.array([_uniform(repr(request), str(cell)) < 0.5 for cell in range(truth.key.size)])
        return np.where(truth.sensitive, np.where(up, truth.value + truth.upper, truth.value - truth.lower), truth.value)

    def seconds(self, request: TableRequest, table: AnswerTable) -> float:
        return super().seconds(request, table) + 0.01 * float(self.truth.cells(request, table).sensitive.any())


class Section4(Server):
    """The paper: a sense per set of records, drawn with the key; all else is exact. `zeros` keeps records of value zero in the set."""

    zeros = False

    def released(self, request: TableRequest, table: AnswerTable) -> np.ndarray:
        truth = self.truth.cells(request, table)
        names = truth.key if self.zeros else self.truth.substance(request, table)
        up = np.array([_uniform(self.key, str(name)) < 0.5 for name in names.tolist()]) | (truth.value < truth.lower + 1)
        return np.where(truth.sensitive, np.where(up, truth.value + truth.upper, truth.value - truth.lower), truth.value)


class WithZeros(Section4):
    zeros = True


class Anchored(Server):
    """Every holding is changed for ever, by 12 to 20 percent, upwards; sums of that. Biased, but no attack finds the truth."""

    def __init__(self, village: Village, *, catalogue: Catalogue | None = None, key: str = "key", values: dict | None = None) -> None:
        super().__init__(village, catalogue=catalogue, key=key, values=values)
        self.changed = {name: self._changed(name, amounts) for name, amounts in self.values.items()}

    def _changed(self, measure: str, amounts: np.ndarray) -> np.ndarray:
        factor = np.array([0.12 + 0.08 * _uniform(self.key, self._variable(measure), str(owner)) for owner in self.village.register.owner])
        return amounts + np.ceil(amounts * factor).astype(np.int64)

    def _variable(self, measure: str) -> str:
        return measure

    def released(self, request: TableRequest, table: AnswerTable) -> np.ndarray:
        return self.village.register.sums(request, table, self.changed[request.measure])


class OneFactor(Anchored):
    """Both variables of a holding get the same factor."""

    def _variable(self, measure: str) -> str:
        return "all"


class Tripled(Server):
    """Counts everyone three times: safe, if useless."""

    def released(self, request: TableRequest, table: AnswerTable) -> np.ndarray:
        return 3 * super().released(request, table)


class ByRecord(Server):
    """Judges record by record, as if there were no holdings."""

    def released(self, request: TableRequest, table: AnswerTable) -> np.ndarray:
        register = self.village.register
        blind = Truth(Register(list(register.dimensions.values()), register.codes, np.arange(register.size)), self.values, RULES)
        truth = blind.cells(request, table)
        return np.where(truth.sensitive, truth.value + truth.upper, truth.value)


class CutAtZero(Section4):
    """Lets small cells go down, and cuts them at zero; puts numbers into empty cells."""

    def released(self, request: TableRequest, table: AnswerTable) -> np.ndarray:
        truth = self.truth.cells(request, table)
        return np.where(truth.key == 0, 1, np.where(truth.sensitive, np.maximum(truth.value - truth.lower, 0), truth.value))


class Closed(Server):
    """Refuses every filter."""

    def ask(self, request: TableRequest) -> AnswerTable:
        if request.filters:
            raise DisclosureRefused("Too close to an earlier table.")
        return super().ask(request)


def _uniform(*words: str) -> float:
    digest = hashlib.sha256("\x00".join(words).encode()).digest()
    return int.from_bytes(digest[:7], "little") / 2**56
