"""Ugly inputs through the public call: each gives a safe table, or an error in words."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import statveil as sv
from statveil.risk.rules import ManualCell
from statveil.solve.outcome import Ending

LIMITS = sv.Limits(seconds=10)
FIVE = {"area": list("ppqqq"), "trade": list("uvuvv"), "sales": [7, 3, 1, 50, 20]}
"""p: u 7, v 3; q: u 1, v 50 + 20."""


def protect(data: Any, spec: Any, *rules: Any, **further: Any) -> sv.Release:
    frame = pd.DataFrame(data) if isinstance(data, dict) else data
    release = sv.protect_table(frame, spec, rules=rules, **{"limits": LIMITS, **further})
    assert_safe(release)
    return release


def table(*dimensions: str, **further: Any) -> sv.TableSpec:
    return sv.TableSpec(**{"dimensions": dict.fromkeys(dimensions), "measure": "sales", **further})


def assert_safe(release: sv.Release) -> None:
    """The plain slow check: every sensitive cell far enough away, every total the sum of its parts."""
    assert release.audit.passed
    true, level = Fraction(1, 10**release.table.scale), release.sensitivity
    published = Fraction(10) ** -release.protected.decimals
    for cell in np.flatnonzero(level.sensitive):
        a, x = int(release.table.value[cell]) * true, int(release.protected.value[cell]) * published
        assert x <= a - int(level.lower_level[cell]) * true or x >= a + int(level.upper_level[cell]) * true
    for view in range(len(release.protected.views)):
        assert_adds_up(release, view)


def assert_adds_up(release: sv.Release, view: int) -> None:
    numbers, dimensions = released(release, view), release.protected.views[view].dimensions
    for codes in itertools.product(*(dimension.codes for dimension in dimensions)):
        for axis, dimension in enumerate(dimensions):
            for tree in dimension.trees:
                parts = [numbers.get((*codes[:axis], code, *codes[axis + 1 :]), 0) for code in tree.children.get(codes[axis], ())]
                assert not parts or numbers.get(codes, 0) == sum(parts)


def released(release: sv.Release, view: int = 0) -> Mapping[tuple[str, ...], int]:
    """Published numbers by their codes."""
    return by_codes(release, release.protected.value, view)


def original(release: sv.Release, view: int = 0) -> Mapping[tuple[str, ...], int]:
    return by_codes(release, release.table.value, view)


def sensitive(release: sv.Release, view: int = 0) -> set[tuple[str, ...]]:
    return {codes for codes, found in by_codes(release, release.sensitivity.sensitive, view).items() if found}


def by_codes(release: sv.Release, values: np.ndarray, view: int) -> dict[tuple[str, ...], int]:
    shown = release.protected.views[view]
    codes = [tuple(d.codes[i] for d, i in zip(shown.dimensions, at, strict=True)) for at in shown.coordinates]
    return dict(zip(codes, values[shown.cell].tolist(), strict=True))


# -- hardly anything ----------------------------------------------------------------------------------------------------


def test_an_empty_file_gives_an_empty_table(tmp_path: Path) -> None:
    (tmp_path / "none.csv").write_text("area,trade,sales\n", encoding="utf-8")
    trees = {"area": sv.Hierarchy.from_dict({"north": ["p", "q"], "south": ["r"]}), "trade": sv.Hierarchy.flat("uv")}
    release = protect(tmp_path / "none.csv", table(dimensions=trees), sv.PPercent(10), sv.MinimumFrequency(3))
    assert released(release) == {}
    assert release.gap == 0
    [public] = release.to_csv(tmp_path / "public.csv")
    assert len(public.read_text(encoding="utf-8").splitlines()) >= 1


def test_an_empty_file_without_a_hierarchy_is_refused(tmp_path: Path) -> None:
    (tmp_path / "none.csv").write_text("area,sales\n", encoding="utf-8")
    with pytest.raises(sv.InputError, match="no records to take the codes of 'area' from"):
        protect(tmp_path / "none.csv", table("area"), sv.PPercent(10))


def test_one_record_is_one_cell_and_is_moved() -> None:
    """Cell, row, column and total are the same record, so the same number."""
    release = protect({"area": ["p"], "trade": ["u"], "sales": [500]}, table("area", "trade"), sv.MinimumFrequency(3))
    assert release.table.size == 1
    assert len(released(release)) == 4
    assert set(released(release).values()) <= {400, 600}
    assert release.adjustment.ending is Ending.OPTIMAL


def test_one_cell_of_many_records_stays() -> None:
    release = protect({"area": ["p"] * 9, "sales": [5] * 9}, table("area"), sv.PPercent(10), sv.MinimumFrequency(3))
    assert released(release) == {("Total",): 45, ("p",): 45}


def test_nothing_sensitive_changes_nothing() -> None:
    release = protect(FIVE, table("area", "trade"), sv.MinimumFrequency(1))
    assert released(release) == original(release)
    assert (release.gap, release.adjustment.objective) == (0, 0)


def test_no_rule_at_all_is_refused() -> None:
    with pytest.raises(sv.RuleError, match=r"No rules are given.*MinimumFrequency"):
        protect(FIVE, table("area", "trade"))


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"rules": sv.PPercent(10)}, "rules must be a list, not PPercent"),
        ({"rules": "p%"}, "rules must be a list, not str"),
        ({"rules": None}, "rules must be a list, not NoneType"),
        ({"rules": [10]}, "10 is not a rule"),
        ({"limits": 5}, "limits must be Limits, not int"),
        ({"limits": 0}, "limits must be Limits, not int"),
        ({"options": {"norm": "l2"}}, "options must be Options, not dict"),
        ({"options": {}}, "options must be Options, not dict"),
        ({"spec": [table("area"), "area"]}, "Among the specs of linked tables is str"),
        ({"spec": "area"}, "by a TableSpec, not by str"),
        ({"seed": "one"}, "seed must be a whole number"),
        ({"seed": 1.0}, "seed must be a whole number"),
        ({"seed": True}, "seed must be a whole number"),
        ({"seed": -1}, "seed must be a whole number"),
    ],
)
def test_what_is_asked_wrongly_is_refused_before_the_records_are_read(wrong: dict[str, Any], words: str) -> None:
    asked = {"spec": table("area"), "rules": [sv.PPercent(10)], **wrong}
    with pytest.raises(sv.InputError, match=words):
        sv.protect_table("no such file.csv", **asked)


def test_a_system_asked_wrongly_is_refused(tmp_path: Path) -> None:
    for wrong, words in (({"limits": 5}, "limits must be"), ({"options": sv.Options()}, "SystemOptions, not"), ({"seed": "one"}, "seed")):
        with pytest.raises(sv.InputError, match=words):
            sv.adjust_system(tmp_path / "none.jj", **wrong)  # type: ignore[arg-type]


def test_settings_of_another_kind_are_refused() -> None:
    wrong: list[tuple[Any, dict[str, Any]]] = [
        (sv.Limits, {"seconds": "ten"}),
        (sv.Limits, {"gap": None}),
        (sv.Options, {"cap": "twice"}),
        (sv.Options, {"bounds": 5}),
        (sv.Bounds, {"percent_up": "all"}),
        (sv.Bounds, {"minimum": True}),
    ]
    for kind, settings in wrong:
        with pytest.raises(sv.InputError):
            kind(**settings)


def test_everything_sensitive_is_all_moved() -> None:
    release = protect(FIVE, table("area", "trade"), sv.MinimumFrequency(99))
    assert release.sensitivity.sensitive.all()
    assert (release.protected.value != release.table.value).all()


# -- zeros and small cells (T17, T18) -----------------------------------------------------------------------------------

ZEROS = {"area": list("ppqqqr"), "trade": list("uvuvvv"), "sales": [0, 30, 10, 50, 20, 9]}
"""p has a record of nothing in u; r has no record in u."""


def test_a_zero_with_respondents_stays_when_no_rule_minds_and_the_rest_moves() -> None:
    release = protect(ZEROS, table("area", "trade"), sv.Manual([ManualCell(cell={"area": "p", "trade": "v"}, status="sensitive")]))
    assert sensitive(release) == {("p", "v")}
    assert released(release)["p", "u"] == 0


def test_a_zero_with_respondents_moves_up_when_the_policy_says_so() -> None:
    release = protect(ZEROS, table("area", "trade"), sv.ZeroRule(5))
    assert sensitive(release) == {("p", "u")}
    assert released(release)["p", "u"] >= 5


def test_an_empty_cell_stays_empty() -> None:
    release = protect(ZEROS, table("area", "trade"), sv.ZeroRule(5), sv.MinimumFrequency(2))
    assert ("r", "u") not in released(release)


def test_a_structural_zero_stays_and_is_told_apart() -> None:
    spec = table("area", "trade", structural_zeros=[{"area": "r", "trade": "u"}])
    release = protect(ZEROS, spec, sv.ZeroRule(5))
    assert ("r", "u") not in released(release)
    view = release.protected.views[0]
    assert [tuple(d.codes[i] for d, i in zip(view.dimensions, at, strict=True)) for at in view.structural] == [("r", "u")]


def test_a_record_at_a_structural_zero_is_refused() -> None:
    with pytest.raises(sv.InputError, match="structural_zeros"):
        protect(ZEROS, table("area", "trade", structural_zeros=[{"area": "p", "trade": "u"}]), sv.ZeroRule(5))


def test_a_lone_sensitive_zero_lifts_its_zero_total_and_no_other_zero() -> None:
    """The lone zero of p and u is sensitive; the total of p must rise with it, the zero of p and v has no reason to."""
    data = {"area": list("ppppqq"), "trade": list("uvvvuv"), "sales": [0, 0, 0, 0, 5, 9]}
    numbers = released(protect(data, table("area", "trade"), sv.MinimumFrequency(2)))
    assert numbers["p", "u"] == numbers["p", "Total"] >= 1
    assert numbers["p", "v"] == 0


def test_a_cell_smaller_than_its_level_goes_up() -> None:
    """T18: with levels of 100% and more no cell can go down, for it would vanish."""
    release = protect(FIVE, table("area", "trade"), sv.MinimumFrequency(2, level=100), sv.MinimumFrequency(3, level=150))
    small = [codes for codes in sensitive(release) if codes not in {("Total", "v"), ("q", "Total")}]
    assert ("q", "u") in small
    assert all(released(release)[codes] >= 2 * original(release)[codes] for codes in small)


def test_no_cell_with_something_in_it_is_released_as_zero() -> None:
    data = {"area": list("pqrst"), "sales": [1, 1, 1, 1, 1]}
    release = protect(data, table("area"), sv.MinimumFrequency(2))
    assert min(released(release).values()) >= 1


def test_a_cell_that_can_go_neither_down_nor_up_is_told() -> None:
    """The lone 1 of q and u cannot fall, for it would vanish, and the office lets it not rise."""
    held = sv.Manual([ManualCell(cell={"area": "q", "trade": "u"}, maximum=1)])
    with pytest.raises(sv.InfeasibleProblem, match="No safe table exists"):
        protect(FIVE, table("area", "trade"), sv.MinimumFrequency(2), held)


# -- numbers ------------------------------------------------------------------------------------------------------------


def test_decimals_are_kept() -> None:
    release = protect({**FIVE, "sales": ["7.25", "3.5", "1", "50.75", "20"]}, table("area", "trade"), sv.MinimumFrequency(2))
    assert release.protected.decimals == 2
    assert original(release)["p", "u"] == 725


def test_decimal_commas_are_understood(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("area;sales\np;7,25\np;1,5\nq;3,00\nq;2\n", encoding="utf-8")
    release = protect(tmp_path / "a.csv", table("area"), sv.PPercent(10))
    assert original(release)["Total",] == 1375


WEIGHTED = {**FIVE, "weight": ["1.25", "2.5", "1.1", "3.33", "1"]}


def test_weights_with_decimals_and_fewer_published_decimals() -> None:
    """7 x 1.25 = 8.75 and 3 x 2.5 = 7.5 are one cell of 16.25; whole numbers are published, and they add up."""
    release = protect(WEIGHTED, table("area", "trade", weight="weight", decimals=0), sv.MinimumFrequency(3))
    assert release.table.scale == 2
    assert original(release)["p", "Total"] == 1625
    assert release.protected.decimals == 0


def test_weights_with_decimals_and_all_of_them_published() -> None:
    release = protect(WEIGHTED, table("area", "trade", weight="weight", decimals=2), sv.PPercent(10))
    assert release.protected.decimals == release.table.scale == 2


def test_weights_rounded_on_request() -> None:
    release = protect(WEIGHTED, table("area", "trade", weight="weight", weight_decimals=1), sv.MinimumFrequency(3))
    assert release.table.scale == 1


def test_known_weights() -> None:
    release = protect(WEIGHTED, table("area", "trade", weight="weight", weight_policy="contribution"), sv.PPercent(10))
    assert release.audit.passed
    assert (release.table.frequency == release.table.respondents).all()


def test_rounding_alone_is_mended() -> None:
    """Three cells of 0.5 round to 0 each, and their sum of 1.5 to 2: nothing is sensitive, yet something must give."""
    data = {"area": list("pqr"), "sales": [1, 1, 1], "weight": ["0.5"] * 3}
    release = protect(data, table("area", weight="weight", decimals=0), sv.ZeroRule(5))
    assert released(release)["Total",] == sum(released(release)[code,] for code in "pqr")


def test_thousands() -> None:
    data = {**FIVE, "sales": [7_125_000, 3_000_499, 999_500, 50_000_000, 20_444_444]}
    release = protect(data, table("area", "trade", decimals=-3), sv.MinimumFrequency(2))
    assert release.protected.decimals == -3
    assert released(release)["Total", "Total"] == pytest.approx(81_569, rel=0.2)


def test_more_decimals_published_than_given() -> None:
    release = protect(FIVE, table("area", "trade", decimals=3), sv.MinimumFrequency(2))
    assert original(release)["p", "u"] == 7000


def test_negative_values_keep_their_sign() -> None:
    release = protect({**FIVE, "sales": [-40, 31, -19, 505, -204]}, table("area", "trade"), sv.PPercent(10))
    assert release.sensitivity.sensitive.any()
    assert {codes: np.sign(x) for codes, x in released(release).items()} == {codes: np.sign(a) for codes, a in original(release).items()}


def test_a_total_of_nothing_from_gains_and_losses() -> None:
    release = protect({"area": list("ppqq"), "sales": [-5, 5, 60, 70]}, table("area"), sv.ZeroRule(3))
    assert released(release)["p",] >= 3


@pytest.mark.parametrize("bad", ["", "NaN", "1.5.2", "many", "0.12345678901"])
def test_what_is_not_a_number_is_refused_in_words(tmp_path: Path, bad: str) -> None:
    (tmp_path / "a.csv").write_text(f"area,sales\np,1\nq,{bad}\n", encoding="utf-8")
    with pytest.raises(sv.InputError, match="'sales' has"):
        protect(tmp_path / "a.csv", table("area"), sv.PPercent(10))


def test_numbers_too_large_are_refused_in_words() -> None:
    with pytest.raises(sv.InputError, match="too large"):
        protect({"area": list("pq"), "sales": [2**61, 2**61]}, table("area"), sv.PPercent(10))
    with pytest.raises(sv.InputError, match="too large"):
        protect({"area": list("pq"), "sales": ["1e999", "1"]}, table("area"), sv.PPercent(10))
    with pytest.raises(sv.InputError, match="too large"):
        protect({"area": list("pq"), "sales": [2**55, 1]}, table("area"), sv.PPercent(10))


# -- codes and files ----------------------------------------------------------------------------------------------------

UGLY = ["01.1", " 01.1", "01.1 ", "a b", "Ærø", "Łódź", "東京", "=1+1", "Total ", "null", "NaN", 'say "hi"', "x;y", "it's", "-1"]


def test_ugly_codes_are_kept_apart_and_as_they_are(tmp_path: Path) -> None:
    data = {"area": UGLY * 2, "trade": ["u"] * len(UGLY) + ["v"] * len(UGLY), "sales": range(11, 11 + 2 * len(UGLY))}
    pd.DataFrame(data).to_csv(tmp_path / "ugly.csv", index=False)
    release = protect(tmp_path / "ugly.csv", table("area", "trade"), sv.MinimumFrequency(2, level=5))
    assert {codes[0] for codes in released(release)} == {*UGLY, "Total"}
    assert [original(release)[code, "u"] for code in UGLY] == list(range(11, 11 + len(UGLY)))
    for write in (release.to_csv, release.to_json_stat, release.to_sdmx_csv, release.to_parquet):
        assert write(tmp_path / f"{write.__name__}.out")


def test_a_code_that_is_called_as_the_total_is_refused() -> None:
    with pytest.raises(sv.HierarchyError, match="'Total'"):
        protect({"area": ["Total", "p"], "sales": [1, 2]}, table("area"), sv.PPercent(10))


@pytest.mark.parametrize("encoding", ["latin-1", "utf-8", "utf-8-sig"])
def test_letters_survive_every_encoding(tmp_path: Path, encoding: str) -> None:
    (tmp_path / "a.csv").write_bytes("région;sales\nCôte-d'Or;10\nÎle;200\nÎle;300\n".encode(encoding))
    release = protect(tmp_path / "a.csv", table("région"), sv.MinimumFrequency(2))
    assert set(released(release)) == {("Total",), ("Côte-d'Or",), ("Île",)}


def test_a_column_that_is_not_there_is_named() -> None:
    with pytest.raises(sv.UnknownColumn, match="no column 'region'"):
        protect(FIVE, table("region"), sv.PPercent(10))


def test_codes_that_the_hierarchy_lacks_are_named() -> None:
    with pytest.raises(sv.HierarchyError, match="'q'"):
        protect(FIVE, table(dimensions={"area": sv.Hierarchy.flat("pr")}), sv.PPercent(10))


# -- kinds of tables ----------------------------------------------------------------------------------------------------


def test_counts_with_only_a_minimum_frequency() -> None:
    data = {"area": list("ppqqqqqq"), "trade": list("uvuvvvvv")}
    release = protect(data, table("area", "trade", measure=None), sv.MinimumFrequency(3))
    assert original(release)["Total", "Total"] == 8
    assert ("p", "u") in sensitive(release)
    assert min(released(release).values()) >= 1


def test_linked_tables_tell_one_story() -> None:
    """The total by area and the total by trade are one number, and so are the cells that both tables have."""
    specs = [table("area", "trade", name="both"), table("area", name="areas"), table("trade", name="trades")]
    release = protect(FIVE, specs, sv.MinimumFrequency(2))
    both, areas, trades = (released(release, view) for view in range(3))
    assert areas["Total",] == trades["Total",] == both["Total", "Total"]
    assert all(areas[code,] == both[code, "Total"] for code in "pq")
    assert all(trades[code,] == both["Total", code] for code in "uv")


def test_linked_tables_that_do_not_fit_together_are_refused() -> None:
    with pytest.raises(sv.InputError, match="differ in measure"):
        protect(FIVE, [table("area", name="a"), table("trade", name="b", measure=None)], sv.MinimumFrequency(2))


def test_alternative_trees_over_the_same_towns() -> None:
    towns = [f"t{i}" for i in range(6)]
    compass = sv.Hierarchy.from_dict({"north": towns[:3], "south": towns[3:]})
    coast = sv.Hierarchy.from_dict({"sea": towns[::2], "inland": towns[1::2]})
    rng = np.random.default_rng(8)
    data = {"town": rng.choice(towns, 40), "trade": rng.choice(list("uvw"), 40), "sales": rng.integers(1, 500, 40)}
    release = protect(data, table(dimensions={"town": [compass, coast], "trade": None}), sv.PPercent(20), sv.MinimumFrequency(3))
    numbers = released(release)
    assert numbers["north", "Total"] + numbers["south", "Total"] == numbers["sea", "Total"] + numbers["inland", "Total"]
    assert sensitive(release)


def test_records_of_one_holding_are_one_respondent() -> None:
    """T15: four records in p, but one owner; q has four owners."""
    data = {"area": list("ppppqqqq"), "owner": [*["acme"] * 4, *"wxyz"], "sales": [10, 11, 12, 13, 10, 11, 12, 13]}
    assert sensitive(protect(data, table("area"), sv.MinimumFrequency(3))) == set()
    assert sensitive(protect(data, table("area", holding="owner"), sv.MinimumFrequency(3))) == {("p",)}


def test_a_ready_table_is_protected_by_the_offices_word() -> None:
    ready = sv.table_from_cells({"area": sv.Hierarchy.flat("pqr")}, {("p",): "10.5", ("q",): 20, ("r",): Decimal(30)}, decimals=1)
    said = sv.Manual([ManualCell(cell={"area": "p"}, status="sensitive", lower=4, upper=3), ManualCell(cell={}, status="frozen")])
    release = sv.protect_assessed(ready, sv.assess(ready, [said]), limits=LIMITS)
    assert_safe(release)
    assert released(release)["Total",] == 605


def test_several_thousand_cells() -> None:
    rng = np.random.default_rng(4)
    size = 6000
    data = {
        "area": [f"{a:02}{b}" for a, b in zip(rng.integers(0, 40, size), rng.integers(0, 5, size), strict=True)],
        "trade": rng.choice([f"t{i}" for i in range(15)], size),
        "sales": rng.lognormal(5, 1.6, size).astype(int) + 1,
    }
    tree = sv.Hierarchy.from_digits(sorted(set(data["area"])), digits=[2, 1])
    limits = sv.Limits(seconds=6, gap=0.2)
    release = protect(data, table(dimensions={"area": tree, "trade": None}), sv.PPercent(15), sv.MinimumFrequency(3), limits=limits)
    assert release.table.size > 3000
    assert len(sensitive(release)) > 300


# -- settings -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [10, 10.5, "10.5", Decimal("10.5"), Fraction(21, 2), np.float64(10.5), np.int64(10)])
def test_every_kind_of_number_is_a_parameter_and_is_written_down(number: Any) -> None:
    release = protect(FIVE, table("area"), sv.PPercent(number), seed=np.int64(3))
    parameters = json.loads(release.provenance.to_json())["parameters"]
    assert Fraction(str(parameters["rules"][0]["p"])) == Fraction(str(number))
    assert parameters["seed"] == 3


def test_bounds_beyond_all_numbers_are_no_bounds() -> None:
    bounds = sv.Bounds(minimum=-1e300, maximum=1e300, percent_up=1e300, percent_down=1e300)
    release = protect(FIVE, table("area", "trade"), sv.MinimumFrequency(2), options=sv.Options(bounds=bounds, cap=1e300))
    assert release.audit.passed


@pytest.mark.parametrize(
    ("further", "words"),
    [
        ({"method": "magic"}, "Unknown method 'magic'"),
        ({"seed": -1}, "seed"),
    ],
)
def test_unknown_settings_are_refused_in_words(further: dict[str, Any], words: str) -> None:
    with pytest.raises(sv.InputError, match=words):
        protect(FIVE, table("area"), sv.PPercent(10), **further)


@pytest.mark.parametrize("variant", ["at-least", "exact"])
@pytest.mark.parametrize("norm", ["l1", "l2"])
@pytest.mark.parametrize("weights", ["unit", "inverse", "inverse-sqrt"])
def test_every_combination_of_options_gives_a_safe_table(variant: Any, norm: Any, weights: Any) -> None:
    options = sv.Options(variant=variant, norm=norm, weights=weights)
    release = protect(
        FIVE, table("area", "trade"), sv.Manual([ManualCell(cell={"area": "p", "trade": "u"}, status="sensitive")]), options=options
    )
    assert released(release)["p", "u"] in ({5, 9} if variant == "exact" else {*range(1, 6), *range(9, 20)})


def test_progress_is_told_stage_by_stage() -> None:
    stages: list[str] = []
    protect(FIVE, table("area", "trade"), sv.PPercent(10), on_progress=lambda progress: stages.append(progress.stage))
    assert stages[:2] == ["tabulating", "assessing"]
    assert stages[-1] == "audited"


def test_a_rule_that_is_none_is_refused() -> None:
    rules: Sequence[Any] = ["p-percent"]
    with pytest.raises(sv.RuleError, match="is not a rule"):
        protect(FIVE, table("area"), *rules)


def test_a_row_of_sensitive_zeros_lifts_its_zero_total() -> None:
    """Four zeros of one respondent each must rise; their total, a zero of four respondents, must rise with them."""
    rows = [("a", column, value) for column in "wxyz" for value in (10, 20, 30)] + [("u", column, 0) for column in "wxyz"]
    data = pa.table({name: [row[k] for row in rows] for k, name in enumerate(("row", "column", "value"))})
    spec = sv.TableSpec(dimensions={"row": None, "column": None}, measure="value")
    release = sv.protect_table(data, spec, rules=[sv.MinimumFrequency(3)], limits=sv.Limits(seconds=10))
    view = release.protected.views[0]
    released = dict(zip(map(tuple, view.coordinates.tolist()), release.protected.value[view.cell].tolist(), strict=True))
    codes = [dimension.codes.index for dimension in view.dimensions]
    assert [released[codes[0]("u"), codes[1](column)] for column in "wxyz"] == [1, 1, 1, 1]
    assert released[codes[0]("u"), codes[1]("Total")] == 4
