"""Every check of the audit, once with a release that passes and once with one that fails."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import statveil as sv
from statveil.audit.report import FINDINGS_SHOWN, AuditReport
from statveil.audit.tables import Requirements, audit_table, release_hash
from statveil.tables.spec import Dimension
from tests.audit.stories import A, B, C, audit, failed, named, protected, provenance_of, row, sensitivity_of, with_a_set

SUM_AND_PARTS = [60, 10, 20, 30]


def test_a_table_released_as_it_is_passes_every_check() -> None:
    report = audit(row(10, 20, 30), SUM_AND_PARTS)
    assert report.passed
    names = [check.name for check in report.checks]
    assert names == ["shape", "additivity", "protection", "overshoot", "bounds", "zeros", "signs", "frozen", "provenance"]
    assert "Every total is the sum of its parts: 1 checked, 0 faults" in str(report)


def test_an_audit_that_checked_nothing_has_not_passed() -> None:
    assert not AuditReport(checks=()).passed


# -- shape --------------------------------------------------------------------------------------------------------------


def shape_findings(released: sv.ProtectedTable) -> tuple[str, ...]:
    """What is wrong with the shape of a release of 10 + 20 + 30; nothing else is checked then."""
    table = row(10, 20, 30)
    report = audit_table(table, sensitivity_of(table), Requirements(), released, provenance_of(table, protected(table, SUM_AND_PARTS)))
    assert not report.passed
    assert [check.name for check in report.checks] == ["shape"]
    return report.checks[0].findings


def test_a_missing_cell_is_caught() -> None:
    assert shape_findings(protected(row(10, 20, 30), [60, 10, 20])) == ("the number of cells differs",)


def test_released_fractions_are_caught() -> None:
    released = replace(protected(row(10, 20, 30), SUM_AND_PARTS), value=np.array([60.0, 10.5, 19.5, 30.0]))
    assert shape_findings(released) == ("released values are not whole numbers of units",)


def test_other_decimals_than_the_table_has_are_caught() -> None:
    """60 published with one decimal would read 6.0."""
    assert shape_findings(replace(protected(row(10, 20, 30), SUM_AND_PARTS), decimals=1)) == ("the number of decimals differs",)


def test_a_missing_view_is_caught() -> None:
    assert shape_findings(replace(protected(row(10, 20, 30), SUM_AND_PARTS), views=())) == ("the views differ",)


def test_swapped_labels_are_caught() -> None:
    """The numbers stand, but A and B have changed places: what is published for A is B's."""
    released = protected(row(10, 20, 30), SUM_AND_PARTS)
    swapped = Dimension(name="area", trees=(sv.Hierarchy.flat("BAC"),))
    assert shape_findings(replace(released, views=(replace(released.views[0], dimensions=(swapped,)),))) == ("the views differ",)


def test_a_dimension_by_another_name_is_caught() -> None:
    released = protected(row(10, 20, 30), SUM_AND_PARTS)
    renamed = Dimension(name="trade", trees=released.views[0].dimensions[0].trees)
    assert shape_findings(replace(released, views=(replace(released.views[0], dimensions=(renamed,)),))) == ("the views differ",)


def test_a_position_that_points_at_another_cell_is_caught() -> None:
    released = protected(row(10, 20, 30), SUM_AND_PARTS)
    assert shape_findings(replace(released, views=(replace(released.views[0], cell=np.array([0, 2, 1, 3])),))) == ("the views differ",)


# -- additivity ---------------------------------------------------------------------------------------------------------


def test_a_total_that_is_one_unit_off_is_caught_and_named() -> None:
    report = audit(row(10, 20, 30), [61, 10, 20, 30])
    assert failed(report) == {"additivity"}
    assert named(report, "additivity").findings == ("the total above area=A",)


def four_towns() -> sv.Table:
    """a..d grouped by compass and, another way, by coast; every cell has its own number."""
    compass = sv.Hierarchy.from_dict({"north": ["a", "b"], "south": ["c", "d"]})
    coast = sv.Hierarchy.from_dict({"sea": ["a", "c"], "inland": ["b", "d"]})
    return sv.table_from_cells({"town": [compass, coast]}, {("a",): 1, ("b",): 2, ("c",): 4, ("d",): 8})


