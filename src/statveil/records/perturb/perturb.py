"""`perturb_records`: columns of a file that are no keys, perturbed one step after the other, ready for `apply_plan`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from statveil.core.arrays import IntArray
from statveil.core.errors import InputError
from statveil.core.secret import SecretKey, office_key
from statveil.data.engines import engine_over_arrow
from statveil.data.microdata import Microdata
from statveil.data.queries.whole_records import records_by_content
from statveil.records.keys import KeyVariables
from statveil.records.perturb.columns import Numbers, as_numbers, read_codes, read_numbers
from statveil.records.perturb.draws import KeyedDraws
from statveil.records.perturb.figures import PerturbedColumn, category_figures, number_figures
from statveil.records.perturb.methods import add_noise, code_extremes, microaggregate, randomise_codes, swap_ranks
from statveil.records.perturb.steps import Microaggregation, Noise, Pram, QuantileCoding, RankSwapping, Step

Tell = Callable[[str], object]


@dataclass(frozen=True, kw_only=True, repr=False)
class PerturbedRecords:
    """Records some of whose columns were perturbed. Confidential still: only `apply_plan` releases them.

    original, data: the records before and after. before, after: the same in one order, record by record. steps: what was done.
    decimals: of the columns that hold new numbers. marks: the decimal marks of columns of numbers. fingerprint: names the key of the draws.

    >>> import pyarrow as pa, statveil as sv
    >>> wages = sv.read_microdata(pa.table({"wage": [1, 2, 3, 10, 11, 12]}))
    >>> perturb_records(wages, [sv.perturb.Microaggregation(["wage"], k=3)])
    PerturbedRecords(wage: microaggregation)
    """

    original: Microdata
    data: Microdata
    before: pa.Table
    after: pa.Table
    steps: tuple[Step, ...]
    decimals: Mapping[str, int] = field(default_factory=dict)
    marks: Mapping[str, str] = field(default_factory=dict)
    fingerprint: str | None = None

    def __repr__(self) -> str:
        return f"PerturbedRecords({', '.join(f'{name}: {step.method}' for step in self.steps for name in step.columns)})"

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(name for step in self.steps for name in step.columns)

    @cached_property
    def figures(self) -> tuple[PerturbedColumn, ...]:
        """Risk and utility of every perturbed column."""
        found: list[PerturbedColumn] = []
        for step in self.steps:
            if isinstance(step, Pram):
                found += [category_figures(step, name, *self._codes(name)) for name in step.columns]
            else:
                sides = ([as_numbers(side[name], self.marks[name]) for name in step.columns] for side in (self.before, self.after))
                found += number_figures(step, *(np.stack(each, axis=1) for each in sides))
        return tuple(found)

    def _codes(self, name: str) -> tuple[IntArray, IntArray]:
        both = read_codes(pa.chunked_array([*self.before[name].chunks, *self.after[name].chunks], self.before[name].type)).code
        return both[: len(self.before)], both[len(self.before) :]

    def as_json(self) -> dict[str, Any]:
        """What was done, with its figures; for the office."""
        return {
            "steps": [step.as_json() for step in self.steps],
            "decimals": dict(self.decimals),
            "key": self.fingerprint,
            "figures": [each.as_json() for each in self.figures],
        }


def perturb_records(
    data: Microdata, steps: Sequence[Step], *, key: SecretKey | None = None, tell: Tell = lambda _words: None
) -> PerturbedRecords:
    """Perturb the columns that the steps name; all others, and the records, stay.

    data: the records. steps: `Noise`, `RankSwapping`, `Microaggregation`, `Pram`, `QuantileCoding`. key: of the draws; by default that of
    the environment or of this user (`statveil.core.secret.office_key`). tell: called with a word on each step.

    >>> import pyarrow as pa, statveil as sv
    >>> wages = sv.read_microdata(pa.table({"wage": [1, 2, 3, 10, 11, 12]}))
    >>> perturbed = perturb_records(wages, [sv.perturb.Microaggregation(["wage"], k=3)])
    >>> sorted(perturbed.after["wage"].to_pylist())
    [2, 2, 2, 11, 11, 11]
    """
    _check_steps(data, steps)
    drawn = any(step.draws for step in steps)
    secret = (key or office_key(make=True)) if drawn else None
    with data.engine.session() as session:
        before, contents = records_by_content(session, data)
    run = _Run(data, before, KeyedDraws(secret, contents) if secret is not None else None)
    for step in steps:
        tell(f"perturbing: {step.method}")
        run.do(step)
    return PerturbedRecords(
        original=data,
        data=replace(data, engine=engine_over_arrow(run.after, origin=data.origin)),
        before=before,
        after=run.after,
        steps=tuple(steps),
        decimals=run.decimals,
        marks=run.marks,
        fingerprint=secret.fingerprint if secret is not None else None,
    )


def _check_steps(data: Microdata, steps: Sequence[Step]) -> None:
    if not steps:
        raise InputError("No perturbation is named.", hint="Give steps such as Noise(['wage'], level=0.1).")
    names = [name for step in steps for name in step.columns]
    data.require(names)
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InputError(f"Column {twice!r} is perturbed twice.", hint="Name each column in one step.")


def refuse_keys(columns: Iterable[str], keys: KeyVariables, dropped: Sequence[str] = ()) -> None:
    """What the rule counts, and what is left out, is not perturbed."""
    linked = [name for group in keys.linked for name in group]
    used = {"a key field": keys.names, "the weight": [keys.weight], "the cost of a record": [keys.record_cost],
            "the household": [keys.household], "linked to a key field": linked, "left out": dropped,
            "what a risk model is about": keys.modelled}  # fmt: skip
    for name in columns:
        for words, names in used.items():
            if name in names:
                raise InputError(f"Column {name!r} is perturbed, and it is {words}.", hint="Perturb other columns.")


class _Run:
    """The columns as they change, step by step."""

    def __init__(self, data: Microdata, before: pa.Table, draws: KeyedDraws | None) -> None:
        self.data, self.before, self.after, self._draws = data, before, before, draws
        self.decimals: dict[str, int] = {}
        self.marks: dict[str, str] = {}

    @property
    def draws(self) -> KeyedDraws:
        assert self._draws is not None  # the office's key is asked for where a step draws
        return self._draws

    def do(self, step: Step) -> None:
        if isinstance(step, Noise | Microaggregation):
            self._renumber(step)
            return
        for name in step.columns:
            self._show(name, self._source(step, name))

    def _numbers(self, name: str) -> Numbers:
        found = read_numbers(self.data, name, self.before[name])
        self.marks[name] = found.mark
        return found

    def _renumber(self, step: Noise | Microaggregation) -> None:
        read = [self._numbers(name) for name in step.columns]
        whole = [pa.types.is_integer(self.before.schema.field(name).type) for name in step.columns]
        decimals = [
            0 if each else found.decimals if step.decimals is None else step.decimals for each, found in zip(whole, read, strict=True)
        ]
        values = np.stack([each.values for each in read], axis=1)
        moved = add_noise(step, values, decimals, self.draws) if isinstance(step, Noise) else microaggregate(step, values)
        for place, name in enumerate(step.columns):
            self._put(name, read[place].written(moved[:, place], self.before.schema.field(name).type, decimals[place]))
            self.decimals[name] = decimals[place]

    def _source(self, step: RankSwapping | Pram | QuantileCoding, name: str) -> IntArray:
        if isinstance(step, Pram):
            return randomise_codes(name, step.keep, read_codes(self.before[name]), self.draws)
        values = self._numbers(name).values
        if isinstance(step, QuantileCoding):
            return code_extremes(name, step, values)
        return swap_ranks(name, step.percent, values, self.draws.uniform("rank", name))

    def _show(self, name: str, source: IntArray) -> None:
        self._put(name, self.before[name].take(pa.array(source)))

    def _put(self, name: str, values: pa.Array | pa.ChunkedArray) -> None:
        self.after = self.after.set_column(self.after.column_names.index(name), self.before.schema.field(name), values)
