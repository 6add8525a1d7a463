"""The house keeps its size in the small: what a reader meets in one folder, one file, one function."""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "statveil"
MODULES = sorted(SOURCE.rglob("*.py"))


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def kernels() -> Iterator[tuple[Path, ast.FunctionDef]]:
    """Functions that numba compiles."""
    for path in MODULES:
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.FunctionDef) and any("jit" in ast.unparse(each) for each in node.decorator_list):
                yield path, node


def named(path: Path) -> str:
    return path.relative_to(SOURCE).as_posix()


def test_a_folder_has_twelve_modules_at_most() -> None:
    loose = Counter(path.parent for path in MODULES if path.name != "__init__.py")
    assert {named(folder): count for folder, count in loose.items() if count > 12} == {}


@pytest.mark.parametrize("path", MODULES, ids=named)
def test_a_module_is_read_in_one_sitting(path: Path) -> None:
    assert path.read_text(encoding="utf-8").count("\n") <= 490


def test_no_class_name_stands_in_three_modules() -> None:
    places = defaultdict(set)
    for path in MODULES:
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.ClassDef):
                places[node.name.lstrip("_")].add(named(path))
    assert {name: sorted(where) for name, where in places.items() if len(where) > 2} == {}


def imported(path: Path) -> Iterator[tuple[str, ...]]:
    """What a module imports of ours, below `statveil`, wherever in it that stands: at its top, in a function, for types alone."""
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("statveil."):
            place = tuple(str(node.module).split(".")[1:])
            yield from ((*place, name.name) for name in node.names)


def circle_in(needs: dict[str, set[str]]) -> list[str]:
    """The first circle found, from one folder back to it; empty where there is none."""
    try:
        TopologicalSorter(needs).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_a_circle_is_found() -> None:
    assert circle_in({"a": {"b"}, "b": {"c"}, "c": set()}) == []
    assert sorted(circle_in({"a": {"b"}, "b": {"a"}, "c": {"a"}})[1:]) == ["a", "b"]


PACKAGES = [named(path.parent) for path in MODULES if path.name == "__init__.py" and len(list(path.parent.glob("*/__init__.py"))) > 1]


@pytest.mark.parametrize("package", PACKAGES)
def test_folders_beside_each_other_do_not_import_in_a_circle(package: str) -> None:
    above = tuple(package.split("/")) if package != "." else ()
    folders = {path.name for path in SOURCE.joinpath(*above).iterdir() if (path / "__init__.py").exists()}
    needs: dict[str, set[str]] = {folder: set() for folder in folders}
    for path in MODULES:
        place, depth = path.relative_to(SOURCE).parts, len(above)
        if place[:depth] == above and place[depth] in folders:
            found = {words[depth] for words in imported(path) if words[:depth] == above and len(words) > depth}
            needs[place[depth]] |= found & folders - {place[depth]}
    assert circle_in(needs) == []


@pytest.mark.parametrize(("path", "kernel"), [pytest.param(*each, id=f"{named(each[0])}:{each[1].name}") for each in kernels()])
def test_a_kernel_has_eight_arguments_at_most_and_says_what_it_does(path: Path, kernel: ast.FunctionDef) -> None:
    arguments = kernel.args.posonlyargs + kernel.args.args + kernel.args.kwonlyargs
    assert len(arguments) <= 8
    assert ast.get_docstring(kernel)
