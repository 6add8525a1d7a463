"""docs/architecture.md is true: what it names exists, its walks are walked in that order, its recipes work."""

from __future__ import annotations

import ast
import re
import sys
import threading
import tomllib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import numpy as np
import pytest

import statveil.protect.adjust
from statveil.audit.attacks import suite
from statveil.jobs import schema
from statveil.jobs.folders import tables as folder
from statveil.protect.search import methods
from statveil.solve.processes import Call, Halt
from tests.cli.stories import run, village_in
from tests.protect.problems import two_way_relations, with_margins
from tests.server.live import running
from tests.server.village import ask, open_village

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "statveil"
IMPORTED = f"{Path(statveil.__file__).parent}/"
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
IN_A_CHILD = "(in a process of its own)"


class Step(NamedTuple):
    """A line of a walk."""

    file: str
    name: str
    in_a_child: bool


def section(title: str) -> str:
    """What is under a heading that begins so, up to the next one of its rank or above."""
    found = re.search(rf"^(#+) {re.escape(title)}.*?\n(.*?)(?=^#{{1,3}} |\Z)", PAGE, re.DOTALL | re.MULTILINE)
    assert found is not None, title
    return found[2]


def steps_of(number: int) -> list[Step]:
    lines = re.findall(r"^\d+\. `([\w/]+\.py):([\w.]+)` (.*)$", section(f"Walk {number}"), re.MULTILINE)
    return [Step(file, name, words.endswith(IN_A_CHILD)) for file, name, words in lines]


# --- what is named exists


@cache
def names_in(file: str) -> frozenset[str]:
    """Functions, classes and methods, `Class.method` and `function.inner`."""
    return frozenset(_names(ast.parse((SOURCE / file).read_text(encoding="utf-8")), ""))


def _names(node: ast.AST, prefix: str) -> Iterator[str]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield f"{prefix}{child.name}"
            yield from _names(child, f"{prefix}{child.name}.")
        else:
            yield from _names(child, prefix)


@pytest.mark.parametrize(("file", "name"), sorted(set(re.findall(r"`([\w/]+/[\w/]+\.py):([\w.]+)`", PAGE))))
def test_every_name_on_the_page_exists(file: str, name: str) -> None:
    assert name in names_in(file)


@pytest.mark.parametrize("path", sorted(set(re.findall(r"`((?:[\w-]+/)+(?:[\w-]+\.\w+)?)`", PAGE))))
def test_every_path_on_the_page_exists(path: str) -> None:
    places = (SOURCE / path, ROOT / path, SOURCE / "audit" / "attacks" / path)
    assert any(place.exists() for place in places)


@pytest.mark.parametrize("number", [1, 2, 3, 4])
def test_a_walk_has_numbered_steps(number: int) -> None:
    lines = re.findall(r"^(\d+)\. ", section(f"Walk {number}"), re.MULTILINE)
    assert [int(each) for each in lines] == list(range(1, len(steps_of(number)) + 1))
    assert 10 <= len(lines) <= 18


@cache
def layers() -> list[str]:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"]
    found = next(each["layers"] for each in contracts if each["type"] == "layers")
    return [layer.replace("statveil.", "") for layer in found]


def test_the_layers_are_those_of_the_contract() -> None:
    assert re.findall(r"^    (\S.*)$", section("Layers"), re.MULTILINE) == layers()


def test_contributors_are_told_the_same_layers() -> None:
    told = re.search(r"^    (cli > .*)$", (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert told is not None
    assert told[1].split(" > ")[1:] == layers()[1:]


def test_the_drawing_names_every_folder() -> None:
    drawn = re.findall(r"^(\w+)/ ", section("The drawing"), re.MULTILINE)
    assert sorted(drawn) == sorted(path.parent.name for path in SOURCE.glob("*/__init__.py"))


def test_the_page_names_every_folder_within_a_folder() -> None:
    within = {path.parent.relative_to(SOURCE).as_posix() for path in SOURCE.glob("*/*/**/__init__.py")}
    assert sorted(path for path in within if not re.search(rf"\b{path.rpartition('/')[2]}/", PAGE)) == []


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("__init__.py")), ids=lambda path: path.parent.relative_to(SOURCE).as_posix())
def test_every_package_says_in_one_line_what_it_is(path: Path) -> None:
    words = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    assert words.split("\n")[0].endswith(".")


# --- the walks are walked


