"""Records are queried in `data/` and nowhere else."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import statveil

HOME = Path(statveil.__file__).parent
OWN_DATABASE = ("server/store/", "server/web/queue.py", "server/web/rate_limit.py")
"""What the server keeps for itself; none of it are records."""
SQL = re.compile(
    r"\s*((SELECT|WITH|CREATE|COPY|INSERT|UPDATE|DELETE|DROP|ATTACH|DESCRIBE|CASE) |(TRY_)?CAST\()"
    r"|.*\b(FROM records|GROUP BY|ORDER BY|LEFT JOIN|IS NULL|IS NOT NULL|IS NOT DISTINCT|FILTER \(|AS (VARCHAR|STRING|BIGINT|DOUBLE))",
    re.DOTALL,
)


def texts(source: str) -> Iterator[ast.Constant]:
    """All texts of a module but its docstrings."""
    tree = ast.parse(source)
    documents = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    return (node for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documents)


def queries(source: str) -> list[int]:
    """Lines with text of a query."""
    return [node.lineno for node in texts(source) if SQL.match(node.value)]


MODULES = [path.relative_to(HOME).as_posix() for path in sorted(HOME.rglob("*.py"))]


@pytest.mark.parametrize("module", [name for name in MODULES if not name.startswith(("data/", *OWN_DATABASE))])
def test_no_other_module_holds_a_query(module: str) -> None:
    assert queries((HOME / module).read_text(encoding="utf-8")) == []


def test_the_search_finds_queries() -> None:
    assert queries('rows = f"SELECT {names} FROM records"')
    assert queries('text = f"CAST({name} AS STRING)"')
    assert not queries('"""SELECT is a word of the engine."""\nhint = "Select a file."')
    assert sum(bool(queries((HOME / name).read_text(encoding="utf-8"))) for name in MODULES if name.startswith("data/queries/")) >= 5
