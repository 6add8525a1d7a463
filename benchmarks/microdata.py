"""Safe files at register size and on public files: `python benchmarks/microdata.py [register|unique|adult|rules|testdata|anjana|silc]...`.

register: 10 million generated records x 7 keys, combinations up to 3; unique: 1 million records whose full key is nearly unique. Both are
drawn record by record, never replicated: a file that repeats itself is safe by construction. Each part runs in a process of its own, so
that its peak memory is its own. silc makes a file of persons in households with the fields, sizes and gaps of EU-SILC's public file,
or reads that file itself from EUSILC_CSV. adult and testdata read the public files beside the project (STATVEIL_SHARED); anjana needs
ANJANA_PYTHON, the interpreter of an environment where it is installed.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

SEED = 11
CHUNK = 1_000_000
KEYS = ("region", "sex", "age", "education", "marital", "size", "tenure")
REGISTER_SIZES = (60, 2, 18, 9, 6, 8, 7)
UNIQUE_SIZES = (400, 2, 100, 40, 8, 20, 60)
SHARED = Path(os.environ.get("STATVEIL_SHARED", Path(__file__).resolve().parents[2] / "shared")) / "data" / "microdata"
ADULT_KEYS = ("sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation")
STARTS = 10
ADULT_SETTINGS = ((5, 0.02), (5, 0.05), (5, 0.2), (3, 0.01))
TESTDATA_KEYS = ("urbrur", "roof", "walls", "water", "electcon", "relat", "sex")


def write_records(path: Path, records: int, sizes: tuple[int, ...], *, tail: float) -> None:
    """Codes fall off exponentially (the last one has a share of about exp(-tail)), and three in ten follow the field before."""
    rng = np.random.default_rng(SEED)
    writer = None
    for start in range(0, records, CHUNK):
        count = min(CHUNK, records - start)
        columns: dict[str, Any] = {}
        before = np.zeros(count, dtype=np.int64)
        for name, size in zip(KEYS, sizes, strict=True):
            code = rng.exponential(size / tail, count).astype(np.int64) % size
            code = np.where(rng.random(count) < 0.3, before % size, code)
            columns[name] = pa.array([f"{each:03d}" for each in range(size)]).take(pa.array(code))
            before = code
        columns["income"] = pa.array(np.round(rng.lognormal(10, 1, count), 2))
        columns["hours"] = pa.array(rng.integers(0, 60, count).astype(np.int16))
        batch = pa.table(columns)
        writer = writer or pq.ParquetWriter(path, batch.schema)
        writer.write_table(batch)
    assert writer is not None
    writer.close()


def safe_file(path: Path, **settings: Any) -> None:
    """Plan, write and audit, with the clock of each step."""
    import statveil as sv

    began = time.perf_counter()
    fields = {name: sv.recode.Menu.intervals(5, 20) if name in ("age", "region") else None for name in KEYS}
    keys = sv.KeyVariables(fields=fields, **settings)
    data = sv.read_microdata(path)
    plan = sv.plan_recoding(data, keys)
    planned = time.perf_counter() - began
    release = sv.apply_plan(data, plan, path.with_name("safe.parquet"))
    seconds = time.perf_counter() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{plan.coded.records:,} records, {plan.coded.size:,} different keys, {len(plan.coded.tables)} tables, {settings}: "
        f"plan {planned:.1f} s ({plan.ending}, {plan.suppression.total:,} blanks, {plan.recoding}), "
        f"with written and audited file {seconds:.1f} s, peak {peak:,.0f} MB; unsafe after: {dict(release.unsafe)}"
    )


def register(folder: Path) -> None:
    write_records(folder / "register.parquet", 10_000_000, REGISTER_SIZES, tail=14.0)
    _measured("safe", str(folder / "register.parquet"))


def unique(folder: Path) -> None:
    write_records(folder / "unique.parquet", 1_000_000, UNIQUE_SIZES, tail=1.0)
    _measured("safe", str(folder / "unique.parquet"), "full")


def adult(_folder: Path) -> None:
    """The four settings: the proof, every search of S4 from ten random starts, and the bounds side by side."""
    import statveil as sv

    menus = {name: sv.recode.Menu.from_arx_csv(SHARED / "adult" / f"adult_hierarchy_{name}.csv") for name in ADULT_KEYS}
    data = sv.read_microdata(SHARED / "adult" / "adult.csv")
    sv.plan_recoding(data, sv.KeyVariables(fields=menus, threshold=5))  # compile first
    print("| k, weight | optimum | proof, s | evaluations | eq. 5 | Lagrangean | dual cuts (rounds) |")
    for threshold, weight in ADULT_SETTINGS:
        keys = sv.KeyVariables(fields=menus, threshold=threshold, recoding_weight=weight)
        began = time.perf_counter()
        plan = sv.plan_recoding(data, keys)
        seconds = time.perf_counter() - began
        relaxed = sv.plan_recoding(plan.coded, method="lagrangean").facts
        cuts = sv.plan_recoding(plan.coded, method="dual-cuts").facts["bounds by round"]
        five, seven = (_below(relaxed[name], plan.cost) for name in ("relaxed bound (eq. 5)", "lagrangean bound (eq. 7)"))
        print(f"| {threshold}, {weight} | {plan.cost:.1f} ({plan.ending}) | {seconds:.2f} | {plan.evaluations} | {five} | {seven} "
              f"| {_below(cuts[-1], plan.cost)} ({len(cuts)}) |")  # fmt: skip
        for objective in ("true", "relaxed"):
            for method in ("iterative-improvement", "repeated-improvement", "tabu", "annealing"):
                _search(plan.coded, method, objective, plan.cost)


def _below(bound: float, cost: float) -> str:
    return f"{bound:.1f} ({1 - bound / cost:.2%} below)"


def _search(coded: Any, method: str, objective: str, optimum: float) -> None:
    """From random starts: how often the search meets the true optimum, how far off it ends, and how many recodings it prices."""
    import statveil as sv

    search = sv.recode.RecodingSearchOptions(objective=objective)
    plans = [sv.plan_recoding(coded, method=method, search=search, seed=seed) for seed in range(STARTS)]
    hits = sum(plan.cost <= optimum * (1 + 1e-9) for plan in plans)
    costs = [plan.cost / optimum - 1 for plan in plans]
    looks = [plan.evaluations if objective == "true" else plan.facts["evaluations of eq. 5"] for plan in plans]
    print(f"|   {method}, {objective} cost | optimum in {hits} of {STARTS} | best +{min(costs):.1%}, worst +{max(costs):.1%} "
          f"| {np.mean(looks):.0f} evaluations a run |", flush=True)  # fmt: skip


def testdata(_folder: Path) -> None:
    import statveil as sv
    from statveil.audit.attacks.file_attacks import attack_file
    from statveil.publish.file_release import exposed

    data = sv.read_microdata(SHARED / "testdata.csv")
    for threshold, order in ((3, 3), (3, "full"), (5, "full")):
        for rule in ("original", "recount", "wildcard"):
            keys = sv.KeyVariables(fields=dict.fromkeys(TESTDATA_KEYS), threshold=threshold, order=order, rule=rule)
            began = time.perf_counter()
            found = sv.recode.suppress(data, keys)
            seconds = time.perf_counter() - began
            ended = f"{found.ending}, bound {found.bound:g}"
            print(f"| k = {threshold}, order {order} | {rule} | {found.total} blanks ({ended}) | {seconds:.2f} s |")
    for candidates in (0, 3):
        keys = sv.KeyVariables(fields=dict.fromkeys(TESTDATA_KEYS), threshold=3, candidates=candidates)
        plan = sv.plan_recoding(data, keys)
        told = ", ".join(f"{each.name} {each.value:.1%}" for each in attack_file(exposed(plan)))
        print(f"| k = 3, order 3, candidates {candidates} | {plan.suppression.total} blanks | {told} |")


def rules(_folder: Path) -> None:
    """Recoding chosen under each rule's own cost, on Adult."""
    import statveil as sv

    menus = {name: sv.recode.Menu.from_arx_csv(SHARED / "adult" / f"adult_hierarchy_{name}.csv") for name in ADULT_KEYS}
    data = sv.read_microdata(SHARED / "adult" / "adult.csv")
    for threshold, weight in ADULT_SETTINGS:
        for rule in ("original", "recount", "wildcard"):
            began = time.perf_counter()
            plan = sv.plan_recoding(data, sv.KeyVariables(fields=menus, threshold=threshold, recoding_weight=weight, rule=rule))
            seconds = time.perf_counter() - began
            print(
                f"| {threshold}, {weight} | {rule} | {plan.cost:.1f} ({plan.ending}) | {plan.suppression.total} blanks | {seconds:.1f} s |"
            )


