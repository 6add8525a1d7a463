"""A table service as the target of the attacks: the officer's configuration on a store and with a key made for the occasion."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from statveil.audit.attacks.attacker import Attacker, AttackJournal, Effort
from statveil.audit.attacks.case import Case, ReverseSolver, Truth, read_records
from statveil.audit.attacks.public import AnswerAxis, AnswerTable, Catalogue, TableRequest, TableServer, added_up
from statveil.core.errors import InputError
from statveil.core.secret import SecretKey, new_key_file
from statveil.data.queries.tabulation import read_all
from statveil.jobs.server_config import DatasetPart, ServerConfig
from statveil.risk.rules import PPercent
from statveil.server.dataset.dataset import Dataset, part_spec
from statveil.server.dataset.query import DimensionChoice, TableQuery
from statveil.server.engine.answer import AnsweredTable
from statveil.server.engine.service import TableService


class AttackTargetTuning(NamedTuple):
    """Both by judgement."""

    usual_percent: float = 10.0
    """What an attacker takes for p where no p%-rule is known."""
    least_change: float = 0.005
    """How far, as a share, values wander from one period to the next in T21."""


TUNING = AttackTargetTuning()


class ServiceInProcess:
    """Asks a service about one of its data sets."""

    def __init__(self, service: TableService, part: DatasetPart, dataset: str) -> None:
        self._service, self._dataset = service, dataset
        self.catalogue = catalogue_of(service.datasets[dataset], part)

    def ask(self, request: TableRequest) -> AnswerTable:
        return added_up(lambda one: table_of(self._service.answer(query_of(one, self._dataset))), request, self.catalogue)


def query_of(request: TableRequest, dataset: str) -> TableQuery:
    choices = tuple(DimensionChoice(id=axis.id, codes=axis.codes) for axis in request.axes)
    return TableQuery(dataset=dataset, measure=request.measure, dimensions=choices, filters=dict(request.filters), totals=request.totals)


def table_of(answer: AnsweredTable) -> AnswerTable:
    axes = tuple(AnswerAxis(id=each.id, codes=each.codes) for each in answer.dimensions)
    return AnswerTable(axes=axes, values=answer.values, shown=~answer.missing, decimals=answer.decimals)


def catalogue_of(dataset: Dataset, part: DatasetPart) -> Catalogue:
    """What is public of a data set, the officer's settings of the method too: they are not counted as secret."""
    rules = [rule for rule in part.rules() if isinstance(rule, PPercent)]
    return Catalogue(
        dimensions=tuple(each.full for each in dataset.dimensions),
        measures=tuple(each.id for each in dataset.measures),
        filters=tuple(each.id for each in dataset.dimensions if each.filter),
        counts=part.count_of_records,
        percent=max((float(rule.p) for rule in rules), default=TUNING.usual_percent),
        populations=(),
    )


class ServiceOperator:
    """The operator's side of a service on a store of its own."""

    def __init__(self, config: ServerConfig, part: DatasetPart, folder: Path) -> None:
        self._config, self._part, self._folder = config, part, folder

    def open(self) -> TableService:
        return TableService.open(self._config, self._config.key())

    def reopened(self) -> Sequence[TableServer]:
        """After a restart, and a second service on the same store beside the first."""
        return [ServiceInProcess(self.open(), self._part, self._part.id) for _ in range(2)]

    def rekeyed(self) -> TableServer:
        other = SecretKey(secrets.token_bytes(32), counter=self._folder / "other.counter")
        return ServiceInProcess(TableService.open(self._config, other), self._part, self._part.id)

    def periods(self, count: int) -> Sequence[tuple[TableServer, Truth]]:
        """Further data sets of one measure with the same units and values that wander by half a percent, served with one key."""
        amount = [each for each in self._part.measure if each.column is not None][:1]
        alone = self._part.model_copy(update={"measure": amount or self._part.measure[:1], "public": []})
        parts = [later_edition(self._config, alone, self._folder, number) for number in range(count)]
        config = self._config.changed(dataset=parts, **_own_store(self._folder, "periods"))
        service = TableService.open(config, config.key())
        return [(ServiceInProcess(service, each, each.id), truth_of(config, each, service.datasets[each.id])) for each in config.datasets]