def test_every_tree_is_added_up() -> None:
    table = four_towns()
    codes = table.views[0].dimensions[0].codes
    assert audit(table, table.value).passed
    assert named(audit(table, table.value), "additivity").checked == 6
    wrong = table.value.copy()
    wrong[table.views[0].cell[codes.index("sea")]] += 1
    report = audit(table, wrong)
    assert failed(report) == {"additivity"}
    assert named(report, "additivity").faults == 2  # its parts, and the total above it
    assert "the total above town=a" in named(report, "additivity").findings


def linked() -> sv.Table:
    """Turnover by region and, apart, by trade: the grand total is one cell of both."""
    firms = pd.DataFrame({"region": list("NNSS"), "trade": list("vbvb"), "turnover": [1, 2, 4, 8]})
    specs = [sv.TableSpec(dimensions={name: None}, measure="turnover", name=name) for name in ("region", "trade")]
    return sv.tabulate(sv.read_microdata(firms), specs)


def test_every_linked_view_is_added_up() -> None:
    table = linked()
    assert audit(table, table.value).passed
    wrong = table.value.copy()
    wrong[table.views[1].cell[1]] += 1
    report = audit(table, wrong)
    assert failed(report) == {"additivity"}
    assert named(report, "additivity").findings == ("the total above trade=b",)


def test_a_shared_total_that_is_off_fails_in_both_views() -> None:
    table = linked()
    wrong = table.value.copy()
    wrong[table.views[0].cell[0]] += 1
    assert named(audit(table, wrong), "additivity").findings == ("the total above region=N", "the total above trade=b")


def test_sums_that_wrap_around_are_caught() -> None:
    """Eight times 2^61 is zero in 64 bits, so the total would seem right."""
    assert failed(audit(row(*[1] * 8), [8, *[1 + 2**61] * 8])) == {"additivity"}


def test_all_faults_are_counted_and_the_first_are_named() -> None:
    codes = [f"c{i:02}" for i in range(30)]
    table = sv.table_from_cells({"a": sv.Hierarchy.flat("uv"), "b": sv.Hierarchy.flat(codes)}, {(a, b): 1 for a in "uv" for b in codes})
    wrong = np.where(table.value == 1, 2, table.value)
    report = audit(table, wrong)
    assert named(report, "additivity").faults == 32  # 30 columns and the rows u and v; the total of totals still holds
    assert len(named(report, "additivity").findings) == FINDINGS_SHOWN


# -- protection ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("a", [6, 5, 13, 14])
def test_a_cell_moved_by_its_level_or_more_either_way_is_protected(a: int) -> None:
    """A = 10 with levels 4 down and 3 up."""
    assert audit(row(10, 20, 30), [50 + a, a, 20, 30], sensitivity_of(row(10, 20, 30), {A: (4, 3)})).passed


@pytest.mark.parametrize("a", [7, 9, 10, 11, 12])
def test_a_cell_moved_by_less_is_caught(a: int) -> None:
    report = audit(row(10, 20, 30), [50 + a, a, 20, 30], sensitivity_of(row(10, 20, 30), {A: (4, 3)}))
    assert failed(report) == {"protection"}
    assert named(report, "protection").findings == ("area=A",)


def test_levels_are_measured_from_the_exact_value_not_from_the_rounded_one() -> None:
    """A = 10.4 with level 3, published whole: 7 is 3.4 away and 13 only 2.6, so safe are 7 and 14."""
    table = row("10.4", "20.3", "30.3", decimals=1, published=0)
    sensitivity = sensitivity_of(table, {A: 30})
    assert audit(table, [57, 7, 20, 30], sensitivity).passed
    assert audit(table, [64, 14, 20, 30], sensitivity).passed
    assert failed(audit(table, [58, 8, 20, 30], sensitivity)) == {"protection"}
    assert failed(audit(table, [63, 13, 20, 30], sensitivity)) == {"protection"}


def test_a_level_of_nothing_still_forbids_the_true_value() -> None:
    table = row(10, 20, 30)
    assert failed(audit(table, SUM_AND_PARTS, sensitivity_of(table, {A: 0}))) == {"protection"}


def test_levels_beyond_64_bits_of_fine_units_are_compared_exactly() -> None:
    table = row(2**52, 5, decimals=0)
    assert audit(table, [2**53 + 5, 2**53, 5], sensitivity_of(table, {A: (2**62 - 1, 2**52)})).passed
    assert failed(audit(table, [2**53 + 4, 2**53 - 1, 5], sensitivity_of(table, {A: (2**62 - 1, 2**52)}))) == {"protection"}


