"""The examples in the documentation of public names run as they stand."""

from __future__ import annotations

import doctest
import inspect
import re
import sys
from collections.abc import Callable
from types import ModuleType

import pytest

import statveil as sv


def public() -> dict[str, Callable[..., object]]:
    """All public verbs and types by their names, those of the rooms among them."""
    found = {name: getattr(sv, name) for name in sv.__all__}
    for room in [each for each in found.values() if isinstance(each, ModuleType)]:
        found |= {name: getattr(room, name) for name in getattr(room, "__all__", dir(room))}
    return {name: each for name, each in found.items() if inspect.isclass(each) or inspect.isfunction(each)}


PUBLIC = public()
EXAMPLES = {name: each for name, each in PUBLIC.items() if ">>>" in (each.__doc__ or "")}


def described(each: Callable[..., object]) -> set[str]:
    """Parameters that are described: `name: ...` or a name in backticks above the example, or words below a field."""
    homes = [home for home in getattr(each, "__mro__", (each,)) if home.__module__.startswith("statveil.")]
    words = "\n".join((inspect.getdoc(home) or "").split(">>>")[0] for home in homes)
    lists = re.findall(r"(?:^|[.;:)]|\n)\s*((?:\w+, )*\w+): ", words)
    below = re.findall(r'(?m)^    (\w+): .*\n    """', "".join(map(inspect.getsource, homes)))
    return {*below, *re.findall(r"`(\w+)`", words), *(name for each in lists for name in each.split(", "))}


def test_every_public_verb_and_type_has_an_example() -> None:
    assert [name for name in PUBLIC if name not in EXAMPLES] == []


@pytest.mark.parametrize("name", PUBLIC)
def test_every_parameter_is_described(name: str) -> None:
    assert [one for one in inspect.signature(PUBLIC[name]).parameters if one not in described(PUBLIC[name])] == []


@pytest.mark.parametrize("name", EXAMPLES)
@pytest.mark.slow
def test_an_example_tells_the_truth(name: str) -> None:
    each = EXAMPLES[name]
    names = vars(sys.modules[each.__module__])
    [found] = doctest.DocTestFinder(recurse=False).find(each, name, globs=dict(names))
    told: list[str] = []
    doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(found, out=told.append)
    assert "".join(told) == ""