def later_edition(
    config: ServerConfig, part: DatasetPart, folder: Path, number: int, *, change: float = TUNING.least_change, still: float = 0.0
) -> dict[str, Any]:
    """The same units a period later: values wander by up to `change`, a share of the records stays `still`."""
    data = config.microdata(part)
    with data.engine.session() as session:
        table = read_all(session, data.engine)
    rng = np.random.Generator(np.random.PCG64([21, number]))
    steps = np.where(rng.random(table.num_rows) < still, 0.0, rng.uniform(-change, change, table.num_rows))
    for measure in part.measure:
        if measure.column is not None:
            place = table.column_names.index(measure.column)
            table = table.set_column(place, measure.column, _wandered(table[measure.column], steps.tolist()))
    path = folder / f"period-{number}.parquet"
    pq.write_table(table, path)
    return {**part.model_dump(mode="json", exclude_none=True), "id": f"{part.id}-{number}", "file": str(path)}


def _wandered(column: pa.ChunkedArray, steps: Sequence[float]) -> pa.Array:
    """The numbers as text, each a little higher or lower, zeros and decimals kept."""
    found = []
    for text, step in zip(column.to_pylist(), steps, strict=True):
        amount = Decimal(str(text))
        found.append(str((amount * (1 + Decimal(step))).quantize(amount)))
    return pa.array(found)


def truth_of(config: ServerConfig, part: DatasetPart, dataset: Dataset) -> Truth:
    """The values behind a data set, for scoring."""
    dimensions = catalogue_of(dataset, part).dimensions
    trees = {each.name: list(each.trees) for each in dimensions}
    specs = [part_spec(part, each, trees) for each in part.measure]
    register, values, decimals = read_records(config.microdata(part), dimensions, specs, order=part.unit_columns)
    for measure in dataset.measures:
        if measure.decimals != decimals[measure.id]:
            raise InputError(f"Measure {measure.id!r} is published with other decimals than its records have.")
    return Truth(register, values, part.rules(), counts=part.count_of_records)


def dataset_part(config: ServerConfig, dataset: str | None) -> DatasetPart:
    """The data set of that name, or the only one."""
    names = [each.id for each in config.datasets]
    if dataset is None and len(names) == 1:
        return config.datasets[0]
    if dataset not in names:
        raise InputError(f"Which data set? {dataset!r} is not one." if dataset else "Which data set?", hint=f"Known: {', '.join(names)}.")
    return config.datasets[names.index(dataset)]


def private_copy(config: ServerConfig, folder: Path, *, mode: str | None = None) -> ServerConfig:
    """The same configuration with a store and a key of its own in `folder`: an attack never touches the real ones."""
    copy = config.changed(**_own_store(folder, "server"))
    parts = [part.model_dump(mode="json", exclude_none=True) for part in copy.datasets]
    return copy if mode is None else copy.changed(dataset=[{**part, "mode": mode} for part in parts])


def _own_store(folder: Path, name: str) -> dict[str, Any]:
    """The parts of a configuration for a store and a key, which is made unless it is there."""
    key = folder / f"{name}.key"
    if not key.exists():
        new_key_file(key)
    return {"store": {"file": str(folder / f"{name}.sqlite")}, "key": {"file": str(key)}}


def service_case(config: ServerConfig, dataset: str | None, folder: Path, *, effort: Effort, reverse: ReverseSolver | None) -> Case:
    """A service opened on the configuration as it is; give it a private copy."""
    part = dataset_part(config, dataset)
    operator = ServiceOperator(config, part, folder)
    service = operator.open()
    server = ServiceInProcess(service, part, part.id)
    truth = truth_of(config, part, service.datasets[part.id])
    attacker = Attacker(journal=AttackJournal(truth.register, server.catalogue, server), effort=effort)
    return Case(attacker=attacker, truth=truth, operator=operator, reverse=reverse)
