from __future__ import annotations

import pytest

from statveil.core.errors import InputError
from statveil.data.hierarchy import Hierarchy
from statveil.server.dataset.layout import Layout, ServedDimension, resolve, served_dimension, shown_codes
from statveil.server.dataset.query import TableQuery
from statveil.tables.spec import Dimension
from tests.server.village import ask

TREE = Hierarchy.from_dict({"N": ["N1", "N2"], "S": {"S1": {"S1a": {}, "S1b": {}}, "S2": {}}, "W": None})
COUNTIES = Hierarchy.from_dict({"C1": ["N1", "N2", "S1a"], "C2": ["S1b", "S2", "W"]})


def region(*, names: list[list[str]] | None = None) -> ServedDimension:
    return served_dimension("region", "Region", Dimension(name="region", trees=(TREE,)), names, filter_=True)


def trade() -> ServedDimension:
    return served_dimension("trade", "Trade", Dimension(name="trade", trees=(Hierarchy.flat(["food", "metal"]),)), None, filter_=False)


def layout_of(query: TableQuery, *, cells: int = 200_000) -> Layout:
    return resolve(query, (region(), trade()), cells=cells)[1]


def test_levels_cut_the_tree_and_keep_all_totals() -> None:
    levels = {level.id: level for level in region().levels}
    assert list(levels) == ["1", "2", "lowest"]
    assert levels["1"].cut.codes == ("Total", "N", "S", "W")
    assert levels["2"].codes == ("N1", "N2", "S1", "S2", "W")
    assert levels["lowest"].cut.codes == TREE.codes
    places = dict(zip(TREE.leaves, levels["1"].position.tolist(), strict=True))
    assert {leaf: levels["1"].cut.codes[place] for leaf, place in places.items()} == {
        "N1": "N", "N2": "N", "S1a": "S", "S1b": "S", "S2": "S", "W": "W",
    }  # fmt: skip


def test_alternative_trees_meet_at_the_lowest_level() -> None:
    """T08: whoever asks for the leaves has all trees in the problem."""
    both = served_dimension("region", "Region", Dimension(name="region", trees=(TREE, COUNTIES)), None, filter_=False)
    assert [level.id for level in both.levels] == ["1.1", "1.2", "2.1", "lowest"]
    assert both.level("2.1").cut.codes == ("Total", "C1", "C2")
    assert {"N", "C1"} <= set(both.lowest.cut.codes)
    assert both.level_for(["C1", "N1"]) is both.lowest


def test_names_of_levels_must_fit_the_tree() -> None:
    assert [level.id for level in region(names=[["part", "region", "town"]]).levels] == ["part", "region", "town"]
    for names in ([["part", "town"]], [["a", "a", "b"]], [["a", "b", "c"], ["d", "e", "f"]]):
        with pytest.raises(InputError, match="levels must name every level"):
            region(names=names)


def test_a_set_of_codes_is_written_in_one_way() -> None:
    both = served_dimension("region", "Region", Dimension(name="region", trees=(TREE, COUNTIES)), None, filter_=True, population=True)
    assert both.normal_codes(("N1", "N2", "S1a")) == ("C1",)
    assert both.normal_codes(("C1", "S1b")) == both.normal_codes(("N1", "S1", "N2")) == ("N", "S1")
    assert both.normal_codes(("C1", "C2")) == ("Total",)
    with pytest.raises(InputError, match="overlap"):
        both.normal_codes(("C1", "N"))


def test_a_dimension_is_cut_below_a_level() -> None:
    cut, above = region(names=[["part", "region", "town"]]).cut_at("region")
    assert [level.id for level in cut.levels] == ["part", "region"]
    assert cut.codes == ("Total", "N", "N1", "N2", "S", "S1", "S2", "W")
    leaves = cut.full.trees[0].leaves
    assert [leaves[place] for place in above.tolist()] == ["N1", "N2", "S1", "S1", "S2", "W"]


def test_codes_are_shown_from_the_highest_table_that_holds_them() -> None:
    assert layout_of(ask("region=N+S")).levels[0].id == "1"
    assert layout_of(ask("region=N+S1")).levels[0].id == "2"
    assert layout_of(ask("region=Total")).levels[0].id == "1"


def test_an_answer_shows_codes_and_their_totals_in_the_order_of_the_tree() -> None:
    asked, layout = resolve(ask("region=S1+N2"), (region(), trade()), cells=1000)
    assert shown_codes(asked.dimensions[0], layout.levels[0], totals=True) == ("Total", "N", "N2", "S", "S1")
    assert shown_codes(asked.dimensions[0], layout.levels[0], totals=False) == ("N2", "S1")


def test_saying_the_lowest_level_or_nothing_is_the_same_request() -> None:
    one, _ = resolve(ask("region", "trade"), (region(), trade()), cells=1000)
    two, _ = resolve(ask("trade:lowest", "region:lowest"), (region(), trade()), cells=1000)
    assert one.canonical() == two.canonical()


def test_a_filter_is_a_dimension_of_the_table_that_is_protected() -> None:
    layout = layout_of(ask("trade", filters={"region": ("S1",)}))
    assert [dimension.id for dimension in layout.dimensions] == ["region", "trade"]
    assert layout.levels[0].id == "2"


def test_only_filters_that_the_officer_opened_at_one_code() -> None:
    with pytest.raises(InputError, match="not open as a filter"):
        layout_of(ask("region", filters={"trade": ("food",)}))
    with pytest.raises(InputError, match="several codes"):
        layout_of(ask("trade", filters={"region": ("N", "N1")}))


@pytest.mark.parametrize("words", ["colour", "region:county", "region=N9", "region=north"])
def test_names_that_do_not_exist_are_refused(words: str) -> None:
    with pytest.raises(InputError):
        layout_of(ask(words))


def test_an_absurd_table_is_refused_by_arithmetic_alone() -> None:
    """F07: 10^20 cells, which no machine could lay out."""
    tree = Hierarchy.flat([f"c{number}" for number in range(10_000)])
    wide = [served_dimension(f"d{axis}", "", Dimension(name=f"d{axis}", trees=(tree,)), None, filter_=False) for axis in range(5)]
    with pytest.raises(InputError, match="more than 200,000 cells"):
        resolve(ask(*(dimension.id for dimension in wide)), wide, cells=200_000)