# -- overshoot ----------------------------------------------------------------------------------------------------------


def test_the_exact_variant_allows_the_level_and_nothing_more() -> None:
    table = row(10, 20, 30)
    sensitivity, exact = sensitivity_of(table, {A: (4, 3)}), Requirements(exact=True)
    assert audit(table, [56, 6, 20, 30], sensitivity, exact).passed
    assert audit(table, [63, 13, 20, 30], sensitivity, exact).passed
    assert failed(audit(table, [55, 5, 20, 30], sensitivity, exact)) == {"overshoot"}
    assert failed(audit(table, [64, 14, 20, 30], sensitivity, exact)) == {"overshoot"}


def test_a_cap_allows_a_multiple_of_the_level() -> None:
    """A = 20 with level 4 and cap 1.6: at most 6.4, in whole units 6."""
    table = row(20, 20, 30)
    sensitivity, cap = sensitivity_of(table, {A: 4}), Requirements(cap=Fraction("1.6"))
    assert audit(table, [64, 14, 20, 30], sensitivity, cap).passed
    assert audit(table, [76, 26, 20, 30], sensitivity, cap).passed
    assert failed(audit(table, [63, 13, 20, 30], sensitivity, cap)) == {"overshoot"}
    assert failed(audit(table, [77, 27, 20, 30], sensitivity, cap)) == {"overshoot"}


def test_a_cap_never_forbids_the_nearest_safe_value() -> None:
    """A = 10.4 with level 3 and cap 1 could move to 7.4 or 13.4, which are not published; the next ones, 7 and 14, are allowed."""
    table = row("10.4", "20.3", "30.3", decimals=1, published=0)
    sensitivity, cap = sensitivity_of(table, {A: 30}), Requirements(cap=Fraction(1))
    assert audit(table, [57, 7, 20, 30], sensitivity, cap).passed
    assert failed(audit(table, [56, 6, 20, 30], sensitivity, cap)) == {"overshoot"}


def test_without_such_a_wish_no_distance_is_too_far() -> None:
    table = row(10, 20, 30)
    report = audit(table, [1050, 1000, 20, 30], sensitivity_of(table, {A: 4}))
    assert report.passed
    assert named(report, "overshoot").checked == 0


# -- bounds -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "inside", "outside"),
    [
        (Requirements(percent_down=Fraction(10)), [58, 10, 18, 30], [57, 10, 17, 30]),
        (Requirements(percent_up=Fraction("12.5")), [62, 10, 22, 30], [63, 10, 23, 30]),
        (Requirements(minimum=Fraction(9)), [59, 9, 20, 30], [58, 8, 20, 30]),
        (Requirements(maximum=Fraction(61)), [61, 11, 20, 30], [62, 12, 20, 30]),
    ],
    ids=["percent down", "percent up", "minimum", "maximum"],
)
def test_a_cell_beyond_the_bounds_asked_is_caught(asked: Requirements, inside: list[int], outside: list[int]) -> None:
    assert audit(row(10, 20, 30), inside, None, asked).passed
    assert failed(audit(row(10, 20, 30), outside, None, asked)) == {"bounds"}


def test_a_negative_cell_has_percentages_of_its_size() -> None:
    """-20 with 10% either way may be -22 to -18."""
    table, asked = row(-20, 50), Requirements(percent_down=Fraction(10), percent_up=Fraction(10))
    assert audit(table, [28, -22, 50], None, asked).passed
    assert audit(table, [32, -18, 50], None, asked).passed
    assert failed(audit(table, [33, -17, 50], None, asked)) == {"bounds"}


def test_a_bound_between_two_decimals_is_exact() -> None:
    """At most 0.29, published with two decimals: 29 hundredths, though 0.29 * 100 is a little less in floating point."""
    table, asked = row("0.10", "0.05", decimals=2), Requirements(maximum=Fraction("0.29"))
    assert audit(table, [29, 10, 19], None, asked).passed
    assert failed(audit(table, [30, 11, 19], None, asked)) == {"bounds"}


def test_bounds_hold_for_tables_in_thousands() -> None:
    """10,400 and 20,300 published in thousands, at most 33,500: 33 may stand, 34 not."""
    table = row(10_400, 20_300, published=-3)
    asked = Requirements(maximum=Fraction(33_500))
    assert audit(table, [33, 10, 23], None, asked).passed
    assert failed(audit(table, [34, 10, 24], None, asked)) == {"bounds"}


