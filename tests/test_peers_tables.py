"""What users of other tools complained of or asked for (US#n: issue n of sdcTools/UserSupport), where it touches tables: each as a fact.

Those that touch files are in tests/argus/test_peers_formats.py.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import statveil as sv
from statveil.protect.search.methods import HOMES
from statveil.risk.rules import ManualCell
from tests.jobs.tables.stories import FIVE, original, protect, released, sensitive, table

pytestmark = pytest.mark.slow

TOWNS = [f"t{i}" for i in range(6)]


def city(records: int = 120, *, seed: int = 5) -> pd.DataFrame:
    """Shops of six towns and four trades; a few of them large."""
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {"town": rng.choice(TOWNS, records), "trade": rng.choice(list("uvwx"), records), "sales": rng.zipf(1.7, records) % 900 + 1}
    )


@pytest.mark.parametrize("method", sorted(set(HOMES) - {"fixed", "network", "dense", "alternate", "random"}))
def test_us307_the_minimum_frequency_means_the_same_to_every_method(method: str) -> None:
    release = protect(FIVE, table("area", "trade"), sv.MinimumFrequency(2), method=method)
    assert sensitive(release) == {("p", "u"), ("p", "v"), ("q", "u")}


def test_us158_us262_the_solver_is_part_of_the_package() -> None:
    """Nothing is loaded by hand: a fresh process protects a table with what was installed."""
    program = (
        "import pandas as pd, statveil as sv\n"
        "data = pd.DataFrame({'area': list('ppqqq'), 'sales': [7, 3, 1, 50, 20]})\n"
        "release = sv.protect_table(data, sv.TableSpec(dimensions={'area': None}, measure='sales'), rules=[sv.MinimumFrequency(3)])\n"
        "print(release.audit.passed)\n"
    )
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=600)
    assert said.stdout == "True\n", said.stderr


def test_us92_us93_linked_tables_are_protected_in_one_go() -> None:
    specs = [table("town", "trade", name="both"), table("town", name="towns"), table("trade", name="trades")]
    release = protect(city(), specs, sv.PPercent(20))
    both, towns = released(release, 0), released(release, 1)
    assert all(towns[town,] == both[town, "Total"] for town in TOWNS)


def test_us136_us133_us135_linked_tables_leave_no_singleton_unprotected() -> None:
    """The audit of every view looks at each sensitive cell by itself, singletons among them."""
    specs = [table("town", "trade", name="both"), table("trade", name="trades")]
    release = protect(city(60), specs, sv.MinimumFrequency(2), sv.PPercent(20))
    alone = {codes for codes in sensitive(release, 0) if "Total" not in codes}
    assert alone
    for view in range(2):
        moved = {codes for codes, value in released(release, view).items() if value != original(release, view)[codes]}
        assert sensitive(release, view) <= moved


def test_us180_holdings_and_decisions_work_on_linked_tables() -> None:
    data = {**FIVE, "owner": ["a", "b", "c", "d", "d"]}
    specs = [table("area", "trade", name="both", holding="owner"), table("area", name="areas", holding="owner")]
    said = sv.rules.Manual([ManualCell(cell={"area": "q", "trade": "u"}, view="both", status="safe")])
    release = protect(data, specs, sv.MinimumFrequency(2), said)
    assert ("q", "v") in sensitive(release, 0), "two records, one owner"
    assert ("q", "u") not in sensitive(release, 0)


def test_us115_frozen_cells_make_no_run_endless() -> None:
    """Many totals that must be published as they are: an answer in seconds, or why there is none."""
    frozen = [ManualCell(cell={"town": town}, status="frozen") for town in TOWNS] + [ManualCell(cell={}, status="frozen")]
    release = protect(city(400), table("town", "trade"), sv.rules.Dominance(1, 75), sv.rules.Manual(frozen), limits=sv.Limits(seconds=10))
    assert release.provenance is not None
    kept = released(release)
    assert all(kept[town, "Total"] == original(release)[town, "Total"] for town in TOWNS)


def test_us334_a_hierarchy_that_loses_a_code_is_refused_and_reveals_nothing() -> None:
    whole = sv.Hierarchy.from_dict({"north": TOWNS[:3], "south": TOWNS[3:]})
    less = sv.Hierarchy.from_dict({"north": TOWNS[:3], "south": TOWNS[3:5]})
    protect(city(), table(dimensions={"town": whole, "trade": None}), sv.PPercent(20))
    with pytest.raises(sv.InputError, match="t5"):
        protect(city(), table(dimensions={"town": less, "trade": None}), sv.PPercent(20))


def test_acro198_acro137_no_margin_reveals_a_cell() -> None:
    """Totals minus the other cells give the released number, never the true one: the table adds up as it is released."""
    release = protect(FIVE, table("area", "trade"), sv.MinimumFrequency(2))
    numbers = released(release)
    for cell in sensitive(release):
        area, trade = cell
        others = [code for code in "uv" if code != trade]
        inferred = numbers[area, "Total"] - sum(numbers[area, code] for code in others)
        assert inferred == numbers[cell] != original(release)[cell]


def test_us160_a_union_that_one_enterprise_dominates_is_protected_as_a_cell() -> None:
    """One holding is alone in two cells of a row; what it has in both together is as far from the truth as the rules ask of a cell."""
    firms = pd.DataFrame(
        {
            "area": list("ppppppqqqqqq"),
            "trade": list("uvwwwwuuvvww"),
            "group": ["G", "G", *(f"h{i}" for i in range(10))],
            "sales": [300, 200, 90, 80, 70, 60, 100, 110, 120, 130, 140, 150],
        }
    )
    both = [("p", "u"), ("p", "v")]
    for links in ({"search_sets": True}, {"sets": [sv.CellSet(cells=[{"area": area, "trade": trade} for area, trade in both])]}):
        linked = sv.LinkedTables(tables=table("area", "trade", holding="group"), **links)
        release = sv.protect_table(firms, linked, rules=[sv.PPercent(10)])
        numbers = released(release)
        assert abs(sum(numbers[cell] for cell in both) - 500) >= 50


def test_acro117_the_difference_of_two_outputs_tells_a_released_number_only() -> None:
    """North with and without t2 are both shown; the town is alone in the difference."""
    trees = [
        sv.Hierarchy.from_dict({"north": TOWNS[:3], "south": TOWNS[3:]}),
        sv.Hierarchy.from_dict({"old north": TOWNS[:2], "rest": TOWNS[2:]}),
    ]
    data = city()
    data = data[data["town"] != "t2"]
    data.loc[len(data) + 1000] = ["t2", "u", 777]
    release = protect(data, table(dimensions={"town": trees}), sv.MinimumFrequency(2))
    numbers = released(release)
    assert numbers["north",] - numbers["old north",] == numbers["t2",]
    assert abs(numbers["t2",] - 777) >= 0.2 * 777


def test_us107_positives_stay_positive() -> None:
    release = protect(city(60), table("town", "trade"), sv.MinimumFrequency(3))
    assert min(released(release).values()) > 0


def test_us276_a_table_of_five_dimensions_shows_signs_of_life() -> None:
    rng = np.random.default_rng(3)
    names = list("abcde")
    data = {name: rng.choice(list("xy"), 90) for name in names} | {"sales": rng.integers(1, 100, 90)}
    heard: list[str] = []
    protect(data, table(*names), sv.MinimumFrequency(2), on_progress=lambda progress: heard.append(progress.stage))
    assert len(set(heard)) >= 4


JOB = """
[data]
file = "shops.csv"
[table]
name = "sales"
measure = "sales"
[table.dimensions]
town = "flat"
trade = "flat"
[[rule]]
type = "p-percent"
p = 20
[limits]
seconds = 30
gap = 0.2
[protection]
attacks = "report"
[output]
formats = ["csv"]
"""
"""Attacks are told: of two sensitive cells luck may give both away."""


def test_us311_the_command_line_and_the_library_give_the_same_numbers(tmp_path: Path) -> None:
    city().to_csv(tmp_path / "shops.csv", index=False)
    (tmp_path / "job.toml").write_text(JOB, encoding="utf-8")
    command = [sys.executable, "-c", "from statveil.cli import main; main()", "protect", "job.toml", "--out", "out"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stderr
    spec = sv.TableSpec(name="sales", dimensions={"town": None, "trade": None}, measure="sales")
    release = sv.protect_table(tmp_path / "shops.csv", spec, rules=[sv.PPercent(20)], limits=sv.Limits(seconds=30, gap=0.2))
    release.to_csv(tmp_path / "library.csv")
    assert (tmp_path / "out" / "public" / "sales.csv").read_bytes() == (tmp_path / "library.csv").read_bytes()
