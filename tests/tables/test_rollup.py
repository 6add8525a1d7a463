"""Who leads a cell: the largest respondent, by its own name, whatever order the records come in."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import statveil as sv
from statveil.tables import rollup
from statveil.tables.table import Table
from statveil.tables.tabulate import tabulate

FIRMS = pd.DataFrame(
    [
        ("a", "u", "Jansen", 60),
        ("a", "u", "Bakker", 50),
        ("a", "v", "Bakker", 30),
        ("b", "u", "Visser", 40),
        ("b", "v", "Jansen", 10),
        ("c", "u", "Mulder", 7),
        ("c", "u", "Smit", 7),
    ],
    columns=["town", "trade", "owner", "sales"],
)
"""Jansen leads a/u with 60, but Bakker leads town a with 80; Visser leads town b; Mulder and Smit are equal in c."""


def build(frame: pd.DataFrame, holding: str | None = "owner") -> Table:
    spec = sv.TableSpec(dimensions={"town": None, "trade": None}, measure="sales", holding=holding)
    return tabulate(sv.read_microdata(frame), spec)


def leaders(frame: pd.DataFrame, holding: str | None = "owner") -> dict[tuple[str, ...], int]:
    """The name of the leader of each position."""
    table = build(frame, holding)
    view = table.views[0]
    assert table.leader is not None
    codes = [tuple(d.codes[i] for d, i in zip(view.dimensions, at, strict=True)) for at in view.coordinates]
    return dict(zip(codes, table.leader[view.cell].tolist(), strict=True))


def alone(owner: object) -> int:
    """The name of an owner, from a table where it is alone."""
    return leaders(pd.DataFrame({"town": ["x"], "trade": ["y"], "owner": [owner], "sales": [1]}))["x", "y"]


def test_the_leader_of_a_cell_is_the_holding_that_gives_most_to_it() -> None:
    found = leaders(FIRMS)
    assert found["a", "u"] == alone("Jansen")
    assert found["a", "v"] == found["a", "Total"] == found["Total", "Total"] == alone("Bakker")  # 50 + 30
    assert found["b", "Total"] == found["b", "u"] == alone("Visser")
    assert found["b", "v"] == alone("Jansen")


def test_the_leader_is_who_gives_most_in_size_after_adding_up() -> None:
    frame = pd.DataFrame({"town": list("aaaa"), "trade": list("uuuu"), "owner": list("ppqr"), "sales": [90, -85, -20, 10]})
    assert leaders(frame)["a", "u"] == alone("q")


def test_names_are_those_of_the_identifiers_alone() -> None:
    names = {owner: alone(owner) for owner in FIRMS["owner"].unique()}
    assert len(set(names.values())) == len(names)
    assert alone(17) == alone("17")


@pytest.mark.parametrize("holding", ["owner", None])
def test_leaders_are_the_same_in_any_order_of_records(holding: str | None) -> None:
    first = leaders(FIRMS, holding)
    for seed in range(5):
        assert leaders(FIRMS.sample(frac=1, random_state=seed), holding) == first


def test_of_equal_holdings_the_name_decides_not_the_order() -> None:
    equal = pd.DataFrame({"town": list("aaa"), "trade": list("uuu"), "owner": ["Mulder", "Smit", "Vos"], "sales": [7, 7, 7]})
    found = {leaders(equal.iloc[list(order)])["a", "u"] for order in itertools.permutations(range(3))}
    assert found == {max(map(alone, equal["owner"]))}


def test_a_record_without_an_owner_is_named_by_what_it_gives() -> None:
    found = leaders(FIRMS, None)
    assert (found["a", "u"], found["a", "Total"], found["b", "Total"], found["c", "u"]) == (60, 60, 40, 7)


def test_leaders_of_linked_tables_are_the_same_respondents() -> None:
    specs = [sv.TableSpec(dimensions={name: None}, measure="sales", holding="owner", name=name) for name in ("town", "trade")]
    table = tabulate(sv.read_microdata(FIRMS), specs)
    town, trade = table.views
    assert table.leader is not None
    of_town = dict(zip((town.dimensions[0].codes[i] for i in town.coordinates[:, 0]), table.leader[town.cell].tolist(), strict=True))
    of_trade = dict(zip((trade.dimensions[0].codes[i] for i in trade.coordinates[:, 0]), table.leader[trade.cell].tolist(), strict=True))
    assert of_town["Total"] == of_trade["Total"] == alone("Bakker")
    assert of_town["b"] == alone("Visser")
    assert of_trade["u"] == alone("Jansen")  # 60, before Bakker's 50


def test_a_set_of_cells_has_a_leader_of_its_own() -> None:
    spec = sv.TableSpec(dimensions={"town": None}, measure="sales", holding="owner")
    both = sv.CellSet(cells=[{"town": "b"}, {"town": "c"}])
    table = tabulate(sv.read_microdata(FIRMS), spec, sets=[both])
    assert table.leader is not None
    assert int(table.leader[table.unions[0].cell]) == alone("Visser")


def test_equal_positions_have_one_leader() -> None:
    table = build(FIRMS)
    assert table.leader is not None
    assert table.leader.dtype == np.uint64
    assert table.leader.size == table.size


def largest_of(weights: list[str] | None, waived: list[str] | None) -> tuple[Table, Table]:
    """A cell of eight records and two small ones, all records read and only the largest three of a leaf cell."""
    columns = {"town": list("aaaaaaaabb"), "trade": list("uuuuuuuuvv"), "sales": [5, -9, 9, 1, 9, 2, 7, 3, 4, -4]}
    columns |= ({"weight": weights} if weights else {}) | ({"waived": waived} if waived else {})
    roles = {"weight": "weight"} if weights else {}
    spec = sv.TableSpec(dimensions={"town": None, "trade": None}, measure="sales", waiver="waived" if waived else None, **roles)
    data = sv.read_microdata(pd.DataFrame(columns))
    every = tabulate(data, spec, top=len(columns["town"]))
    return replace(every, top=every.top[:, :3]), tabulate(data, spec)


@pytest.mark.parametrize("weights", [None, ["1", "2.5", "1", "3", "1.25", "1", "1", "1", "2", "1"]])
@pytest.mark.parametrize("waived", [None, ["no", "yes", "yes", "no", "yes", "no", "yes", "no", "yes", "yes"]])
def test_without_a_holding_the_largest_records_of_a_leaf_cell_are_enough(weights: list[str] | None, waived: list[str] | None) -> None:
    every, cut = largest_of(weights, waived)
    for name in ("value", "records", "respondents", "frequency", "magnitude", "top", "largest_unwaived", "largest_requested", "leader"):
        assert np.array_equal(getattr(every, name), getattr(cut, name)), name
    if weights is None:
        assert cut.top[0].tolist() == [9, 9, 9]
        assert (int(cut.respondents[0]), int(cut.magnitude[0])) == (10, 53)
    if waived and weights is None:
        assert int(cut.largest_unwaived[0]) == 5


ROLES: dict[str, dict[str, str]] = {
    "records": {},
    "weights": {"weight": "weight"},
    "flags": {"waiver": "waived"},
    "all but holdings": {"weight": "weight", "waiver": "waived", "shadow": "jobs"},
    "holdings": {"holding": "owner", "waiver": "waived"},
}


@pytest.mark.parametrize("roles", ROLES.values(), ids=list(ROLES))
@pytest.mark.parametrize("linked", [False, True])
def test_records_that_go_by_add_up_to_what_the_engine_groups(monkeypatch: pytest.MonkeyPatch, roles: dict[str, str], linked: bool) -> None:
    """Each position in a list, or, where a table has too many for one, leaf cells from the engine; one batch or many."""
    rng = np.random.default_rng(22)
    size = 300
    columns = {
        "town": rng.choice(list("abcde"), size),
        "trade": rng.choice(list("uvwx"), size),
        "sales": rng.integers(-500, 500, size),
        "jobs": rng.integers(0, 9, size),
        "owner": rng.integers(0, 40, size),
        "weight": rng.choice(["1", "2.5", "4"], size),
        "waived": rng.choice(["yes", "no"], size),
    }
    data = sv.read_microdata(pd.DataFrame(columns))
    specs = [sv.TableSpec(dimensions={"town": None, "trade": None}, measure="sales", name="wide", **roles)]
    specs += [sv.TableSpec(dimensions={"trade": None}, measure="sales", name="narrow", **roles)] if linked else []
    found = []
    for tuning in ({"listed": 0}, {"batch": 7}, {}):
        monkeypatch.setattr(rollup, "TUNING", rollup.RollUpTuning(**tuning))
        found.append(tabulate(data, specs))
    for table in found[:2]:
        for name in ("value", "records", "respondents", "frequency", "magnitude", "top", "largest_unwaived", "largest_requested", "leader"):
            assert np.array_equal(getattr(table, name), getattr(found[2], name)), name
        assert [view.cell.tolist() for view in table.views] == [view.cell.tolist() for view in found[2].views]


@pytest.mark.parametrize("listed", [0, rollup.TUNING.listed])
def test_sums_that_may_not_fit_are_refused_whoever_adds_up(monkeypatch: pytest.MonkeyPatch, listed: int) -> None:
    monkeypatch.setattr(rollup, "TUNING", rollup.RollUpTuning(listed=listed))
    frame = pd.DataFrame({"town": list("aab"), "sales": [2**61, -(2**61), 1], "owner": list("xyx"), "weight": [1, 1, 3]})
    for roles in ({}, {"holding": "owner"}, {"weight": "weight"}):
        with pytest.raises(sv.InputError, match="too large to be added up exactly"):
            tabulate(sv.read_microdata(frame), sv.TableSpec(dimensions={"town": None}, measure="sales", **roles))
    lowest = pd.DataFrame({"town": ["a"], "sales": [-(2**63)]})
    with pytest.raises(sv.InputError, match="too large to be added up exactly"):
        tabulate(sv.read_microdata(lowest), sv.TableSpec(dimensions={"town": None}, measure="sales"))