def test_rounding_is_never_beyond_a_bound() -> None:
    """With no change allowed at all, 10.4 may still be published as 10, but not as 9 or 11."""
    table = row("10.4", "20.0", decimals=1, published=0)
    asked = Requirements(percent_down=Fraction(0), percent_up=Fraction(0))
    assert audit(table, [30, 10, 20], None, asked).passed
    assert failed(audit(table, [31, 11, 20], None, asked)) == {"bounds"}
    assert failed(audit(table, [29, 9, 20], None, asked)) == {"bounds"}


def test_a_sensitive_cell_may_leave_the_bounds_as_far_as_its_level() -> None:
    table, asked = row(10, 20, 30), Requirements(percent_down=Fraction(10), percent_up=Fraction(10))
    sensitivity = sensitivity_of(table, {A: 4})
    assert audit(table, [56, 6, 20, 30], sensitivity, asked).passed
    assert failed(audit(table, [55, 5, 20, 30], sensitivity, asked)) == {"bounds"}


def test_a_cell_keeps_its_own_minimum_and_maximum() -> None:
    table = row(10, 20, 30)
    sensitivity = sensitivity_of(table, minimum={A: 9}, maximum={B: 21})
    assert audit(table, [60, 9, 21, 30], sensitivity).passed
    low, high = audit(table, [58, 8, 20, 30], sensitivity), audit(table, [62, 10, 22, 30], sensitivity)
    assert named(low, "bounds").findings == ("area=A",)
    assert named(high, "bounds").findings == ("area=B",)


def test_not_even_a_level_passes_a_cells_own_bounds() -> None:
    table = row(10, 20, 30)
    assert failed(audit(table, [56, 6, 20, 30], sensitivity_of(table, {A: 4}, minimum={A: 7}))) == {"bounds"}


def test_own_bounds_between_two_published_units_move_inward() -> None:
    """At least 9.2 and at most 10.8 in whole units: only 10."""
    table = row("10.0", "20.0", decimals=1, published=0)
    sensitivity = sensitivity_of(table, minimum={A: 92}, maximum={A: 108})
    assert audit(table, [30, 10, 20], sensitivity).passed
    assert failed(audit(table, [29, 9, 20], sensitivity)) == {"bounds"}
    assert failed(audit(table, [31, 11, 20], sensitivity)) == {"bounds"}


# -- zeros, signs, frozen cells -----------------------------------------------------------------------------------------


def test_a_zero_that_comes_to_life_is_caught() -> None:
    report = audit(row(0, 20, 30), [51, 1, 20, 30])
    assert failed(report) == {"zeros"}
    assert named(report, "zeros").findings == ("area=A",)
    assert audit(row(0, 20, 30), [50, 0, 20, 30]).passed


def test_a_sensitive_zero_must_rise() -> None:
    """A zero with respondents (T17): moved up it is safe; left at zero or below it is not."""
    table = row(0, 20, 30)
    sensitivity = sensitivity_of(table, {A: 2})
    assert audit(table, [52, 2, 20, 30], sensitivity).passed
    assert failed(audit(table, [50, 0, 20, 30], sensitivity)) == {"protection"}
    assert failed(audit(table, [48, -2, 20, 30], sensitivity)) == {"signs"}


@pytest.mark.parametrize("a", [0, -1])
def test_a_positive_cell_that_vanishes_or_turns_is_caught(a: int) -> None:
    """T18: cut at zero, A = 3 with level 5 would tell that it lies between 1 and 5."""
    table = row(3, 20, 30)
    assert failed(audit(table, [50 + a, a, 20, 30])) == {"signs"}


@pytest.mark.parametrize("a", [0, 1])
def test_a_negative_cell_that_vanishes_or_turns_is_caught(a: int) -> None:
    table = row(-3, 20, 30)
    assert failed(audit(table, [50 + a, a, 20, 30])) == {"signs"}
    assert audit(table, [49, -1, 20, 30]).passed


