"""Registers, sums that labels promise, and what answers say of sets of records: by hand and against plain counting."""

from __future__ import annotations

import dataclasses
from dataclasses import replace

import numpy as np
import pytest

import statveil as sv
from statveil.audit.attacks.attacker import Answered, AttackJournal, summed_up
from statveil.audit.attacks.case import Truth
from statveil.audit.attacks.public import AnswerAxis, AnswerTable, Catalogue, Register, RequestAxis, TableRequest, added_up, sums_of
from statveil.core.errors import DisclosureRefused, InputError, OutOfTime, StatveilError
from statveil.tables.spec import Dimension
from tests.audit.attacks.stories import village
from tests.reference.servers import Bare, Server


def table(register: Register, *axes: tuple[str, list[str]]) -> AnswerTable:
    shape = [len(codes) for _, codes in axes]
    made = tuple(AnswerAxis(id=name, codes=tuple(codes)) for name, codes in axes)
    return AnswerTable(axes=made, values=np.arange(np.prod(shape)).reshape(shape), shown=np.ones(shape, dtype=bool))


def plain_members(register: Register, request: TableRequest, shown: AnswerTable) -> set[tuple[int, int]]:
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
    request = TableRequest(axes=(), measure="turnover", filters=(("size", ("s", "m")),))
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
    whole = place.register.prints(TableRequest(axes=(), measure=""), shown)
    some = place.register.prints(TableRequest(axes=(), measure="", filters=(("form", ("a", "b")),)), shown)
    assert (whole == some).all()
    left_out = np.ones(60, dtype=bool)
    left_out[7] = False
    missing = whole - place.register.prints(TableRequest(axes=(), measure=""), shown, left_out)
    assert set(missing.tolist()) <= {0, int(place.register.marks[7])}
    assert missing[2] == place.register.marks[7]


def test_a_sum_is_promised_only_where_nothing_is_left_out() -> None:
    tree = sv.Hierarchy.from_dict({"N": ["n1", "n2"], "S": ["s1", "s2"]})
    dimensions = {"d": Dimension(name="d", trees=(tree,))}

    def families(*codes: str) -> list[tuple[str, tuple[str, ...]]]:
        shown = AnswerTable(
            axes=(AnswerAxis(id="d", codes=codes),), values=np.zeros(len(codes), np.int64), shown=np.ones(len(codes), np.bool_)
        )
        return [(codes[each.total[0]], tuple(codes[part] for part in each.parts[:, 0])) for each in sums_of(shown, dimensions)]

    assert families("Total", "N", "n1", "n2", "S") == [("Total", ("N", "S")), ("N", ("n1", "n2"))]
    assert families("Total", "N", "n1") == []
    assert families("Total", "N", "s1", "s2") == [("Total", ("N", "s1", "s2"))]


def test_mean_midrange_and_mode_of_what_was_published() -> None:
    place = village(records=60)
    journal = AttackJournal(place.register, place.catalogue(), Bare(place))
    request = TableRequest(axes=(RequestAxis(id="form"),), measure="turnover")
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
        def ask(self, request: TableRequest) -> AnswerTable:
            self.asked += 1
            raise OutOfTime("The time is over.")

    server = Slow(village())
    journal = AttackJournal(server.village.register, server.catalogue, server)
    for codes in (("r1",), ("r2",)):
        assert journal.ask(TableRequest(axes=(RequestAxis(id="region", codes=codes),), measure="turnover")) is None
    assert server.asked == 1
    assert journal.ask_again(TableRequest(axes=(RequestAxis(id="region"),), measure="turnover")) is None
    assert [each.kind for each in journal.refusals] == ["OutOfTime"]


def test_sensitivity_is_that_of_brute_force_over_holdings() -> None:
    """PPercent(10) and MinimumFrequency(3), cell by cell, in plain Python."""
    place = village(records=300)
    truth = Truth(place.register, place.values, (sv.PPercent(10), sv.MinimumFrequency(3, level=10)))
    shown = table(place.register, ("trade", ["t0", "t1", "t5", "T1"]), ("region", ["r0", "r1", "r7", "Total"]))
    request = TableRequest(axes=(), measure="turnover")
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
        journal = AttackJournal(place.register, catalogue, Bare(place, catalogue=catalogue))
        for codes in (("s",), ("s", "m"), ("s", "m", "l")):
            journal.ask(TableRequest(axes=(RequestAxis(id="region"),), measure="turnover", filters=(("size", codes),)))
        assert [journal.shows_cells(number) for number in range(3)] == wanted


