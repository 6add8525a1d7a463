"""Cells of a tau-ARGUS file become a table: totals checked or added up, respondents as far as the file tells of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from statveil.core.errors import RuleError, TableNotAdditive
from statveil.formats.argus.cells import table_of
from statveil.risk.assess import assess
from statveil.risk.rules import Dominance, MinimumFrequency, PPercent
from tests.formats.argus.tab_files import RDA, TAB, table


def test_rules_see_the_respondents_that_the_file_tells_of(tmp_path: Path) -> None:
    ready = table_of(table(tmp_path))
    assert assess(ready, [MinimumFrequency(5)]).sensitive.tolist() == [False, True, False]
    # 900 and 500 of 1500.25 leave 100.25, more than 10% of 900; 50 and 30 of 100.25 leave 20.25.
    assert not assess(ready, [PPercent(10)]).sensitive.any()
    assert assess(ready, [PPercent(50)]).sensitive.tolist() == [True, True, True]
    with pytest.raises(RuleError, match="3 largest contributions"):
        assess(ready, [Dominance(3, 80)])


def test_without_contributions_a_concentration_rule_is_refused_not_passed(tmp_path: Path) -> None:
    rda = RDA.replace("top1\n  <MAXSCORE>\ntop2\n  <MAXSCORE>\n", "")
    ready = table_of(table(tmp_path, "All;30;9;S;0;0\n 1;10;4;S;0;0\n 2;20;5;S;0;0\n", rda))
    with pytest.raises(RuleError, match="the table holds 0"):
        assess(ready, [PPercent(10)])


def test_totals_that_the_file_lacks_are_added_up_with_their_frequencies(tmp_path: Path) -> None:
    rda = RDA.replace("top1\n  <MAXSCORE>\ntop2\n  <MAXSCORE>\n", "")
    ready = table_of(table(tmp_path, " 1;10;1;S;0;0\n 2;20;1;S;0;0\n", rda))
    assert (ready.value.tolist(), ready.frequency.tolist()) == ([3000, 1000, 2000], [2, 1, 1])
    assert assess(ready, [MinimumFrequency(2)]).sensitive.tolist() == [False, True, True]


def test_the_largest_contributions_of_a_total_that_the_file_lacks_are_unknown(tmp_path: Path) -> None:
    with pytest.raises(RuleError, match="needs the respondents of every cell"):
        assess(table_of(table(tmp_path, " 1;10;4;5;5;S;0;0\n 2;20;4;9;9;S;0;0\n")), [PPercent(10)])


def test_totals_are_checked_exactly_or_added_up_anew(tmp_path: Path) -> None:
    wrong = TAB.replace("1600,50", "1600,51")
    with pytest.raises(TableNotAdditive, match=r"\('All',\) is not the sum"):
        table_of(table(tmp_path, wrong))
    assert table_of(table(tmp_path, wrong), recompute=True).value.tolist() == [160050, 10025, 150025]


def test_floating_noise_is_not_a_decimal(tmp_path: Path) -> None:
    """Programs that compute in doubles write 0.30000000000000004; tables of such numbers do add up."""
    cells = table(tmp_path, "All;0.30000000000000004;2;0.2;0.1;S;0;0\n 1;0.1;1;0.1;0;S;0;0\n 2;0.2;1;0.2;0;S;0;0\n")
    assert table_of(cells).value.tolist() == [30, 10, 20]


def test_levels_with_many_decimals_are_rounded_up(tmp_path: Path) -> None:
    cells = table(tmp_path, TAB.replace("20,125", "20,12345678901234567"))
    assert cells.lower is not None
    assert cells.lower.texts()[1] == "20.123456789013"
