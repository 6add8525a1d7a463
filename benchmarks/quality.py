"""What keeping statistics costs and how long it takes: `python benchmarks/quality.py [part ...] [first seed] [folder of public instances]`.

Parts: small (the 4 x 9 table of S1), three-way (an invented table with S1's 13 x 13 x 13 relations), realistic (the same with levels of
5 to 20%), csplib (hier13x13x13d), large (about 50,000 cells, 5,000 of them sensitive), variables (three variables of the
demonstration's table), verdict (100 small tables against all their safe tables), front (ten tables, five of them public: does `keep` of
equal time beat a point?). The tables of realistic, verdict and front are drawn from the first seed on. Every table is audited.
"""

from __future__ import annotations

import dataclasses
import sys
import time
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.reference.kept import safe_tables, small_random_table, smallest_within

import statveil as sv
from statveil.core.errors import StatveilError
from statveil.jobs.demo.enterprises import enterprises, industry_tree, region_tree, size_tree
from statveil.jobs.tradeoff.front import distortion_of
from statveil.protect.keep.lower_bound import ConvexRelaxation, proved_least
from statveil.protect.keep.programs import QualityProgram
from statveil.protect.keep.tabu.objective import Objective, outcomes
from statveil.protect.keep.tabu.search import TabuSearch
from statveil.protect.keep.verdict import OutOfReach, judge
from statveil.protect.keep.wishes import CRITERIA, Keep, targets_of
from statveil.protect.system import system_of
from statveil_lab.generators.cox_kelly import three_way_problem
from statveil_lab.generators.random_tables import protect_within, random_table

S = "sensitive"
BEST_KNOWN = 88_773
"""Change of the best table known for hier13x13x13d: the least change is this or less."""
PUBLIC = ("cox_kelly_4x9", "cox3", "table7", "table8", "hier13x13x13d")
"""Public tables of different sizes that fronts are looked for on."""
PARTS = ("small", "three-way", "realistic", "csplib", "large", "variables", "verdict", "front")
ALL_THREE: dict[str, Any] = {"variance": S, "correlation": S, "slope": S}


def audited(problem: sv.ProtectionProblem, deviation: Any) -> None:
    assert sv.systems.audit_system(system_of(problem), problem.value + deviation, variant=problem.variant).passed


def told(problem: sv.ProtectionProblem, keep: Keep, *, seconds: float, method: str = "auto") -> None:
    """One run in one line."""
    began = time.perf_counter()
    asked = f"{'+'.join(what for what, _ in keep.asked)} by {keep.by}{f' within {keep.within:g}' if keep.within else ''}"
    try:
        found = sv.adjust(problem, keep=keep, method=method, limits=sv.Limits(seconds=seconds))
    except StatveilError as error:
        print(f"  {asked}: {type(error).__name__}: {error.message} ({time.perf_counter() - began:.0f} s)", flush=True)
        return
    audited(problem, found.deviation)
    quality = found.quality
    assert quality is not None
    now, plain = quality.kept[0], quality.plain[0]
    print(
        f"  {asked}: corr {now.correlation:.4f} slope {now.slope:.4f} var {now.variance_ratio:.4f} (plain {plain.correlation:.4f} "
        f"{plain.slope:.4f} {plain.variance_ratio:.4f}), change {found.objective:,.0f} ({quality.price:+.1%} beside the plain table's "
        f"{quality.plain_objective:,.0f}, {_above(found.objective, found.certified_bound)}), mean off {now.mean_off}, "
        f"by {quality.found_by}, {time.perf_counter() - began:.0f} s",
        flush=True,
    )


def _above(change: float, bound: float) -> str:
    """How far above the least change of any safe table at the most: by the plain table's certified bound."""
    if bound <= 0:
        return "no certified bound"
    return f"at most {change / bound - 1:+.1%} beside the least change, certified {bound:,.0f} or more"


