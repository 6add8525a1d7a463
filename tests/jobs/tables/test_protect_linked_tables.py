"""Linked tables from records, or from a job file, to files: everything that is shown twice or adds up between tables agrees."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import statveil as sv
from statveil.cli.app import app

LIMITS = sv.Limits(seconds=60, gap=0.05)
RULES = [sv.MinimumFrequency(2), sv.PPercent(20)]
MEASURES = ("turnover", "domestic", "export")
SPLIT = sv.Equation(total="turnover", parts=["domestic", "export"])


def firms(rows: int = 40, seed: int = 1) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    codes = {name: rng.choice(list(letters), rows) for name, letters in (("region", "pqr"), ("size", "ab"), ("trade", "uvw"))}
    amounts = {"domestic": rng.integers(0, 500, rows), "export": rng.integers(0, 90, rows)}
    data = pd.DataFrame({**codes, **amounts, "group": rng.choice([f"g{i}" for i in range(12)], rows)})
    return data.assign(turnover=data.domestic + data.export)


def by(*dimensions: str, measure: str = "turnover") -> sv.TableSpec:
    return sv.TableSpec(dimensions=dict.fromkeys(dimensions), measure=measure, name=f"{measure} by {' and '.join(dimensions)}")


def protect(data: pd.DataFrame, specs: list[sv.TableSpec], **further: Any) -> sv.Release:
    links = {name: further.pop(name) for name in ("equations", "sets", "search_sets") if name in further}
    return sv.protect_table(data, sv.LinkedTables(tables=specs, **links), **{"rules": RULES, "limits": LIMITS, **further})


def released(release: sv.Release, name: str) -> dict[tuple[str, ...], int]:
    view = next(view for view in release.protected.views if view.name == name)
    labels = [tuple(axis.codes[place] for axis, place in zip(view.dimensions, row, strict=True)) for row in view.coordinates]
    return dict(zip(labels, release.protected.value[view.cell].tolist(), strict=True))


@pytest.mark.slow
def test_two_tables_that_share_a_margin_agree_on_it() -> None:
    """By region and size, and by region and trade: the regions and the total stand in both."""
    release = protect(firms(), [by("region", "size"), by("region", "trade")])
    sizes, trades = released(release, "turnover by region and size"), released(release, "turnover by region and trade")
    assert [sizes[code, "Total"] for code in ("Total", *"pqr")] == [trades[code, "Total"] for code in ("Total", *"pqr")]
    assert release.sensitivity.sensitive.any()


@pytest.mark.slow
def test_turnover_is_domestic_plus_export_after_protection_too() -> None:
    release = protect(firms(14), [by("region", "size", measure=measure) for measure in MEASURES], equations=[SPLIT])
    turnover, domestic, export = (released(release, f"{measure} by region and size") for measure in MEASURES)
    assert release.sensitivity.sensitive.any()
    assert turnover == {codes: domestic[codes] + export[codes] for codes in turnover}


@pytest.mark.slow
def test_the_only_exporter_is_not_found_by_subtraction() -> None:
    """Region p has one exporter with 40. Domestic sales of p are safe, so that turnover must move with export."""
    data = pd.DataFrame({"region": list("pppqqq"), "domestic": [50] * 6, "export": [40, 0, 0, 10, 10, 10]})
    data = data.assign(turnover=data.domestic + data.export)
    specs = [by("region", measure=measure) for measure in MEASURES]
    rules = [sv.rules.Dominance(1, 75)]
    release = protect(data, specs, equations=[SPLIT], rules=rules)
    turnover, domestic, export = (released(release, f"{measure} by region") for measure in MEASURES)
    assert abs(export["p",] - 40) >= 14  # 40 / 0.75 - 40
    assert turnover["p",] - domestic["p",] == export["p",]
    apart = protect(data, specs, rules=rules)
    assert released(apart, "turnover by region")["p",] - released(apart, "domestic by region")["p",] == 40  # why the equation matters


@pytest.mark.slow
def test_a_sensitive_zero_lifts_the_zero_total_of_its_equation() -> None:
    """The lone firm of q sells nothing, at home or abroad: its zeros rise, and the turnover of q with them."""
    data = pd.DataFrame({"region": list("pppq"), "domestic": [50, 60, 70, 0], "export": [20, 30, 40, 0]})
    data = data.assign(turnover=data.domestic + data.export)
    release = protect(data, [by("region", measure=measure) for measure in MEASURES], equations=[SPLIT], rules=[sv.MinimumFrequency(2)])
    turnover, domestic, export = (released(release, f"{measure} by region")["q",] for measure in MEASURES)
    assert turnover == domestic + export > 0


def test_a_tampered_equation_is_found() -> None:
    release = protect(firms(), [by("region", measure=measure) for measure in MEASURES], equations=[SPLIT])
    view = release.protected.views[2]
    value = release.protected.value.copy()
    value[view.cell[[0, 1]]] += 1  # export of one region and of all: that table still adds up
    with pytest.raises(sv.AuditFailed, match="FAILED  Every total is the sum of its parts: 7 checked, 2 faults"):
        replace(release, protected=replace(release.protected, value=value))


@pytest.mark.slow
def test_five_dimensions_are_protected_and_audited() -> None:
    rng = np.random.default_rng(3)
    data = pd.DataFrame({f"d{i}": rng.choice(list("xy"), 60) for i in range(5)} | {"turnover": rng.integers(1, 100, 60)})
    release = protect(data, [by(*(f"d{i}" for i in range(5)))], limits=sv.Limits(seconds=60, gap=0.5))
    assert release.audit.passed
    numbers = released(release, release.protected.views[0].name)
    assert numbers[("Total",) * 5] == sum(value for codes, value in numbers.items() if "Total" not in codes)


@pytest.mark.slow
@settings(max_examples=4, deadline=None)
@given(st.integers(2, 25), st.integers(0, 10_000), st.booleans())
def test_whatever_stands_for_the_same_records_is_published_as_the_same_number(rows: int, seed: int, search: bool) -> None:
    data = firms(rows, seed)
    crossings = [("region", "size"), ("region", "trade"), ("trade",)]
    specs = [
        sv.TableSpec(dimensions=dict.fromkeys(dimensions), measure=measure, holding="group", name=f"{measure} {dimensions}")
        for measure in MEASURES
        for dimensions in crossings
    ]
    release = protect(data, specs, equations=[SPLIT], search_sets=search, limits=sv.Limits(seconds=60, gap=0.5))
    shown: dict[tuple[str, bytes], int] = {}
    for spec in specs:
        for codes, number in released(release, spec.name).items():
            inside = np.logical_and.reduce(
                [(data[name] == code) | (code == "Total") for name, code in zip(spec.dimensions, codes, strict=True)]
            )
            assert shown.setdefault((str(spec.measure), inside.tobytes()), number) == number
    for (measure, records), number in shown.items():
        if measure == "turnover":
            assert number == shown["domestic", records] + shown["export", records]


JOB = """
[data]
file = "firms.csv"

