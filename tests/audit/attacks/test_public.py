"""Registers, sums that labels promise, and what answers say of sets of records: by hand and against plain counting."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import statveil as sv
from statveil.audit.attacks.journal import Answered, Journal, summed_up
from statveil.audit.attacks.public import Axis, PublicAxis, PublicTable, Register, Request, sums_of
from statveil.audit.attacks.truth import Truth
from statveil.core.errors import InputError, OutOfTime
from statveil.tables.spec import Dimension
from tests.audit.attacks.stories import village
from tests.reference.servers import Bare, Server


def table(register: Register, *axes: tuple[str, list[str]]) -> PublicTable:
    shape = [len(codes) for _, codes in axes]
    made = tuple(PublicAxis(id=name, codes=tuple(codes)) for name, codes in axes)
    return PublicTable(axes=made, values=np.arange(np.prod(shape)).reshape(shape), shown=np.ones(shape, dtype=bool))


def plain_members(register: Register, request: Request, shown: PublicTable) -> set[tuple[int, int]]:
    """Record by record, up each tree."""
    found = set()
    for record in range(register.size):
        if all(_above(register, name, record) & set(codes) for name, codes in request.filters):
            for cell, place in enumerate(np.ndindex(shown.values.shape)):
                if all(axis.codes[at] in _above(register, axis.id, record) for axis, at in zip(shown.axes, place, strict=True)):
                    found.add((record, cell))
    return found


def _above(register: Register, name: str, record: int) -> set[str]:
    dimension = register.dimensions[name]
    found = set()
    for tree in dimension.trees:
        code: str | None = dimension.codes[register.codes[name][record]]
        while code is not None:
            found.add(code)
            code = tree.parent.get(code)
    return found


def test_members_and_sums_are_those_of_plain_counting_in_two_trees() -> None:
    place = village(records=60, forest=True)
    register = place.register
    shown = table(register, ("region", ["Total", "east", "inland", "r1", "r4"]), ("trade", ["t0", "T1", "Total"]))
    request = Request(axes=(), measure="turnover", filters=(("size", ("s", "m")),))
    records, cells = register.members(request, shown)
    pairs = list(zip(records.tolist(), cells.tolist(), strict=True))
    assert set(pairs) == plain_members(register, request, shown)
    assert len(pairs) == len(set(pairs))
    sums = np.zeros(shown.values.size, dtype=np.int64)
    for record, cell in pairs:
        sums[cell] += place.values["turnover"][record]
    assert (register.sums(request, shown, place.values["turnover"]) == sums).all()


def test_equal_sets_have_equal_prints_and_a_record_more_is_its_own_mark() -> None:
    place = village(records=60)
    shown = table(place.register, ("trade", ["t0", "T1", "Total"]))
    whole = place.register.prints(Request(axes=(), measure=""), shown)
    some = place.register.prints(Request(axes=(), measure="", filters=(("form", ("a", "b")),)), shown)
    assert (whole == some).all()
    left_out = np.ones(60, dtype=bool)
    left_out[7] = False
    missing = whole - place.register.prints(Request(axes=(), measure=""), shown, left_out)
    assert set(missing.tolist()) <= {0, int(place.register.marks[7])}
    assert missing[2] == place.register.marks[7]


def test_a_sum_is_promised_only_where_nothing_is_left_out() -> None:
    tree = sv.Hierarchy.from_dict({"N": ["n1", "n2"], "S": ["s1", "s2"]})
    dimensions = {"d": Dimension(name="d", trees=(tree,))}

    def families(*codes: str) -> list[tuple[str, tuple[str, ...]]]:
        shown = PublicTable(
            axes=(PublicAxis(id="d", codes=codes),), values=np.zeros(len(codes), np.int64), shown=np.ones(len(codes), np.bool_)
        )
        return [(codes[each.total[0]], tuple(codes[part] for part in each.parts[:, 0])) for each in sums_of(shown, dimensions)]

    assert families("Total", "N", "n1", "n2", "S") == [("Total", ("N", "S")), ("N", ("n1", "n2"))]
    assert families("Total", "N", "n1") == []
    assert families("Total", "N", "s1", "s2") == [("Total", ("N", "s1", "s2"))]


def test_mean_midrange_and_mode_of_what_was_published() -> None:
    place = village(records=60)
    journal = Journal(place.register, place.catalogue(), Bare(place))
    request = Request(axes=(Axis(id="form"),), measure="turnover")
    journal.ask(request)
    seen = journal.sightings([0, 0, 0])
    seen.value[: seen.value.size // 3] += 9
    found = summed_up(seen)
    assert found.times.tolist() == [3] * found.key.size
    assert (found.midrange - found.lowest == 4.5).all()
    assert (found.mode == found.lowest).all()
    assert np.allclose(found.mean, found.lowest + 3)
    assert summed_up(journal.sightings([])).mode.size == 0


def test_what_takes_too_long_is_not_asked_again() -> None:
    class Slow(Server):
        def ask(self, request: Request) -> PublicTable:
            self.asked += 1
            raise OutOfTime("The time is over.")

    door = Slow(village())
    journal = Journal(door.village.register, door.catalogue, door)
    for codes in (("r1",), ("r2",)):
        assert journal.ask(Request(axes=(Axis(id="region", codes=codes),), measure="turnover")) is None
    assert door.asked == 1
    assert journal.ask_again(Request(axes=(Axis(id="region"),), measure="turnover")) is None
    assert [each.kind for each in journal.refusals] == ["OutOfTime"]


def test_sensitivity_is_that_of_brute_force_over_holdings() -> None:
    """PPercent(10) and MinimumFrequency(3), cell by cell, in plain Python."""
    place = village(records=300)
    truth = Truth(place.register, place.values, (sv.PPercent(10), sv.MinimumFrequency(3, level=10)))
    shown = table(place.register, ("trade", ["t0", "t1", "t5", "T1"]), ("region", ["r0", "r1", "r7", "Total"]))
    request = Request(axes=(), measure="turnover")
    found = truth.cells(request, shown)
    again = truth.cells(request, shown)
    assert (found.key == again.key).all()
    for cell in range(shown.values.size):
        parts: dict[int, int] = {}
        for record, where in plain_members(place.register, request, shown):
            if where == cell and place.values["turnover"][record]:
                owner = int(place.register.owner[record])
                parts[owner] = parts.get(owner, 0) + int(place.values["turnover"][record])
        sizes = [*sorted(parts.values(), reverse=True), 0, 0]
        rest = sum(sizes[2:])
        sensitive = 0 < len(parts) < 3 or 10 * rest < sizes[0]
        assert found.value[cell] == sum(sizes)
        assert found.respondents[cell] == len(parts)
        assert found.sensitive[cell] == sensitive
        if sensitive:
            by_size = -(-(sizes[0] - 10 * rest) // 10)
            by_number = -(-sum(sizes) // 10) if len(parts) < 3 else 0
            assert found.upper[cell] == max(by_size, by_number, 1)


def test_an_unknown_dimension_is_named() -> None:
    with pytest.raises(InputError, match="colour"):
        village().catalogue().dimension("colour")


def test_sums_over_codes_of_a_filter_are_no_cells_where_filters_make_no_populations() -> None:
    place = village()
    for populations, wanted in ((None, [True, True, True]), (("size",), [True, True, True]), (("form",), [True, False, True])):
        catalogue = dataclasses.replace(place.catalogue(), populations=populations)
        journal = Journal(place.register, catalogue, Bare(place, catalogue=catalogue))
        for codes in (("s",), ("s", "m"), ("s", "m", "l")):
            journal.ask(Request(axes=(Axis(id="region"),), measure="turnover", filters=(("size", codes),)))
        assert [journal.shows_cells(number) for number in range(3)] == wanted


def test_what_a_reader_added_up_is_no_cell() -> None:
    place = village()
    catalogue = place.catalogue()
    request = Request(axes=(Axis(id="region"),), measure="turnover", filters=(("size", ("s", "m")),))
    table = dataclasses.replace(Bare(place, catalogue=catalogue).ask(request), sums=True)
    journal = Journal(place.register, catalogue, answers=[Answered(request=request, table=table)])
    assert not journal.shows_cells(0)