def test_what_rounds_to_zero_may_be_zero_but_not_negative() -> None:
    table = row("0.4", "20.0", decimals=1, published=0)
    assert audit(table, [20, 0, 20]).passed
    assert audit(table, [21, 1, 20]).passed
    assert failed(audit(table, [19, -1, 20])) == {"signs"}
    below = row("-0.4", "20.0", decimals=1, published=0)
    assert audit(below, [20, 0, 20]).passed
    assert failed(audit(below, [21, 1, 20])) == {"signs"}


def test_halves_are_rounded_to_the_even_neighbour() -> None:
    """Frozen cells of 0.5, 1.5 and 2.5 are released as 0, 2 and 2."""
    table = row("0.5", "1.5", "2.5", decimals=1, published=0)
    sensitivity = sensitivity_of(table, frozen=[A, B, C])
    assert audit(table, [4, 0, 2, 2], sensitivity).passed
    assert failed(audit(table, [4, 0, 1, 3], sensitivity)) == {"frozen"}


def test_a_frozen_cell_that_moved_is_caught() -> None:
    table = row(10, 20, 30)
    report = audit(table, [61, 10, 21, 30], sensitivity_of(table, frozen=[B]))
    assert failed(report) == {"frozen"}
    assert named(report, "frozen").findings == ("area=B",)
    assert audit(table, [61, 11, 20, 30], sensitivity_of(table, frozen=[B])).passed


# -- provenance ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("field", "words"), [("input_hash", "the input's hash differs"), ("release_hash", "the release's hash differs")])
def test_a_provenance_of_something_else_is_caught(field: str, words: str) -> None:
    table = row(10, 20, 30)
    released = protected(table, SUM_AND_PARTS)
    other = replace(provenance_of(table, released), **{field: "of something else"})
    report = audit_table(table, sensitivity_of(table), Requirements(), released, other)
    assert failed(report) == {"provenance"}
    assert named(report, "provenance").findings == (words,)


def test_the_hash_knows_numbers_labels_and_decimals() -> None:
    table = row(10, 20, 30)
    released = protected(table, SUM_AND_PARTS)
    relabelled = Dimension(name="area", trees=(sv.Hierarchy.flat("ABX"),))
    others = [
        protected(table, [60, 11, 19, 30]),
        replace(released, decimals=1),
        replace(released, views=(replace(released.views[0], name="other"),)),
        replace(released, views=(replace(released.views[0], dimensions=(relabelled,)),)),
    ]
    assert len({release_hash(each) for each in [released, *others]}) == 5


def test_the_hash_does_not_tell_empty_cells_from_other_zeros() -> None:
    flat = sv.Hierarchy.flat("ABC")
    with_zero = sv.table_from_cells({"area": flat}, {("A",): 10, ("B",): 0, ("C",): 30})
    without = sv.table_from_cells({"area": flat}, {("A",): 10, ("C",): 30})
    assert release_hash(protected(with_zero, with_zero.value)) == release_hash(protected(without, without.value))


# -- nothing to check ---------------------------------------------------------------------------------------------------


def test_an_empty_table_passes() -> None:
    table = sv.table_from_cells({"area": sv.Hierarchy.flat("AB")}, {})
    everything = Requirements(percent_down=Fraction(1), percent_up=Fraction(1), minimum=Fraction(0), maximum=Fraction(1), cap=Fraction(2))
    assert audit(table, [], None, everything).passed
    assert audit(table, [], None, Requirements(exact=True)).passed


def test_findings_are_labels_and_never_values() -> None:
    table = row(12345, 20, 30)
    report = audit(table, [12396, 12346, 20, 30], sensitivity_of(table, {A: 4}))
    assert "12345" not in repr(report)
    assert "12345" not in str(report)


def test_the_sum_of_a_set_that_nobody_reads_is_held_to_its_own_bounds_and_to_no_others() -> None:
    table = with_a_set()
    both = table.unions[0].cell
    sensitivity = sensitivity_of(table, {both: 10}, minimum={both: 85}, maximum={both: 115})
    assert failed(audit(table, [190, 50, 40, 100, 90], sensitivity)) == set()
    assert failed(audit(table, [200, 70, 42, 88, 112], sensitivity, Requirements(maximum=Fraction(105)))) == set()
    assert failed(audit(table, [180, 40, 40, 100, 80], sensitivity)) == {"bounds"}
    assert failed(audit(table, [216, 70, 46, 100, 116], sensitivity)) == {"bounds"}
    assert failed(audit(table, [180, 40, 40, 100, 80], sensitivity_of(table, {both: 10}))) == set()