[[table]]
name = "turnover"
measure = "turnover"
holding = "group"
dimensions = { region = "flat", size = "flat" }

[[table]]
name = "domestic"
measure = "domestic"
holding = "group"
dimensions = { region = "flat", size = "flat" }

[[table]]
name = "export"
measure = "export"
holding = "group"
dimensions = { region = "flat", size = "flat" }

[[equation]]
total = "turnover"
parts = ["domestic", "export"]

[[cell_set]]
table = "turnover"
cells = [{ region = "p", size = "a" }, { region = "q", size = "b" }]
level = 5

[[rule]]
type = "p-percent"
p = 20

[protection]
search_sets = true

[limits]
seconds = 10
gap = 0.05
"""


def run(*arguments: Any) -> Any:
    return CliRunner().invoke(app, [str(each) for each in arguments])


@pytest.fixture
def job(tmp_path: Path) -> Path:
    firms().to_csv(tmp_path / "firms.csv", index=False)
    (tmp_path / "job.toml").write_text(JOB, encoding="utf-8")
    return tmp_path / "job.toml"


def numbers_in(file: Path) -> dict[tuple[str, ...], int]:
    rows = list(csv.reader(file.read_text(encoding="utf-8").splitlines()))[1:]
    return {tuple(row[:-1]): int(row[-1]) for row in rows}


@pytest.mark.slow
def test_a_job_of_linked_tables_is_protected_and_audited_again(job: Path) -> None:
    out = job.parent / "out"
    result = run("protect", job, "--out", out, "--json")
    assert result.exit_code == 0, result.output
    files = {name: Path(path) for name, path in json.loads(result.stdout)["paths"].items() if name.startswith("csv ")}
    turnover, domestic, export = (numbers_in(files[f"csv tables-{measure}"]) for measure in MEASURES)
    assert turnover == {codes: domestic[codes] + export[codes] for codes in turnover}
    data = firms()
    true = int(data.turnover[((data.region == "p") & (data["size"] == "a")) | ((data.region == "q") & (data["size"] == "b"))].sum())
    assert abs(turnover["p", "a"] + turnover["q", "b"] - true) * 20 >= true
    assert run("audit", out).exit_code == 0, run("audit", out).output


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('parts = ["domestic", "export"]', 'parts = ["domestic"]', "does not hold in"),
        ('parts = ["domestic", "export"]', 'parts = ["turnover"]', "equation[1]: The equation turnover = turnover names a measure twice"),
        ('table = "turnover"\n', "", "which is meant"),
        ('size = "a" }', 'size = "z" }', "names code 'z'"),
        ("level = 5", "level = -5", "cell_set[1]: The level"),
        ('holding = "group"\n', "", "no holding is given"),
    ],
)
def test_a_job_whose_links_make_no_sense_is_refused(job: Path, old: str, new: str, words: str) -> None:
    job.write_text(JOB.replace(old, new), encoding="utf-8")
    result = run("protect", job, "--out", job.parent / "out")
    assert result.exit_code == 2
    assert words in " ".join(result.output.split())
    assert not (job.parent / "out").exists()


def described(folder: Path, place: Path) -> str:
    """The twelve tables of the metadata as one job, a [[table]] a line; nuts3 lies under nuts2 and a21 under a10."""
    for name, file, above, below in (
        ("nuts3", "nuts23_fr_corr_table.csv", "NUTS2", "NUTS3"),
        ("a21", "activity_corr_table.csv", "A10", "A21"),
    ):
        codes = pd.read_csv(folder / file, dtype=str, keep_default_na=False)[[below, above]].drop_duplicates()
        tops = pd.DataFrame({below: sorted(set(codes[above])), above: "Total"})
        pd.concat([codes, tops]).set_axis(["code", "parent"], axis=1).to_csv(place / f"{name}.csv", index=False)
    trees = {name: f'{{ hierarchy = "{name}.csv" }}' for name in ("nuts3", "a21")}
    tables = [
        f"[[table]]\nname = '{line['table_name']}'\nmeasure = '{line['indicator']}'\n"
        + "".join(f"dimensions.{name} = {trees.get(name, '{}')}\n" for name in (line["spanning_1"], line["spanning_2"]))
        for line in csv.DictReader((folder / "metadata_pizza_lettuce.csv").read_text(encoding="utf-8").splitlines())
    ]
    return "\n".join([PIZZA, *tables])


PIZZA = """
[data]
file = "enterprises.csv"