def small(folder: Path) -> None:
    """S1's table: the file has its bounds of 50%; with a cap of 1.5 levels and zeros that may rise come the figures of docs/science.md,
    section 7.
    """
    as_written = sv.read_jj(folder / "csplib" / "cox_kelly_4x9.jj")
    sensitive, zero = as_written.sensitive, as_written.value == 0
    lower, upper = as_written.lower.copy(), as_written.upper.copy()
    lower[sensitive] = (as_written.value - as_written.lower_level * 3 // 2)[sensitive]
    upper[sensitive] = (as_written.value + as_written.upper_level * 3 // 2)[sensitive]
    zeros_fixed = dataclasses.replace(as_written, lower=lower, upper=upper)
    zeros_free = dataclasses.replace(zeros_fixed, upper=np.where(zero, 10**7, upper))
    for name, problem in (("zeros free", zeros_free), ("zeros fixed", zeros_fixed)):
        print(f"  least change, {name}: {sv.adjust(problem, method='exact').objective:,.0f}")
    for what in ("variance", "correlation", "slope"):
        told(zeros_free, Keep(mean=S, by="programs", **{what: S}), seconds=20, method="exact")
    for what in ("variance", "correlation", "slope"):
        told(as_written, Keep(mean=S, by="tabu", **{what: S}), seconds=20, method="exact")
    told(dataclasses.replace(as_written, variant="exact"), Keep(mean=S), seconds=20, method="exact")


def three_way(folder: Path) -> None:
    for seed in (1, 2, 3):
        told(three_way_problem(seed=seed), Keep(within=0.005, **ALL_THREE), seconds=60)


def realistic(first: int) -> None:
    """Ten tables with levels of 5 to 20%: a table, or a proof that there is none."""
    for seed in range(first + 1, first + 11):
        told(three_way_problem(seed=seed, levels=(0.05, 0.2)), Keep(within=0.005, **ALL_THREE), seconds=60)


def verdict(first: int) -> None:
    """What is said to be out of reach beside the truth, which is known from all safe tables of the 2 x 2 tables with margins."""
    wishes = [dict.fromkeys(asked, where) for where in (S, "all") for k in (1, 2, 3, 4) for asked in combinations(CRITERIA, k)]
    asked = excluded = shown = false = 0
    slowest, near = 0.0, list[float]()
    for seed in range(first, first + 100):
        problem = small_random_table(seed)
        tables = safe_tables(problem)
        for wish in wishes[seed % 10 :: 10]:
            for target in targets_of(Keep(within=0.001, **wish), problem) if len(tables) else ():  # type: ignore[arg-type]
                began, heard = time.perf_counter(), list[OutOfReach]()
                judge(problem, [target], 0.001, 3.5, heard.append)
                slowest = max(slowest, time.perf_counter() - began)
                truth = smallest_within(target, tables)
                asked, excluded, shown = asked + 1, excluded + (truth > 0.001), shown + bool(heard)
                false += bool(heard) and float(heard[-1].least) > min(truth, 1.0) + 1e-9
                near += [float(heard[-1].least) / min(truth, 1.0)] if heard else []
    print(
        f"  100 tables, {asked} wishes within 0.001: {excluded} out of reach, {shown} of these shown, {false} false verdicts;", flush=True
    )
    print(
        f"  the distance said is {np.mean(near):.0%} of the true one on average (median {np.median(near):.0%}); slowest {slowest:.1f} s",
        flush=True,
    )


def front(first: int, folder: Path) -> None:
    """Points that `keep` beats in equal time: as near as can be, and at half, a fifth and a tenth of the plain table's distance.

    Where `keep` gave nothing there is nothing to compare with: those points are counted apart.
    """
    seconds, beaten_of_all, alone = 15.0, [0, 0], [0, 0]
    public = {name: folder / "csplib" / f"{name}.jj" for name in PUBLIC if folder.is_dir()}
    drawn = {str(seed): front_problem(seed) for seed in range(first, first + 10 - len(public))}
    for name, problem in (drawn | {name: sv.read_jj(path, weights="unit") for name, path in public.items()}).items():
        began = time.perf_counter()
        found = sv.keep.tradeoff(problem, limits=sv.Limits(seconds=seconds))
        took = time.perf_counter() - began
        targets = targets_of(found.keep, problem)
        plain = outcomes(targets, found.plain.deviation)[0]
        slope, ratio, correlation = (float(each or 0.0) for each in (plain.slope, plain.variance_ratio, plain.correlation))
        distance = max(1 - correlation, abs(1 - slope), abs(1 - ratio))
        beaten, kept = set[int](), 0
        for within in (None, distance / 2, distance / 5, distance / 10):
            asked = dict.fromkeys(CRITERIA, S)
            try:
                one = sv.adjust(problem, keep=Keep(within=within, **asked), limits=sv.Limits(seconds=seconds))  # type: ignore[arg-type]
            except StatveilError:
                continue
            kept += 1
            change, distortion = one.objective, distortion_of(targets, one.deviation)
            beaten |= {
                number
                for number, point in enumerate(found.points, start=1)
                if change <= point.change and distortion <= point.distortion and (change, distortion) != (point.change, point.distortion)
            }
        if kept:
            beaten_of_all = [beaten_of_all[0] + len(beaten), beaten_of_all[1] + len(found.points)]
        else:
            alone = [alone[0] + 1, alone[1] + len(found.points)]
        against = f"beaten by {kept} tables of `keep`: {sorted(beaten) or 'none'}" if kept else "`keep` gave nothing to compare with"
        said = "none" if found.knee is None else f"point {found.knee + 1}, {found.reached(found.points[found.knee]):.0%} of the possible"
        print(
            f"  table {name}, {problem.size} cells, {int(problem.sensitive.sum())} sensitive: {len(found.points)} points of {found.tried} "
            f"tables in {took:.1f} s, recommended {said}; {against}",
            flush=True,
        )
    print(f"  in all {beaten_of_all[0]} of {beaten_of_all[1]} points beaten; on {alone[0]} tables ({alone[1]} points) `keep` gave none")


def front_problem(seed: int) -> sv.ProtectionProblem:
    """Two-way and three-way tables of some size, levels of 8%; no cell moves by more than 60%, or three levels where that is more."""
    shape = ((6, 6), (9, 8), (4, 4, 4), (12, 10), (5, 5, 5))[seed % 5]
    problem = protect_within(random_table(shape, seed=seed, sensitive=0.15, percent=8), percent=8)
    reach = np.maximum(problem.value * 6 // 10, 3 * problem.upper_level)
    return dataclasses.replace(problem, lower=problem.value - reach, upper=problem.value + reach, variant="at-least")


def csplib(folder: Path) -> None:
    problem = sv.read_jj(folder / "csplib" / "hier13x13x13d.jj", weights="unit")
    told(problem, Keep(within=0.005, **ALL_THREE), seconds=60)
    for what in ("correlation", "slope", "variance"):
        told(problem, Keep(within=0.005, **{what: S}), seconds=60)

    for together in (("variance", "correlation", "slope"), ("correlation", "slope"), ("variance", "correlation"), ("variance", "slope")):
        _proof(problem, Keep(within=0.005, **dict.fromkeys(together, S)))  # type: ignore[arg-type]


def _proof(problem: sv.ProtectionProblem, keep: Keep) -> None:
    """Whether any table keeps this within 10% of the least change, which is at most `BEST_KNOWN`."""
    began = time.perf_counter()
    relaxation = ConvexRelaxation(problem, targets_of(keep, problem)[0], within=0.005, ceiling=1.1 * BEST_KNOWN)
    bound = proved_least(relaxation, seconds=150)
    asked = "+".join(what for what, _ in keep.asked)
    verdict = "proved: no such table" if bound >= relaxation.ceiling else "not excluded"
    print(f"  {asked} within 10%: {verdict} (every table changes {bound:,.0f} or more), {time.perf_counter() - began:.0f} s", flush=True)


def large(folder: Path) -> None:
    """Three-way and two-way tables; the programs with the plain table's senses, and tabu search second by second."""
    for shape in ((36, 36, 36), (223, 223)):
        problem = large_problem(shape)
        print(f"  {'x'.join(map(str, shape))}: {problem.size:,} cells, {int(problem.sensitive.sum()):,} sensitive", flush=True)
        plain = sv.adjust(problem, limits=sv.Limits(seconds=40))
        for asked in ({"slope": S}, {"correlation": S}, {"variance": S}, {"mean": S, "slope": S}):
            keep = Keep(**asked)  # type: ignore[arg-type]
            _programs(problem, plain.deviation, keep)
        for what in ("mean", "variance", "correlation", "slope"):
            _tabu(problem, plain.deviation, Keep(**{what: S}))  # type: ignore[arg-type]


def _programs(problem: sv.ProtectionProblem, plain: Any, keep: Keep) -> None:
    began = time.perf_counter()
    targets = targets_of(keep, problem)
    answer = QualityProgram(problem, targets, within=None).with_senses(problem.senses_of(plain), seconds=110)
    if answer is None:
        print(f"    programs for {'+'.join(what for what, _ in keep.asked)}: none in {time.perf_counter() - began:.0f} s", flush=True)
        return
    audited(problem, answer.deviation)
    _line("programs", keep, problem, plain, answer.deviation, time.perf_counter() - began)


def _tabu(problem: sv.ProtectionProblem, plain: Any, keep: Keep) -> None:
    targets = targets_of(keep, problem)
    search = TabuSearch(Objective(problem, targets, keep, cost=problem.cost(plain)), plain)
    for seconds in (1, 10):
        began = time.perf_counter()
        while time.perf_counter() - began < seconds:
            search.run(500)
        audited(problem, search.table)
        _line(f"tabu after {seconds} s more", keep, problem, plain, search.table, time.perf_counter() - began)


def _line(how: str, keep: Keep, problem: sv.ProtectionProblem, plain: Any, table: Any, seconds: float) -> None:
    before, after = (outcomes(targets_of(keep, problem), each)[0] for each in (plain, table))
    asked = "+".join(what for what, _ in keep.asked)
    price = problem.cost(table) / problem.cost(plain) - 1
    print(
        f"    {how} for {asked}: corr {before.correlation:.6f} -> {after.correlation:.6f}, slope {before.slope:.5f} -> {after.slope:.5f}, "
        f"var {before.variance_ratio:.5f} -> {after.variance_ratio:.5f}, mean off {before.mean_off} -> {after.mean_off}, "
        f"change {price:+.1%}, {seconds:.0f} s",
        flush=True,
    )


def large_problem(shape: tuple[int, ...]) -> sv.ProtectionProblem:
    """Random values, 11% of the inner cells sensitive with levels of 5%; no cell moves by more than 15%."""
    problem = protect_within(random_table(shape, seed=1, sensitive=5000 / float(np.prod(shape)), percent=5), percent=5)
    reach = problem.value * 15 // 100
    return dataclasses.replace(problem, lower=problem.value - reach, upper=problem.value + reach, variant="at-least")


def variables(folder: Path) -> None:
    """Turnover, employment and wages (invented from employment) by region, industry and size, each with rules of its own."""
    records = enterprises(records=40_000)
    people = records["employment"].to_numpy()
    luck = np.random.Generator(np.random.PCG64(7)).lognormal(0, 0.3, people.size)
    records = records.append_column("wages", pa.array(np.rint(people * 28 * luck).astype(np.int64)))
    trees = {"region": region_tree(), "industry": industry_tree(), "size": size_tree()}
    names = ("turnover", "employment", "wages")
    specs = [sv.TableSpec(dimensions=trees, measure=name, holding="holding", name=name) for name in names]
    few = sv.MinimumFrequency(3)
    rules = {"turnover": [sv.PPercent(10), few], "employment": [sv.rules.Dominance(1, 75), few], "wages": [sv.PPercent(15), few]}
    for seed in (0, 1, 2):
        began = time.perf_counter()
        found = sv.protect_table(records, specs, rules=rules, limits=sv.Limits(seconds=60), method=sv.Method(seed=seed))
        together, one = found.together, next(iter(found.together.adjustments.values())).quality
        assert one is not None
        assert all(release.audit.passed for release in found.releases.values())
        sensitive = [int(release.sensitivity.sensitive.sum()) for release in found.releases.values()]
        print(
            f"  seed {seed}, {found.releases['turnover'].table.size:,} cells, sensitive {sensitive}: correlations change by "
            f"{together.correlation_change:.2g} at most, slopes by {together.slope_change:.2g}, "
            f"means off {[each.mean_off for each in one.kept]}, change {one.price:+.1%}, "
            f"{time.perf_counter() - began:.0f} s",
            flush=True,
        )


def main(words: list[str]) -> None:
    named = [word for word in words if word in PARTS]
    first = next((int(word) for word in words if word.isdecimal()), 0)
    folders = [word for word in words if word not in PARTS and not word.isdecimal()]
    folder = Path(folders[0]) if folders else Path(__file__).resolve().parents[2] / "shared" / "data"
    runs: dict[str, Callable[[Path], None]] = {"small": small, "three-way": three_way, "csplib": csplib, "large": large}
    runs |= {"variables": variables}
    drawn: dict[str, Callable[[int], None]] = {"realistic": realistic, "verdict": verdict, "front": lambda seed: front(seed, folder)}
    for part in named or PARTS:
        print(part, flush=True)
        if part in ("small", "csplib") and not folder.is_dir():
            print("  skipped: the public instances are not here", flush=True)
            continue
        if part in drawn:
            drawn[part](first)
        else:
            runs[part](folder)


if __name__ == "__main__":
    main(sys.argv[1:])
