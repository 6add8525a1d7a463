"""The demonstration data: repeatable, plausible, and worth protecting."""

from __future__ import annotations

import numpy as np
import pyarrow.compute as pc
import pytest

from statveil.core.errors import InputError
from statveil.data.readers import read_microdata
from statveil.jobs.demo.enterprises import enterprises, industry_tree, region_tree, size_tree
from statveil.risk.assess import assess
from statveil.risk.rules import MinimumFrequency, PPercent, contributions_needed
from statveil.tables.spec import TableSpec
from statveil.tables.tabulate import tabulate


@pytest.fixture(scope="module")
def records():
    return enterprises()


def test_the_same_seed_gives_the_same_enterprises(records):
    assert records.equals(enterprises())
    assert not records.equals(enterprises(seed=2))


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_any_size_on_request(size):
    few = enterprises(size)
    assert few.num_rows == size
    assert few.column_names == ["enterprise", "region", "industry", "size", "turnover", "employment", "holding", "weight"]
    assert pc.count_distinct(few["enterprise"]).as_py() == size


def test_no_enterprises_are_refused():
    with pytest.raises(InputError, match="records must be 1 or more"):
        enterprises(0)


def test_the_trees_are_three_four_and_one_levels_deep_and_hold_every_code(records):
    for tree, column, levels in ((region_tree(), "region", 3), (industry_tree(), "industry", 4), (size_tree(), "size", 1)):
        assert {tree.depth[leaf] for leaf in tree.leaves} == {levels}
        assert set(records[column].unique().to_pylist()) <= set(tree.leaves)
        assert set(tree.labels) == set(tree.parent)


def test_a_few_giants_make_much_of_the_turnover(records):
    turnover = np.sort(records["turnover"].to_numpy())
    assert turnover[-400:].sum() > 0.35 * turnover.sum()
    assert turnover[0] == 0


def test_turnover_goes_with_employment(records):
    turnover, employment = records["turnover"].to_numpy(), records["employment"].to_numpy()
    assert np.corrcoef(np.log1p(turnover), np.log(employment))[0, 1] > 0.5


def test_large_enterprises_are_all_surveyed(records):
    weight, employment = records["weight"].to_numpy(), records["employment"].to_numpy()
    assert (weight[employment >= 50] == 1).all()
    assert (weight[employment < 10] >= 4).all()
    assert set(weight % 1) == {0, 0.25, 0.5, 0.75}


def test_holdings_own_enterprises_in_several_cells(records):
    owned = records.filter(pc.starts_with(records["holding"], "H"))
    spread = owned.group_by("holding").aggregate([("industry", "count_distinct"), ("region", "count_distinct")])
    assert spread.num_rows > 300
    assert pc.mean(spread["region_count_distinct"]).as_py() > 2
    assert pc.mean(spread["industry_count_distinct"]).as_py() > 1.2


RULES = [PPercent(10), MinimumFrequency(3)]


def table_of(records, **options):
    trees = {"region": region_tree(), "industry": industry_tree(), "size": size_tree()}
    return tabulate(read_microdata(records), TableSpec(dimensions=trees, measure="turnover", **options), top=contributions_needed(RULES))


def test_a_few_hundred_cells_are_sensitive_and_some_are_aggregates(records):
    table = table_of(records, holding="holding")
    found = assess(table, RULES)
    view = table.views[0]
    leaves = [np.isin(dimension.codes, dimension.trees[0].leaves) for dimension in view.dimensions]
    innermost = np.all([leaf[view.coordinates[:, axis]] for axis, leaf in enumerate(leaves)], axis=0)
    aggregates = np.setdiff1d(np.arange(table.size), view.cell[innermost])
    assert 5_000 < table.size < 20_000
    assert 300 < found.sensitive.sum() < 900
    assert found.sensitive[aggregates].sum() > 50


def test_holdings_make_more_cells_sensitive_than_their_enterprises_alone(records):
    by_holding, by_enterprise = assess(table_of(records, holding="holding"), RULES), assess(table_of(records), RULES)
    assert by_holding.sensitive.sum() > by_enterprise.sensitive.sum()