[[equation]]
total = "to_lettuce"
parts = ["to_batavia", "to_arugula"]

[[rule]]
type = "minimum-frequency"
n = 3

[[rule]]
type = "dominance"
n = 1
k = 85

[limits]
seconds = 20
gap = 0.1

[output]
formats = ["csv"]
"""


def enterprises(folder: Path) -> pd.DataFrame:
    """The public enterprises with responses of our own: the metadata come without the records of pizza and lettuce."""
    found = pd.read_csv(folder / "indiv_dt.csv")
    data = found[["A10", "A21", "SIZE", "CJ", "NUTS2", "NUTS3"]].rename(columns=str.lower)
    pizza, batavia = found.TURNOVER.round().astype(int), found.PRODUCTION.round().astype(int)
    data = data.assign(to_pizza=pizza, to_batavia=batavia, to_arugula=(pizza - batavia) // 3)
    return data.assign(to_lettuce=data.to_batavia + data.to_arugula)


@pytest.mark.slow
@pytest.mark.shared
def test_the_twelve_tables_of_pizza_and_lettuce_are_one_job(shared_data: Path, tmp_path: Path) -> None:
    folder, out = shared_data / "tables" / "rtauargus", tmp_path / "out"
    enterprises(folder).to_csv(tmp_path / "enterprises.csv", index=False)
    (tmp_path / "job.toml").write_text(described(folder, tmp_path), encoding="utf-8")
    result = run("protect", tmp_path / "job.toml", "--out", out)
    assert result.exit_code == 0, result.output
    tables = {f"T{number}": numbers_in(out / "public" / f"tables-T{number}.csv") for number in range(1, 13)}
    for coarse, fine in (("T1", "T2"), ("T3", "T4"), ("T3", "T5"), ("T3", "T6"), ("T4", "T6"), ("T5", "T6")):
        assert all(tables[fine][codes] == number for codes, number in tables[coarse].items())
    for batavia, arugula, both in (("T7", "T9", "T11"), ("T8", "T10", "T12")):
        assert all(tables[both][codes] == number + tables[arugula][codes] for codes, number in tables[batavia].items())
    assert json.loads((out / "run.json").read_text(encoding="utf-8"))["sensitive"] > 0
    assert run("audit", out).exit_code == 0