SILC_KEYS = ("region", "size", "age", "sex", "status", "citizen")
SILC_COLUMNS = ("db040", "hsize", "age", "rb090", "pl030", "pb220a")
REGIONS = {"Burgenland": "East", "Lower Austria": "East", "Vienna": "East", "Carinthia": "South", "Styria": "South",
           "Salzburg": "West", "Tyrol": "West", "Upper Austria": "West", "Vorarlberg": "West"}  # fmt: skip


def households(records: int) -> pa.Table:
    """Persons in households: ages hang together, status and citizenship are missing below 16."""
    rng, rows = np.random.default_rng(SEED), list[tuple[Any, ...]]()
    places, shares = sorted(REGIONS), [0.037, 0.072, 0.188, 0.062, 0.158, 0.085, 0.186, 0.157, 0.055]
    while len(rows) < records:
        size = int(rng.choice(np.arange(1, 10), p=[0.27, 0.30, 0.17, 0.18, 0.055, 0.017, 0.005, 0.002, 0.001]))
        region, foreign = places[rng.choice(9, p=shares)], rng.random() < 0.09
        head = int(np.clip(rng.normal(62, 17) if size < 3 else rng.normal(43, 9), 17, 97))
        away = [0, *rng.normal(-1, 5, min(1, size - 1)), *(rng.normal(-27, 5) if rng.random() < 0.9 else 27 for _ in range(size - 2))]
        for age in (int(np.clip(head + each, 0, 97)) for each in away):
            sex = ("male", "female")[int(rng.random() < 0.51)]
            rows.append((region, str(size), str(age), sex, *_occupied(rng, age, sex, foreign=foreign)))
    return pa.table(dict(zip(SILC_KEYS, map(list, zip(*rows[:records], strict=True)), strict=True)))


