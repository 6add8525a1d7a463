"""`statveil convert`: what is typed becomes the conversion asked for, and says which files it wrote."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.stories import run, told


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    path = tmp_path / "region.csv"
    path.write_text("code,parent\nN,\nN1,N\nN2,N\nS,\n", encoding="utf-8")
    return path


def test_a_tree_becomes_one_of_tau_argus(tree: Path) -> None:
    target = tree.with_suffix(".hrc")
    done = run("convert", tree, target)
    assert done.exit_code == 0, told(done)
    assert f"wrote  {target}" in done.output
    assert [line.lstrip("@ ") for line in target.read_text(encoding="utf-8").split()] == ["N", "N1", "N2", "S"]


def test_what_no_format_holds_is_refused_politely(tree: Path) -> None:
    refused = run("convert", tree, tree.with_suffix(".jj"))
    assert refused.exit_code == 2
    assert "Traceback" not in told(refused)
    assert not tree.with_suffix(".jj").exists()
