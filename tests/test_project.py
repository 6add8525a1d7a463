"""What surrounds the code says what the code does."""

from __future__ import annotations

import re
import subprocess
import tomllib
import types
import typing
from pathlib import Path

import pytest
from pydantic import BaseModel

from statveil.core import errors
from statveil.jobs.new_job import TEMPLATE
from statveil.jobs.schema import RULE_TYPES, JobFile, Part
from statveil.version import VERSION

ROOT = Path(__file__).resolve().parents[1]
DOCS = sorted((ROOT / "docs").glob("*.md"))


def parts(model: type[BaseModel]) -> typing.Iterator[type[BaseModel]]:
    """The model and all parts that its keys hold."""
    yield model
    for field in model.model_fields.values():
        yield from _inside(field.annotation)


def _inside(annotation: object) -> typing.Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and not isinstance(annotation, types.GenericAlias) and issubclass(annotation, Part):
        yield from parts(annotation)
    for inner in typing.get_args(annotation):
        yield from _inside(inner)


KEYS = sorted(
    {(model.__name__, key) for model in parts(JobFile) for key in model.model_fields} - {("JobFile", "rule"), ("JobFile", "table")}
)


def test_the_walk_over_the_parts_finds_them() -> None:
    assert {("PPercentPart", "coalition"), ("BoundsPart", "minimum"), ("DimensionPart", "digits"), ("OutputPart", "formats")} <= set(KEYS)


@pytest.mark.parametrize(("part", "key"), KEYS)
def test_every_key_of_a_job_is_documented(part: str, key: str) -> None:
    reference = (ROOT / "docs" / "job-file.md").read_text(encoding="utf-8")
    assert re.search(rf"`{key}`|\b{key} = |\[{key}\]|\[protection\.{key}\]|\[table\.{key}\]", reference), f"{part}.{key}"


@pytest.mark.parametrize("kind", RULE_TYPES)
def test_every_rule_is_in_the_reference_and_in_the_template(kind: str) -> None:
    assert f'`"{kind}"`' in (ROOT / "docs" / "job-file.md").read_text(encoding="utf-8")
    assert f'type = "{kind}"' in TEMPLATE


def test_every_error_is_documented() -> None:
    page = (ROOT / "docs" / "errors.md").read_text(encoding="utf-8")
    tree = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.StatveilError)]
    for kind in tree:
        assert f"`{kind.__name__}`" in page


def test_every_page_is_in_the_navigation_and_the_other_way_round() -> None:
    listed = re.findall(r": ([\w-]+\.md)", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    assert sorted(listed) == [page.name for page in DOCS]


def test_the_site_is_light_or_dark_as_its_reader_is() -> None:
    palette = re.findall(r"\(prefers-color-scheme: (\w+)\)\"\n +scheme: (\w+)", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    assert dict(palette) == {"light": "default", "dark": "slate"}


@pytest.mark.parametrize("page", [*DOCS, ROOT / "README.md", ROOT / "CONTRIBUTING.md"], ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text(encoding="utf-8"))
    missing = [link for link in links if "://" not in link and not link.endswith(".png") and not (page.parent / link).exists()]
    assert missing == []


@pytest.mark.slow
@pytest.mark.parametrize("target", ["demo", "test", "test-quick", "lint", "docs", "bench", "clean"])
def test_make_knows_its_targets(target: str) -> None:
    done = subprocess.run(["make", "--dry-run", target], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(("java", "extras"), [('version "17', "[test,spark]"), ("", "[test]")])
def test_make_installs_spark_where_java_is(java: str, extras: str, tmp_path: Path) -> None:
    command = ["make", "--dry-run", "--always-make", "lint", f"JAVA={java}", f"VENV={tmp_path}"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert f"--editable '.{extras}'" in done.stdout, done.stderr


def test_continuous_integration_runs_make_test() -> None:
    script = ROOT / ".ci" / "run"
    assert "make test" in script.read_text(encoding="utf-8")
    assert script.stat().st_mode & 0o111


def test_the_licence_is_apache_2() -> None:
    assert "Apache License" in (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["license"] == "Apache-2.0"


def test_the_changelog_has_a_place_for_published_numbers() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert "### Published numbers" in changelog
    assert "## [Unreleased]" in changelog or f"## [{VERSION}]" in changelog