def _occupied(rng: np.random.Generator, age: int, sex: str, *, foreign: bool) -> tuple[str | None, str | None]:
    if age < 16:
        return None, None
    by_age = (
        (64, [0.01, 0.005, 0.0, 0.0, 0.92, 0.005, 0.06]),
        (55, [0.33, 0.05, 0.03, 0.0, 0.45, 0.01, 0.11]),
        (26, [0.66, 0.15, 0.04, 0.005, 0.01, 0.01, 0.115]),
        (16, [0.5, 0.03, 0.05, 0.37, 0.0, 0.01, 0.02]),
    )
    share = np.array(next(shares for least, shares in by_age if age >= least))
    if 25 < age < 64:
        share = share * ([0.62, 2.2, 1, 1, 1, 1, 1.9] if sex == "female" else [1.15, 0.15, 1, 1, 1, 1, 0.15])
    citizen = "AT" if rng.random() < (0.35 if foreign else 0.995) else "EU" if rng.random() < 0.35 else "Other"
    return str(int(rng.choice(7, p=share / share.sum())) + 1), citizen


def silc(_folder: Path) -> None:
    """The full key of six fields, k = 3: the default plan, the front, and `recount` under several limits."""
    import pyarrow.csv as pc

    import statveil as sv

    given = os.environ.get("EUSILC_CSV")
    table = pc.read_csv(given).select(SILC_COLUMNS).rename_columns(SILC_KEYS) if given else households(14_827)
    data = sv.read_microdata(table)
    menus: dict[str, Any] = dict.fromkeys(SILC_KEYS)
    menus["age"] = sv.recode.Menu.intervals(2, 5, 10, 20) + sv.recode.Menu(recodings=(sv.recode.Intervals(name="all", edges=(200,)),))
    menus["region"] = sv.recode.Menu.own({"part": REGIONS, "all": dict.fromkeys(REGIONS, "all")})
    menus["size"] = sv.recode.Menu(recodings=(sv.recode.Extremes(name="top 5", top=5), sv.recode.Extremes(name="top 3", top=3)))
    sv.recode.suppress(sv.read_microdata(households(300)), sv.KeyVariables(fields=dict.fromkeys(SILC_KEYS), order="full", rule="recount"))
    for measure, weight in (("entropy", 1.0), ("values", 1.0), ("entropy", 0.02)):
        keys = sv.KeyVariables(fields=menus, order="full", recoding_costs=measure, recoding_weight=weight)
        began = time.perf_counter()
        plan = sv.plan_recoding(data, keys)
        print(
            f"| {measure}, weight {weight} | {plan.loss.words()} | gap {plan.gap:.2%} | {time.perf_counter() - began:.1f} s |", flush=True
        )
    for rule in ("original", "recount"):
        front = sv.recode.tradeoff_file(data, sv.KeyVariables(fields=menus, order="full", rule=rule))
        print(f"| front, {rule} | {front.proved} of {len(front.points)} points proved, {front.found} in all, complete: {front.complete}, "
              f"blanks within {max(point.gap for point in front.points):.2%} | {front.seconds:.1f} s |", flush=True)  # fmt: skip
    for seconds in (5, 10, 60):
        keys = sv.KeyVariables(fields=dict.fromkeys(SILC_KEYS), order="full", rule="recount")
        began = time.perf_counter()
        found = sv.recode.suppress(data, keys, limits=sv.Limits(seconds=seconds))
        print(f"| recount, {seconds} s | {found.total:,} blanks, bound {found.bound:,.0f}, gap {found.cost / found.bound - 1:.2%} "
              f"| {time.perf_counter() - began:.1f} s |", flush=True)  # fmt: skip