def test_what_a_reader_added_up_is_no_cell() -> None:
    place = village()
    catalogue = place.catalogue()
    request = TableRequest(axes=(RequestAxis(id="region"),), measure="turnover", filters=(("size", ("s", "m")),))
    table = dataclasses.replace(Bare(place, catalogue=catalogue).ask(request), sums=True)
    journal = AttackJournal(place.register, catalogue, answers=[Answered(request=request, table=table)])
    assert not journal.shows_cells(0)


VALUES = np.array([[10, 20, 30], [1, 2, 3]])
"""Regions a and b by sizes s, m, l."""
SLICES = Catalogue(dimensions=(), measures=("turnover",), filters=("size",), populations=())
MAKES_POPULATIONS = replace(SLICES, populations=("size",))


def server(request: TableRequest) -> AnswerTable:
    """Takes one code a filter, and shows the dimensions it is asked for, in that order, totals left out."""
    assert all(len(codes) == 1 for _, codes in request.filters)
    codes = {axis.id: axis.codes or ("a", "b") for axis in request.axes}
    sizes = codes.get("size", dict(request.filters).get("size", ()))
    places = ["sml".index(code) for code in sizes]
    values = VALUES[:, places] if "size" in codes else VALUES[:, places[0]]
    axes = tuple(AnswerAxis(id=axis.id, codes=codes[axis.id]) for axis in request.axes)
    return AnswerTable(axes=axes, values=values, shown=values != 30)


def test_several_codes_are_asked_for_as_a_dimension_and_summed() -> None:
    request = TableRequest(axes=(RequestAxis(id="region"),), measure="turnover", filters=(("size", ("s", "m")),))
    table = added_up(server, request, SLICES)
    assert [axis.id for axis in table.axes] == ["region"]
    assert table.values.tolist() == [30, 3]
    assert table.shown.all()


def test_a_sum_is_shown_where_all_its_parts_are() -> None:
    request = TableRequest(axes=(RequestAxis(id="region"),), measure="turnover", filters=(("size", ("m", "l")),))
    assert added_up(server, request, SLICES).shown.tolist() == [False, True]


def test_one_code_is_left_to_the_server() -> None:
    request = TableRequest(axes=(RequestAxis(id="region"),), measure="turnover", filters=(("size", ("m",)),))
    assert added_up(server, request, SLICES).values.tolist() == [20, 2]


def test_codes_that_make_a_population_are_left_to_the_server() -> None:
    request = TableRequest(axes=(RequestAxis(id="region"),), measure="turnover", filters=(("size", ("s", "m")),))
    heard: list[TableRequest] = []

    def listens(one: TableRequest) -> AnswerTable:
        heard.append(one)
        return AnswerTable(axes=(), values=VALUES, shown=VALUES > 0)

    assert not added_up(listens, request, MAKES_POPULATIONS).sums
    assert heard == [request]


@pytest.mark.parametrize("refusal", [DisclosureRefused("Not this one."), InputError("Not two at once.")])
def test_a_population_that_is_refused_is_added_up(refusal: StatveilError) -> None:
    request = TableRequest(axes=(RequestAxis(id="region"),), measure="turnover", filters=(("size", ("s", "m")),))

    def refuses_populations(one: TableRequest) -> AnswerTable:
        if any(len(codes) > 1 for _, codes in one.filters):
            raise refusal
        return server(one)

    table = added_up(refuses_populations, request, MAKES_POPULATIONS)
    assert table.values.tolist() == [30, 3]
    assert table.sums, "it is no cell that anybody judged"


def test_what_is_refused_and_cannot_be_added_up_is_refused() -> None:
    def refuses(one: TableRequest) -> AnswerTable:
        raise DisclosureRefused("Not this one.")

    for catalogue in (SLICES, MAKES_POPULATIONS):
        with pytest.raises(DisclosureRefused):
            added_up(refuses, TableRequest(axes=(), measure="turnover", filters=(("size", ("s", "m")),)), catalogue)
