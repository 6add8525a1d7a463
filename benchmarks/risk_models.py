"""Risk models on small random files: `python benchmarks/risk_models.py [files] [seed]`.

Each plan (recoding and blanks, models of all kinds in turn) must cost what an integer program over every way to blank every record says;
under `recount` that program has a column for every set of records that may share a combination. What is not proved is printed. The written
files are audited.
"""

from __future__ import annotations

import sys
import tempfile
import time
import warnings
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FILES, SEED = 200, 0


def main() -> int:
    sys.path.insert(0, str(ROOT))
    warnings.simplefilter("ignore")
    wanted, seed = (int(word) for word in (sys.argv[1:] + [str(FILES), str(SEED)][len(sys.argv) - 1 :])[:2])
    began, outcomes = time.perf_counter(), Counter[str]()
    with tempfile.TemporaryDirectory() as folder:
        for number in range(seed, seed + wanted):
            for rule in ("original", "recount"):
                found = _compare(number, rule, Path(folder) / "safe.csv")
                outcomes[found] += 1
                if "optimal" not in found:
                    print(f"seed {number}: {found}", flush=True)
    print(f"{wanted} files under each rule from seed {seed}: {dict(sorted(outcomes.items()))}, {time.perf_counter() - began:.0f} s")
    return int(any("WRONG" in outcome for outcome in outcomes))


def _compare(seed: int, rule: str, path: Path) -> str:
    from tests.records.random_models import menus, random_model_file
    from tests.reference.models import least_cost, least_recounted_by_program, least_with_recoding

    import statveil as sv

    size = {"records": 8, "fields": 3} if rule == "recount" else {"records": 14, "fields": 3}
    data, keys, file = random_model_file(seed, rule=rule, **size)
    plan = sv.plan_recoding(data, keys)
    best = least_with_recoding(file, menus(keys), least_recounted_by_program if rule == "recount" else least_cost)
    path.unlink(missing_ok=True)
    try:
        sv.apply_plan(data, plan, path)
    except sv.errors.AuditFailed:
        return f"{rule}: WRONG, the audit failed"
    if not plan.bound - 1e-6 <= best <= plan.cost + 1e-6:
        return f"{rule}: WRONG, optimum {best} outside {plan.bound} to {plan.cost}"
    if plan.gap == 0 and abs(plan.cost - best) > 1e-6:
        return f"{rule}: WRONG, called optimal"
    return f"{rule}: {'optimal' if plan.gap == 0 else 'optimum found, not proved' if abs(plan.cost - best) < 1e-6 else 'within the bounds'}"


if __name__ == "__main__":
    sys.exit(main())
