"""What the documentation tells to type and to write into files: every command is one, every part of a job is read, and the README's run."""

from __future__ import annotations

import re
import shlex
import tomllib
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from statveil.cli.app import app
from statveil.jobs.record_job import check_file_job
from statveil.jobs.schema import check_job
from statveil.jobs.server_config import check_config
from tests.test_documentation_runs import FIRMS, PAGES, PEOPLE, SYSTEM

SHELL = re.compile(r"^```(?:sh|console)\n(.*?)^```", re.DOTALL | re.MULTILINE)
TOML = re.compile(r"^```toml\n(.*?)^```", re.DOTALL | re.MULTILINE)
KINDS = (
    ("protect", r"\.(jj|npz)", "protect-system"),
    ("protect", r"\.arb", "protect-batch"),
    ("protect", r"people", "protect-records"),
    ("protect", "", "protect-table"),
    ("check", r"\.tab", "check-pattern"),
    ("check", r"\.(jj|npz)", "check-system"),
    ("check", r"server\.toml", "check-server"),
    ("check", "", "check-release"),
)
"""What `protect` and `check` become with the thing that the documentation gives them: they look at its content, which is not here."""
TABLE = {
    "data": {"file": "firms.csv"},
    "table": {"name": "t", "measure": "turnover", "dimensions": {"region": "flat", "industry": "flat"}},
    "rule": [{"type": "p-percent", "p": 10}],
}
RECORDS = {"data": {"file": "people.csv"}, "fields": {"sex": {}}, "safety": {"threshold": 3}}
SERVER: dict[str, Any] = {
    "key": {"file": "secret.key"},
    "store": {"file": "store.sqlite"},
    "dataset": [
        {"id": "firms", "file": "firms.csv", "unit": "id", "dimensions": {"region": "flat"}, "measure": [{"id": "n", "count": True}]}
    ],
}


def commands() -> list[tuple[str, str]]:
    lines = [(name, line) for name, text in PAGES.items() for block in SHELL.findall(text) for line in block.splitlines()]
    return [(name, found[1]) for name, line in lines if (found := re.match(r"(?:\$ )?(?:\w+=\S+ )?statveil (.*)", line))]


@pytest.mark.parametrize(("page", "line"), commands(), ids=str)
def test_every_command_of_the_documentation_is_one(page: str, line: str) -> None:
    """With its options, which are all read before help is shown instead of the work."""
    verb, *words = shlex.split(line, comments=True)
    words = words[: words.index("|")] if "|" in words else words
    verb = next((kind for known, pattern, kind in KINDS if known == verb and re.search(pattern, " ".join(words))), verb)
    done = CliRunner().invoke(app, [verb, *words, "--help"])
    assert (done.exit_code, "Usage: " in done.output) == (0, True), done.output
    assert CliRunner().invoke(app, [verb, *words, "--no-such-option", "--help"]).exit_code == 2


def parts() -> list[tuple[str, str]]:
    return [(name, block) for name, text in PAGES.items() for block in TOML.findall(text)]


@pytest.mark.parametrize(("page", "text"), parts(), ids=lambda each: each[:24])
def test_every_part_of_a_job_is_one(page: str, text: str, tmp_path: Path) -> None:
    """A part beside the rest of the least job of its kind; the checks refuse every key that they do not know."""
    part = tomllib.loads(text)
    if "dataset" in part or "store" in part:
        dataset = part.get("dataset", {})
        given = dataset[0] if isinstance(dataset, list) else dataset
        check_config({**SERVER, **part, "dataset": [{**SERVER["dataset"][0], "rule": TABLE["rule"], **given}]}, base=tmp_path)
    elif part.keys() & {"fields", "perturb", "safety"}:
        check_file_job({**RECORDS, **part})
    else:
        check_job({**TABLE, **part})


@pytest.mark.slow
def test_what_the_readme_tells_to_type_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From a file to a release that is checked, for a table, a file of persons and a linear system; what waits or measures is left out."""
    (tmp_path / "firms.csv").write_text(FIRMS, encoding="utf-8")
    (tmp_path / "FILE.jj").write_text(SYSTEM)
    monkeypatch.chdir(tmp_path)
    exec(
        compile(
            f"from pathlib import Path\n{PEOPLE}import pyarrow.csv\npa.csv.write_csv(pa.table(columns), 'people.csv')", "people", "exec"
        ),
        {},
    )
    wanted = (
        "new firms.csv ",
        "protect job.toml",
        "check job-release",
        "new people.csv",
        "protect people.toml",
        "protect FILE.jj",
        "check FILE.jj",
    )
    told = [line for page, line in commands() if page == "README.md"]
    for start in wanted:
        words = shlex.split(next(line for line in told if line.startswith(start)), comments=True)
        done = CliRunner().invoke(app, words)
        assert done.exit_code == 0, (start, done.output)
    assert (tmp_path / "job-release" / "public").is_dir()
    assert (tmp_path / "people-release" / "public").is_dir()