class Calls:
    """Which of our functions were called, in the order of their first call, in all threads."""

    def __init__(self) -> None:
        self.first: dict[tuple[str, str], None] = {}

    def hear(self, frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(IMPORTED):
            file = frame.f_code.co_filename.removeprefix(IMPORTED)
            self.first.setdefault((file, frame.f_code.co_qualname.replace("<locals>.", "")))

    @contextmanager
    def listening(self) -> Iterator[None]:
        before = sys.getprofile()
        threading.setprofile(self.hear)
        sys.setprofile(self.hear)
        try:
            yield
        finally:
            sys.setprofile(before)
            threading.setprofile(None)

    def order(self, steps: Sequence[Step]) -> list[str]:
        """The steps as they were first called; those never called are left out."""
        asked = {(step.file, step.name) for step in steps}
        return [f"{file}:{name}" for file, name in self.first if (file, name) in asked]


def assert_walked(number: int, calls: Calls) -> None:
    steps = steps_of(number)
    assert calls.order(steps) == [f"{step.file}:{step.name}" for step in steps]


@pytest.fixture
def in_this_process(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Let what runs in a child run here, where it is heard; tells the functions that would have run there."""
    made: list[str] = []

    def run_here(calls: Sequence[Call], *, seconds: float, on_message: Callable[[Any], object], over: Callable[[], bool]) -> Halt:
        for function, arguments in calls:
            made.append(function.__name__)
            function(*arguments, on_message)
        return Halt.FINISHED

    monkeypatch.setattr(statveil.protect.adjust, "run_isolated", run_here)
    return made


def walk(*arguments: str | Path) -> Calls:
    """The first run compiles, which takes long while somebody listens; the second is heard. Both end by themselves, whatever that takes."""
    calls, ample = Calls(), ("--seconds", "3000")
    assert run("protect", *arguments, *ample).exit_code == 0
    with calls.listening():
        again = run("protect", *arguments, *ample, *(["--force"] if str(arguments[0]).endswith(".toml") else []))
    assert again.exit_code == 0, again.output
    return calls


def two_way(inner: Sequence[Sequence[int]], levels: dict[int, int]) -> str:
    """A JJ file of a table with its margins; `levels` by the number of the cell."""
    value = with_margins(np.array(inner)).ravel().tolist()
    lines = [
        f"{cell} {amount} 1 {'u' if cell in levels else 's'} 0 {4 * amount} {levels.get(cell, 0)} {levels.get(cell, 0)} 0"
        for cell, amount in enumerate(value)
    ]
    sums = []
    for row in two_way_relations(len(inner), len(inner[0])):
        cells = np.flatnonzero(row).tolist()
        sums.append(f"0 {len(cells)} : " + " ".join(f"{cell} ({row[cell]})" for cell in cells))
    return "\n".join(["0", str(len(lines)), *lines, str(len(sums)), *sums, ""])


@pytest.mark.slow
def test_walk_1_a_table(tmp_path: Path, in_this_process: list[str]) -> None:
    assert_walked(1, walk(village_in(tmp_path) / "job.toml"))
    assert "run_jobs" in in_this_process


@pytest.mark.slow
def test_walk_2_a_linear_system(tmp_path: Path, in_this_process: list[str]) -> None:
    system = two_way(
        [[54, 165, 36, 85], [50, 146, 135, 140], [186, 117, 73, 44], [144, 27, 119, 130]], levels={3: 12, 7: 19, 8: 20, 10: 26, 12: 10}
    )
    (tmp_path / "table.jj").write_text(system, encoding="utf-8")
    assert_walked(2, walk(tmp_path / "table.jj", "--certificate", tmp_path / "proof.json"))
    assert "run_jobs" in in_this_process


RECORD_JOB = """
[data]
file = "village.csv"
[fields.street]
[fields.trade]
[safety]
threshold = 2
[output]
file = "safe.csv"
"""


@pytest.mark.slow
def test_walk_3_a_file_of_records(tmp_path: Path) -> None:
    (village_in(tmp_path) / "people.toml").write_text(RECORD_JOB, encoding="utf-8")
    assert_walked(3, walk(tmp_path / "people.toml"))


@pytest.mark.slow
def test_walk_4_a_request(tmp_path: Path) -> None:
    service, calls = open_village(tmp_path), Calls()
    wish = {"dimensions": [{"id": "region"}, {"id": "trade"}], "measure": "turnover"}
    service.answer(ask("region"))  # compiles
    with calls.listening(), running(service, tmp_path, seconds=600, anonymous=True) as client:
        answer = client.post("/v1/datasets/village/tables", json=wish)
    service.close()
    assert answer.status_code == 200, answer.text
    assert_walked(4, calls)


@pytest.mark.parametrize("number", [3, 4])
def test_only_searches_for_tables_run_in_a_child(number: int) -> None:
    assert not any(step.in_a_child for step in steps_of(number))


@pytest.mark.parametrize("number", [1, 2])
def test_what_runs_in_a_child_is_marked(number: int) -> None:
    """What the search calls, and nothing else: from the first step of a child to the last one before the certificate."""
    marked = [step.in_a_child for step in steps_of(number)]
    first, last = marked.index(True), len(marked) - marked[::-1].index(True)
    assert all(marked[first:last])
    assert steps_of(number)[last].name == "Certifier.certified"


# --- the recipes work

RECIPES = re.findall(r"^### (Add an? .*?)\n.*?^```python\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
REGISTERS: tuple[Any, ...] = (schema._RULES, methods.HOMES, folder._PUBLIC_ONLY, suite.ATTACKS, suite.THREAT_BY_ID)


@contextmanager
def undone() -> Iterator[None]:
    """Whatever is registered inside is forgotten afterwards."""
    registers = (*REGISTERS, sys.modules)
    before = [dict(register) for register in registers]
    try:
        yield
    finally:
        for register, kept in zip(registers, before, strict=True):
            for name in set(register) - set(kept):
                if register is not sys.modules or name.endswith(".one_by_one"):
                    del register[name]


def test_there_are_four_recipes() -> None:
    assert [title for title, _ in RECIPES] == [
        "Add a sensitivity rule",
        "Add a search method",
        "Add an output format",
        "Add an attack",
    ]


@pytest.mark.slow
@pytest.mark.parametrize(("title", "code"), RECIPES, ids=[title for title, _ in RECIPES])
def test_a_recipe_works(title: str, code: str) -> None:
    assert "assert " in code, "a recipe ends with what it brought about"
    with undone():
        exec(compile(code, f"docs/architecture.md, {title}", "exec", dont_inherit=True), {"__name__": "recipe"})
