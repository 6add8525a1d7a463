"""A run holds the code of what it does, not of the whole house."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from statveil.protect.system import write_jj
from tests.protect.search.stories import two_by_two

pytestmark = pytest.mark.slow
MOST = 60
"""Of our modules in the process that the user started; the search runs in others."""
COUNT = """
import json, sys
from statveil.cli import main
sys.argv = ["statveil", *json.loads(sys.argv[1])]
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
print(json.dumps(sorted(name for name in sys.modules if name == "statveil" or name.startswith("statveil."))))
"""


def modules_of(*words: str | Path) -> list[str]:
    """Our modules after a command, the last line that it printed."""
    command = [sys.executable, "-c", COUNT, json.dumps([str(word) for word in words])]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return list(json.loads(done.stdout.splitlines()[-1]))


@pytest.mark.parametrize("method", ["auto", "anneal"])
def test_a_run_imports_few_modules(method: str, tmp_path: Path) -> None:
    write_jj(two_by_two(), tmp_path / "table.jj")
    modules = modules_of("protect", tmp_path / "table.jj", "--method", method, "--out", tmp_path / "table.sol", "--json")
    assert (tmp_path / "table.sol").exists()
    assert "statveil.protect.adjust" in modules
    assert len(modules) <= MOST, "\n".join(modules)


def test_a_method_is_imported_to_check_its_settings_only(tmp_path: Path) -> None:
    write_jj(two_by_two(), tmp_path / "table.jj")
    words = ("protect", tmp_path / "table.jj", "--method", "flips", "--set", "rounds=5", "--out", tmp_path / "table.sol", "--json")
    methods = {name for name in modules_of(*words) if name.startswith("statveil.protect.search.papers.")}
    assert methods == set()
