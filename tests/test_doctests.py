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


def public() -> dict[str, object]:
    """All public names, those of the rooms among them, but for the rooms themselves and the version."""
    found = {name: getattr(sv, name) for name in sv.__all__}
    for room in [each for each in found.values() if isinstance(each, ModuleType)]:
        found |= {name: getattr(room, name) for name in getattr(room, "__all__", ())}
    return {name: each for name, each in found.items() if inspect.isclass(each) or inspect.isfunction(each)}


EXAMPLES = {name: each for name, each in public().items() if ">>>" in (each.__doc__ or "")}
AT_THE_TOP: dict[str, Callable[..., object]] = {
    name: each
    for name in sv.__all__
    if (inspect.isclass(each := getattr(sv, name)) and not issubclass(each, Exception)) or inspect.isfunction(each)
}


def test_every_public_name_is_documented() -> None:
    assert [name for name, each in public().items() if not inspect.getdoc(each)] == []


def test_every_public_verb_and_type_has_an_example() -> None:
    assert [name for name in AT_THE_TOP if name not in EXAMPLES] == []


@pytest.mark.parametrize("name", AT_THE_TOP)
def test_every_parameter_is_documented(name: str) -> None:
    """In the words above the example, or in those below a field."""
    each = AT_THE_TOP[name]
    homes = [home for home in getattr(each, "__mro__", (each,)) if home.__module__.startswith("statveil")]
    words, source = (inspect.getdoc(each) or "").split(">>>")[0], "".join(map(inspect.getsource, homes))
    below = re.findall(r'(?m)^    (\w+): .*\n    """', source)
    assert [one for one in inspect.signature(each).parameters if one not in below and not re.search(rf"\b{one}\b", words)] == []


@pytest.mark.parametrize("name", EXAMPLES)
@pytest.mark.slow
def test_an_example_tells_the_truth(name: str) -> None:
    each = EXAMPLES[name]
    names = vars(sys.modules[each.__module__])
    [found] = doctest.DocTestFinder(recurse=False).find(each, name, globs=dict(names))
    told: list[str] = []
    doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(found, out=told.append)
    assert "".join(told) == ""
