"""The examples in the documentation of public names run as they stand."""

from __future__ import annotations

import doctest
import inspect
import sys
from types import ModuleType

import pytest

import statveil as sv


def public() -> dict[str, object]:
    """All public names, those of the rooms among them, but for the rooms themselves and the version."""
    found = {name: getattr(sv, name) for name in sv.__all__}
    for room in [each for each in found.values() if isinstance(each, ModuleType)]:
        found |= {name: getattr(room, name) for name in getattr(room, "__all__", ())}
    return {name: each for name, each in found.items() if inspect.isclass(each) or inspect.isfunction(each)}


EXAMPLES = {name: each for name, each in public().items() if ">>>" in (each.__doc__ or "")}


def test_every_public_name_is_documented() -> None:
    assert [name for name, each in public().items() if not inspect.getdoc(each)] == []


@pytest.mark.parametrize("name", EXAMPLES)
@pytest.mark.slow
def test_an_example_tells_the_truth(name: str) -> None:
    each = EXAMPLES[name]
    names = vars(sys.modules[each.__module__])
    [found] = doctest.DocTestFinder(recurse=False).find(each, name, globs=dict(names))
    told: list[str] = []
    doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(found, out=told.append)
    assert "".join(told) == ""
