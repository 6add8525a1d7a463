"""The table server under load: 50 users, 80% of the requests repeats, 20% new tables.

    python benchmarks/server_load.py [--seconds 300] [--users 50] [--pause 1.0]

100,000 invented records, dimensions 50 x 80 x 6 x 5, two processes. Each user waits a random while between answer and next
request, on average `--pause` seconds. Prints the shares of statuses, the times by kind and the memory of all processes minute by
minute; the exit code is 1 where a request failed, more than 5% of the new tables were refused, or memory grew by more than 5% after the
first fifth of the run.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import combinations
from math import prod
from pathlib import Path
from urllib.parse import quote

import httpx

from statveil.core.secret import new_key_file
from statveil_lab.generators.register import write_register_server

REPEATS = 0.8
MOST_GROWTH, MOST_REFUSED = 0.05, 0.05
MOST_CELLS = 5_000
WEB = """
[web]
port = 0
anonymous = true
requests_per_minute = 1000000
waiting = 100
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--users", type=int, default=50)
    parser.add_argument("--pause", type=float, default=1.0)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="statveil-load-") as name:
        folder = Path(name)
        new_key_file(folder / "secret.key")
        config = write_register_server(folder, levels=True, more=WEB)
        command = [sys.executable, "-c", "from statveil.cli import main; main()", "serve", str(config)]
        server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        try:
            load = Load(url_of(server), server.pid, users=chosen.users, seconds=chosen.seconds, pause=chosen.pause)
            asyncio.run(load.run())
        finally:
            server.send_signal(signal.SIGTERM)
            server.wait(30)
    sys.exit(load.report())


def url_of(server: subprocess.Popen[str]) -> str:
    assert server.stdout is not None
    for line in server.stdout:
        found = re.search(r"https?://[\d.:]+", line)
        if found:
            return found[0]
    raise SystemExit("The server did not start.")


class Load:
    def __init__(self, url: str, server: int, *, users: int, seconds: float, pause: float) -> None:
        self.url, self.server, self.users, self.seconds, self.pause = url, server, users, seconds, pause
        self.known: list[str] = []
        self.times: dict[str, list[float]] = defaultdict(list)
        self.statuses: dict[str, Counter[int | str]] = defaultdict(Counter)
        self.memory: list[tuple[float, int]] = []

    async def run(self) -> None:
        self.new = iter(new_tables(await self.description()))
        self.begun = time.monotonic()
        async with asyncio.TaskGroup() as group:
            group.create_task(self.watch())
            for number in range(self.users):
                group.create_task(self.user(number))

    async def description(self) -> dict[str, list[str]]:
        """The codes of the finest level of each dimension."""
        async with httpx.AsyncClient(base_url=self.url, timeout=60, verify=False) as client:
            told = (await client.get("/v1/datasets/register")).json()
        return {each["id"]: each["levels"][-1]["codes"] for each in told["dimensions"]}

    async def user(self, number: int) -> None:
        draw = random.Random(number)
        async with httpx.AsyncClient(base_url=self.url, timeout=60, verify=False) as client:
            await asyncio.sleep(draw.random() * self.pause)
            while time.monotonic() - self.begun < self.seconds:
                repeat = bool(self.known) and draw.random() < REPEATS
                address = draw.choice(self.known) if repeat else next(self.new)
                await self.ask(client, "repeat" if repeat else "new", address)
                await asyncio.sleep(draw.random() * 2 * self.pause)

    async def ask(self, client: httpx.AsyncClient, kind: str, address: str) -> None:
        begun = time.perf_counter()
        try:
            answer = await client.get(address)
            while answer.status_code == 202:
                await asyncio.sleep(0.5)
                job = (await client.get(answer.headers["location"])).json()
                if job.get("state") not in ("waiting", "running"):
                    answer = await client.get(address)  # the table, or why there is none
                    break
        except httpx.HTTPError as error:
            self.statuses[kind][type(error).__name__] += 1
            return
        self.times[kind].append(time.perf_counter() - begun)
        self.statuses[kind][answer.status_code] += 1
        if kind == "new" and answer.status_code == 200:
            self.known.append(address)

    async def watch(self) -> None:
        while time.monotonic() - self.begun < self.seconds:
            self.memory.append((time.monotonic() - self.begun, memory_of(self.server)))
            await asyncio.sleep(5)

    def report(self) -> int:
        for kind in ("repeat", "new"):
            times = sorted(self.times[kind])
            marks = ", ".join(f"p{mark} {1000 * times[min(len(times) - 1, len(times) * mark // 100)]:.0f} ms" for mark in (50, 95, 99))
            print(f"{kind:7} {len(times):6} answers, {marks}, longest {1000 * times[-1]:.0f} ms; statuses {dict(self.statuses[kind])}")
        minutes = {int(at // 60): size for at, size in self.memory}
        print("memory of all processes, MiB by minute:", ", ".join(f"{size >> 20}" for size in minutes.values()))
        settled = [size for at, size in self.memory if at >= self.seconds / 5]
        tenth = max(1, len(settled) // 10)
        growth = sum(settled[-tenth:]) / sum(settled[:tenth]) - 1
        print(f"growth after the first fifth of the run: {100 * growth:.1f}%")
        new = self.statuses["new"]
        refused = new[403] / max(1, new.total())
        print(f"new tables refused: {100 * refused:.2f}%")
        failed = [kind for kind, counted in self.statuses.items() for status in counted if status != 200 and (kind, status) != ("new", 403)]
        return 1 if failed or refused > MOST_REFUSED or growth > MOST_GROWTH else 0


def new_tables(codes: dict[str, list[str]]) -> Iterator[str]:
    """Addresses of tables of at most 5,000 cells that are all different: dimensions, some of their codes, slices, measures."""
    draw = random.Random(1)
    shapes = [names for size in (1, 2, 3) for names in combinations(codes, size) if prod(len(codes[name]) for name in names) <= MOST_CELLS]
    seen = set()
    while True:
        shown = draw.choice(shapes)
        address = "&".join(f"dimension={name}" for name in shown) + f"&measure={draw.choice(('turnover', 'persons', 'units'))}"
        for name in shown:
            some = draw.sample(codes[name], draw.randint(1, min(40, len(codes[name]))))
            address += "".join(f"&code={name}:{quote(code)}" for code in sorted(some))
        if address not in seen:
            seen.add(address)
            yield f"/v1/datasets/register/tables?{address}"


def memory_of(process: int) -> int:
    """Resident bytes of a process and all below it."""
    total = int(Path(f"/proc/{process}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    return total + sum(memory_of(int(child)) for child in children)


if __name__ == "__main__":
    main()
