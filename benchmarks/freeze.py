"""What the product does, as hashes: whether a change of the code's shape leaves its behaviour alone.

    python benchmarks/freeze.py record OUT.json [--only demo|systems|certificates|files|server|help]
    python benchmarks/freeze.py compare A.json B.json
    python benchmarks/freeze.py

`record` runs the commands on fixed inputs with fixed seeds and writes `{name: sha256}`; `--only` may be repeated. `compare` prints what
differs, is missing or is new, and ends with 1 if anything is. Without arguments: a recording that is thrown away, its number of entries
and one digest of all.

demo          the public files, the confidential table and the provenance of `statveil demo`
systems       solutions of `statveil protect` for the JJ files of ../shared/data/csplib, a file and a method each
certificates  the proofs of the bound, for some of these
files         three jobs of `statveil protect`: the safe file, the mapping, the certificate and the report
server        50 tables of `statveil serve` in every format, and what the server says about itself
help          the help of every command

Only runs that end by themselves can be repeated; one that the clock ends is an error here. Left out, as they tell times: run.json, the
confidential report of the demonstration, summaries of systems, what commands print, and of the reports on safe files the time taken.
Recordings are of one machine and one installation: other versions of the solvers, or of the Parquet and Excel writers, give other bytes.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import urlopen

Record = dict[str, str]

COMMAND = (sys.executable, "-c", "from statveil.cli import main; main()")
ENVIRONMENT = {**os.environ, "COLUMNS": "100", "TERM": "dumb", "NO_COLOR": "1", "PYTHONHASHSEED": "0"}
SEED = 7
SECONDS = 600
"""Time limit of every search: long enough for none to come near it."""
NOTHING_FOUND = 4
"""Exit code of a method that finds no safe table."""

DEMO_RECORDS = "60"
DEMO_FILES = ("public/*", "internal/*.csv", "input/*", "provenance.json", "job.toml")

TOML = Path(__file__).with_name("freeze_jobs")
SYSTEMS = Path("shared", "data", "csplib")
SMALL = ("cox3", "cox_kelly_4x9", "table7", "targus")
SMALL_METHODS = ("alternate", "anneal", "bcd", "flips", "messages", "random", "sat")
LARGE = {
    "cbs": ("anneal",),
    "hier13": ("anneal",),
    "hier13x13x13d": ("anneal",),
    "hier13x13x7d": ("anneal",),
    "hier13x7x7d": ("anneal", "random"),
    "hier16": ("anneal",),
    "ninenew": ("anneal",),
    "table1": ("anneal", "random"),
    "table8": ("anneal", "random"),
    "toy3dsarah": ("anneal", "random"),
}
CERTIFIED = ("cox3", "cox_kelly_4x9", "table7", "table8", "targus")

FORMATS = ("json", "csv", "sdmx-csv", "px", "xlsx", "parquet", "html")
TABLES = 50
ABOUT = ("/v1/datasets", "/v1/datasets/firms", "/openapi.json", "/", "/v1/datasets/none", "/v1/datasets/firms/tables?dimension=none")


# Hashes and commands


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def run(*words: str | Path, within: Path) -> subprocess.CompletedProcess[bytes]:
    """Run a command of the product in a folder."""
    return subprocess.run([*COMMAND, *map(str, words)], cwd=within, env=ENVIRONMENT, capture_output=True, check=False)


def run_well(*words: str | Path, within: Path) -> None:
    done = run(*words, within=within)
    if done.returncode:
        raise SystemExit(f"statveil {' '.join(map(str, words))} ended with {done.returncode}:\n{done.stderr.decode()[-2000:]}")


def hashes_in(folder: Path, patterns: tuple[str, ...], name: str) -> Record:
    """The hash of every file of the folder that a pattern fits."""
    found = sorted({path for pattern in patterns for path in folder.glob(pattern) if path.is_file()})
    return {f"{name}/{path.relative_to(folder).as_posix()}": sha256(without_time(path.read_bytes())) for path in found}


def without_time(content: bytes) -> bytes:
    """A report of a safe file tells in one place how long it took."""
    return re.sub(rb"(Time</dt>\s*<dd>)[\d.]+ s(</dd>)", rb"\1\2", content)


# The demonstration


def record_demo(folder: Path) -> Record:
    run_well("demo", "--out", "demo", "--records", DEMO_RECORDS, "--seconds", str(SECONDS), within=folder)
    refuse_clock(folder / "demo" / "run.json")
    return hashes_in(folder / "demo", DEMO_FILES, "demo")


def refuse_clock(told: Path) -> None:
    """A search that the time limit ended may end elsewhere the next time."""
    seconds = json.loads(told.read_text(encoding="utf-8"))["seconds"]
    if seconds > SECONDS / 2:
        raise SystemExit(f"{told.name} tells of {seconds} s: so near to the time limit the search may not have ended by itself.")


# Linear systems and their certificates


def systems() -> Path | None:
    """The folder of the public systems: beside the project, or beside a folder that it lies in."""
    for above in Path(__file__).resolve().parents[2:]:
        if (above / SYSTEMS).is_dir():
            return above / SYSTEMS
    print(f"No systems and no certificates: {SYSTEMS} is not beside the project.", file=sys.stderr)
    return None


def adjusted(system: Path, method: str, folder: Path, *more: str | Path) -> bytes:
    """The solution of a system, or a word where the method finds none."""
    solution, summary = folder / f"{system.stem}-{method}.sol", folder / f"{system.stem}-{method}.json"
    words = ("--method", method, "--seed", str(SEED), "--seconds", str(SECONDS), "--out", solution, "--summary", summary)
    done = run("protect", system, *words, *more, within=folder)
    if done.returncode == NOTHING_FOUND:
        return b"nothing found"
    if done.returncode:
        raise SystemExit(f"{system.name}, {method}, ended with {done.returncode}:\n{done.stderr.decode()[-2000:]}")
    refuse_clock(summary)
    return solution.read_bytes()


def record_systems(folder: Path) -> Record:
    place, wanted = systems(), {**dict.fromkeys(SMALL, SMALL_METHODS), **LARGE}
    tried = [(place / f"{name}.jj", method) for name, methods in wanted.items() for method in methods] if place else []
    return {f"systems/{system.stem}/{method}": sha256(adjusted(system, method, folder)) for system, method in tried}


def record_certificates(folder: Path) -> Record:
    place = systems()
    return {f"certificates/{name}": sha256(certificate(place / f"{name}.jj", folder)) for name in CERTIFIED} if place else {}


def certificate(system: Path, folder: Path) -> bytes:
    path = folder / f"{system.stem}-certificate.json"
    adjusted(system, "anneal", folder, "--certificate", path)
    return path.read_bytes()


# Files of records

PEOPLE = ("id", "age", "region", "sex", "job", "weight", "income")
REGIONS = "code,parent\nTotal,\nN,Total\nS,Total\nN1,N\nN2,N\nN3,N\nS1,S\nS2,S\n"
JOBS = ("original", "recount", "wildcard")
FILE_RELEASE = ("public/*", "internal/*", "certificate.json", "job.toml")


def record_files(folder: Path) -> Record:
    write_people(folder)
    found: Record = {}
    for name in JOBS:
        shutil.copyfile(TOML / f"{name}.toml", folder / f"{name}.toml")
        run_well("protect", f"{name}.toml", within=folder)
        refuse_clock(folder / f"{name}-release" / "run.json")
        found |= hashes_in(folder / f"{name}-release", FILE_RELEASE, f"files/{name}")
    return found


def write_people(folder: Path) -> None:
    draw = random.Random(SEED)
    lines = [[*person(draw, number)] for number in range(400)]
    write_csv(folder / "people.csv", PEOPLE, lines)
    (folder / "regions.csv").write_text(REGIONS, encoding="utf-8")


def person(draw: random.Random, number: int) -> Iterator[object]:
    """A record, value by value, in the order of the columns."""
    yield f"P{number:04}"
    yield draw.randrange(16, 90)
    yield draw.choices(("N1", "N2", "N3", "S1", "S2"), (40, 25, 10, 20, 5))[0]
    yield draw.choice("fm")
    yield draw.choices(("baker", "smith", "nurse", "judge", "clerk"), (20, 15, 30, 3, 32))[0]
    yield draw.randrange(1, 9)
    yield draw.randrange(10, 90) * 1000


def write_csv(path: Path, header: tuple[str, ...], lines: list[list[object]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(lines)


# The table server

FIRMS = ("firm", "group", "region", "industry", "size", "turnover")
LEVELS = {"region": ("part", "province"), "industry": (), "size": ()}
CODES = {"region": ("N1", "N2", "N3", "S1", "S2"), "industry": ("A", "B", "C", "D"), "size": ("S", "M", "L")}


def record_server(folder: Path) -> Record:
    write_server(folder)
    found: Record = {}
    with serving(folder) as address:
        for path in ABOUT:
            found[f"server/about{path}"] = sha256(body(address + path).replace(address.encode(), b"http://server"))  # any free port
        for number, question in enumerate(questions()):
            for form in FORMATS:
                where = f"{address}/v1/datasets/firms/tables?{urlencode([*question, ('format', form)])}"
                found[f"server/{number:02}/{form}"] = sha256(body(where))
    return found


def write_server(folder: Path) -> None:
    """Records, a tree, the configuration and a key that is always the same, so that the answers are."""
    draw = random.Random(SEED)
    write_csv(folder / "firms.csv", FIRMS, [[*firm(draw, number)] for number in range(1500)])
    (folder / "regions.csv").write_text(REGIONS, encoding="utf-8")
    shutil.copyfile(TOML / "server.toml", folder / "server.toml")
    (folder / "secret.key").touch(mode=0o600)
    (folder / "secret.key").write_text(sha256(b"a fixed key of this benchmark") + "\n", encoding="ascii")


def firm(draw: random.Random, number: int) -> Iterator[object]:
    """A record, value by value, in the order of the columns; some firms belong to the group of another."""
    yield f"F{number:05}"
    yield f"F{draw.randrange(number + 1) if draw.random() < 0.1 else number:05}"
    yield draw.choices(CODES["region"], (40, 25, 10, 20, 5))[0]
    yield draw.choices(CODES["industry"], (50, 30, 15, 5))[0]
    yield draw.choices(CODES["size"], (70, 25, 5))[0]
    yield int(draw.lognormvariate(6, 1.5)) + 1


def questions() -> Iterator[list[tuple[str, str]]]:
    """Different questions, always in the same order: what was published before has a part in later answers."""
    draw, seen = random.Random(SEED), set[str]()
    while len(seen) < TABLES:
        asked = question(draw)
        if urlencode(asked) not in seen:
            seen.add(urlencode(asked))
            yield asked


def question(draw: random.Random) -> list[tuple[str, str]]:
    shown = sorted(draw.sample(list(CODES), draw.choice((1, 2, 2, 3))))
    asked = [("dimension", name) for name in shown]
    for name in shown:
        if LEVELS[name] and draw.random() < 0.6:
            asked.append(("level", f"{name}:{draw.choice(LEVELS[name])}"))
        elif draw.random() < 0.3:
            asked += [("code", f"{name}:{code}") for code in sorted(draw.sample(CODES[name], draw.randrange(1, 4)))]
    for name in ("region", "size"):
        if name not in shown and draw.random() < 0.4:
            codes = draw.sample(CODES[name], 2 if name == "size" and draw.random() < 0.5 else 1)
            asked += [("filter", f"{name}:{code}") for code in sorted(codes)]
    return [*asked, ("measure", draw.choice(("turnover", "turnover", "firms"))), ("totals", draw.choice(("true", "true", "false")))]


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    """The address of a server that runs as long as it is needed."""
    server = subprocess.Popen([*COMMAND, "serve", "server.toml"], cwd=folder, env=ENVIRONMENT, stdout=subprocess.PIPE, text=True)
    try:
        yield address_of(server)
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait(30)


def address_of(server: subprocess.Popen[str]) -> str:
    assert server.stdout is not None
    for line in server.stdout:
        found = re.search(r"https?://[\d.:]+", line)
        if found:
            return found[0]
    raise SystemExit("The server did not start.")


def body(address: str) -> bytes:
    """Status and body; a refusal is an answer too, a promise is not."""
    try:
        with urlopen(address, timeout=120) as answer:
            status, content = int(answer.status), bytes(answer.read())
    except HTTPError as refusal:
        status, content = refusal.code, refusal.read()
    if status == 202 or status >= 500:
        raise SystemExit(f"{address}: {status}")
    return f"{status}\n".encode() + content


# The help of the commands


def record_help(folder: Path) -> Record:
    from typer.main import get_command

    from statveil.cli.app import app

    return {f"help/{' '.join(words) or 'statveil'}": help_of(words, folder) for words in commands(get_command(app), ())}


def commands(command: object, words: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """A command and all below it, each as the words that call it."""
    yield words
    for name, below in sorted(getattr(command, "commands", {}).items()):
        yield from commands(below, (*words, name))


def help_of(words: tuple[str, ...], folder: Path) -> str:
    done = run(*words, "--help", within=folder)
    return sha256(f"exit code {done.returncode}\n".encode() + done.stdout)


# Recording and comparing

PARTS: dict[str, Callable[[Path], Record]] = {
    "demo": record_demo,
    "systems": record_systems,
    "certificates": record_certificates,
    "files": record_files,
    "server": record_server,
    "help": record_help,
}


def record(parts: list[str]) -> Record:
    """The hashes of the parts wanted; each works in a folder of its own."""
    found: Record = {}
    for part in parts:
        begun = time.perf_counter()
        with tempfile.TemporaryDirectory(prefix=f"freeze-{part}-") as folder:
            hashes = PARTS[part](Path(folder))
        found |= hashes
        print(f"{part}: {len(hashes)} entries in {time.perf_counter() - begun:.0f} s", file=sys.stderr)
    return dict(sorted(found.items()))


def text_of(hashes: Record) -> str:
    return json.dumps(hashes, indent=1, sort_keys=True) + "\n"


def compare(before: Record, after: Record) -> int:
    """Print what is not the same; the exit code."""
    told = {
        "missing": sorted(before.keys() - after.keys()),
        "new": sorted(after.keys() - before.keys()),
        "differs": sorted(name for name in before.keys() & after.keys() if before[name] != after[name]),
    }
    for words, names in told.items():
        for name in names:
            print(f"{words:8}{name}")
    same = len(before.keys() & after.keys()) - len(told["differs"])
    print(f"{same} the same, {', '.join(f'{len(names)} {words}' for words, names in told.items())}")
    return int(any(told.values()))


def read(path: Path) -> Record:
    hashes: Record = json.loads(path.read_text(encoding="utf-8"))
    return hashes


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb")
    recording = verbs.add_parser("record", help="write the hashes of what the product does")
    recording.add_argument("out", type=Path)
    recording.add_argument("--only", action="append", choices=list(PARTS), help="only this part; may be repeated")
    comparing = verbs.add_parser("compare", help="print what two recordings differ in")
    comparing.add_argument("before", type=Path)
    comparing.add_argument("after", type=Path)
    return parser.parse_args()


def main() -> int:
    chosen = arguments()
    if chosen.verb == "compare":
        return compare(read(chosen.before), read(chosen.after))
    hashes = record(chosen.only or list(PARTS) if chosen.verb else list(PARTS))
    if chosen.verb:
        chosen.out.write_text(text_of(hashes), encoding="utf-8")
    print(f"{len(hashes)} entries, digest {sha256(text_of(hashes).encode())}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