ANJANA = """
import sys, time
import pandas as pd
from anjana.anonymity import k_anonymity
folder, k = sys.argv[1], int(sys.argv[2])
keys = sys.argv[3].split(",")
data = pd.read_csv(f"{folder}/adult.csv", sep=";")
data.columns = data.columns.str.strip()
levels = {}
for key in keys:
    table = pd.read_csv(f"{folder}/adult_hierarchy_{key}.csv", sep=";", header=None)
    if key == "age":
        table[0] = table[0].astype(data[key].dtype)
    levels[key] = {number: table[number].values for number in range(table.shape[1])}
began = time.perf_counter()
found = k_anonymity(data, [], keys, k, 5, levels)
seconds = time.perf_counter() - began
print(f"anjana, k = {k}, up to 5% of the records dropped: {seconds:.1f} s, {len(data) - len(found)} of {len(data)} records dropped")
"""


def anjana(_folder: Path) -> None:
    python = os.environ.get("ANJANA_PYTHON")
    if not python:
        print("anjana: set ANJANA_PYTHON to the interpreter of an environment where it is installed.")
        return
    for threshold in (3, 5):
        subprocess.run([python, "-c", ANJANA, str(SHARED / "adult"), str(threshold), ",".join(ADULT_KEYS)], check=False)
        _measured("adult-full", str(threshold))


def adult_full(threshold: int) -> None:
    """The same promise as anjana's: k-anonymity of the full key, but with cells blanked instead of records dropped."""
    import statveil as sv

    menus = {name: sv.recode.Menu.from_arx_csv(SHARED / "adult" / f"adult_hierarchy_{name}.csv") for name in ADULT_KEYS}
    began = time.perf_counter()
    data = sv.read_microdata(SHARED / "adult" / "adult.csv")
    plan = sv.plan_recoding(data, sv.KeyVariables(fields=menus, threshold=threshold, order="full", rule="recount", recoding_weight=0.05))
    print(f"statveil, k = {threshold}, full key, recount: {time.perf_counter() - began:.1f} s, {plan.suppression.total} cells blanked, "
          f"no record dropped, {plan.recoding}, gap {plan.gap:.1%}")  # fmt: skip


def _measured(*arguments: str) -> None:
    subprocess.run([sys.executable, __file__, "--child", *arguments], check=True)


def _child(kind: str, *arguments: str) -> None:
    if kind == "adult-full":
        adult_full(int(arguments[0]))
    else:
        safe_file(Path(arguments[0]), threshold=3, order="full" if len(arguments) > 1 else 3)


PARTS = {"silc": silc, "testdata": testdata, "adult": adult, "rules": rules, "anjana": anjana, "unique": unique, "register": register}


def main() -> None:
    if sys.argv[1:2] == ["--child"]:
        _child(*sys.argv[2:])
        return
    for name in sys.argv[1:] or PARTS:
        if name in ("testdata", "adult", "rules", "anjana") and not SHARED.is_dir():
            print(f"{name}: the public files are not here.")
            continue
        print(f"== {name}", flush=True)
        with tempfile.TemporaryDirectory() as folder:
            PARTS[name](Path(folder))


if __name__ == "__main__":
    main()
