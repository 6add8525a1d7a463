"""The attack suite on the table server, both modes, with an invented register of 50 x 80 x 6 x 5 codes.

    python benchmarks/attacks.py                                   5,000 records, little effort
    python benchmarks/attacks.py --records 100000 --full           the figures of RESULTS.md
    python benchmarks/attacks.py --records 100000 --full --plain   the plain scheme of the paper, where filters make populations

Prints lines of a Markdown table; --out keeps the reports (HTML and JSON) of both modes, and completes those it finds there, so that a
long run can be made in parts: `--only T01,T02,T04,T07 --out DIR`, `--only T03 --out DIR` and so on, then `--report --out DIR`.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

from statveil.audit.attacks.attacker import AttackJournal, Effort
from statveil.audit.attacks.case import Case
from statveil.audit.attacks.suite import THREAT_BY_ID, attack_all
from statveil.audit.attacks.verdict import SuiteReport, Verdict, VerdictStatus
from statveil.jobs.reverse import reverse_by_adjustment
from statveil.jobs.server_config import ServerConfig, read_config
from statveil.publish.report.attacks import write_attack_report
from statveil.server.attack_target import private_copy, service_case
from statveil_lab.generators.register import write_register_server

MODES, PLAIN = ("cube", "section4"), "plain scheme"
LITTLE = Effort(tables=60, sets=60, pairs=60, cells=20, reversals=1)
FULL = Effort(tables=1_000, sets=400, pairs=1_000, cells=200, reversals=2, periods=4)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=5_000)
    parser.add_argument("--full", action="store_true", help="1,000 tables, 400 populations, 1,000 pairs")
    parser.add_argument("--mode", choices=MODES, action="append", help="only this one")
    parser.add_argument("--only", default="", help="only these attacks, such as T02,T07")
    parser.add_argument("--out", type=Path, help="folder for the reports")
    parser.add_argument("--report", action="store_true", help="no attacks: what --out holds")
    parser.add_argument("--plain", action="store_true", help="attack the reference of the plain scheme instead of the server")
    asked = parser.parse_args()
    modes, effort = [PLAIN] if asked.plain else asked.mode or MODES, FULL if asked.full else LITTLE
    reports = {}
    with tempfile.TemporaryDirectory() as folder:
        config = read_config(write_register_server(Path(folder), asked.records))
        for mode in modes:
            if not asked.report:
                clock = time.monotonic()
                reports[mode] = _attacked(config, Path(folder) / mode, mode, effort, [each for each in asked.only.split(",") if each])
                print(f"{mode}: {time.monotonic() - clock:.0f} s, {dict(reports[mode].facts)}")
            if asked.out:
                asked.out.mkdir(parents=True, exist_ok=True)
                reports[mode] = _completed(asked.out / f"{mode}.json", reports.get(mode))
                write_attack_report(reports[mode], asked.out / f"{mode}.html")
    print("\n".join(_lines(reports)))


def _attacked(config: ServerConfig, folder: Path, mode: str, effort: Effort, only: list[str]) -> SuiteReport:
    folder.mkdir()
    reverse = reverse_by_adjustment(seconds=10, seed=effort.seed)
    case = service_case(
        private_copy(config, folder, mode="section4" if mode == PLAIN else mode), None, folder, effort=effort, reverse=reverse
    )
    if mode == PLAIN:
        case = _plain(case)
    started = time.monotonic()

    def tell(words: str) -> None:
        print(f"  {time.monotonic() - started:6.1f} s  {words}", flush=True)

    return attack_all(case, target=f"table server, mode {mode}", only=only, on_progress=tell)


def _plain(case: Case) -> Case:
    """The same records behind the reference server of the tests: a sense per set of records, all else exact, filters make populations."""
    sys.path.insert(0, str(Path(__file__).parents[1]))
    from tests.reference.servers import Section4

    catalogue = replace(case.attacker.catalogue, populations=None)
    place = SimpleNamespace(register=case.attacker.register, values=case.truth.values)
    journal = AttackJournal(case.attacker.register, catalogue, Section4(place, catalogue=catalogue))
    return replace(case, operator=None, attacker=replace(case.attacker, journal=journal))


def _completed(path: Path, report: SuiteReport | None) -> SuiteReport:
    """The verdicts of earlier parts with those of this one in their place."""
    earlier = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {"verdicts": [], "target": "", "facts": {}}
    found = {
        each["id"]: Verdict(
            threat=THREAT_BY_ID[each["id"]],
            status=VerdictStatus(each["verdict"]),
            number=each["number"],
            figures={name: math.inf if number is None else number for name, number in each["figures"].items()},
            reason=each["reason"],
        )
        for each in earlier["verdicts"]
    }
    found |= {each.threat.id: each for each in report.verdicts} if report else {}
    target, facts = (report.target, report.facts) if report else (earlier["target"], earlier["facts"])
    return SuiteReport(target=target, verdicts=tuple(found[name] for name in THREAT_BY_ID if name in found), facts=facts)


def _lines(reports: dict[str, SuiteReport]) -> list[str]:
    first = next(iter(reports.values()))
    lines = [f"| threat | {' | '.join(reports)} |", f"|---|{'---|' * len(reports)}"]
    for verdict in first.verdicts:
        found = [report[verdict.threat.id] for report in reports.values()]
        words = " | ".join(f"{each.status}: {each.reason or each.number}" for each in found)
        lines.append(f"| {verdict.threat.id} {verdict.threat.name} | {words} |")
    return lines


if __name__ == "__main__":
    main()
