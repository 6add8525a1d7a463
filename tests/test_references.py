"""What comments cite can be looked up: papers and notes in docs/science.md, attackers and faults in docs/threats.md."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = {name: (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8") for name in ("science", "threats")}
SPACE = r"[\s#]+"  # references may run over the end of a line, in comments too

CODE = re.compile(r"\b[TFM]\d\d\b")
UNKNOWN = {"T99"}  # what tests ask for to be refused
PAPER = re.compile(r"""(?<![\w"'`/.-])S\d(?![\w"`]|'(?!s\b))""")  # not a code of a region in quotes
SECTION = re.compile(rf"docs/(science|threats)\.md,{SPACE}sections?{SPACE}(\d+)(?:{SPACE}(?:to|and){SPACE}(\d+))?")
ANCHOR = re.compile(r"\b(science|threats)\.md#([\w-]+)")
ELSEWHERE = re.compile(
    rf"\b(?:METHODS(?:,?{SPACE}sections?)?{SPACE}\d|THREATS(?:,?{SPACE}sections?)?{SPACE}(?:\d|[TFM]\d\d)|MICRO[D]ATA\b|(?:METHODS|THREATS)\.md)"
)


def texts(*folders: str, endings: tuple[str, ...] = (".py", ".html", ".json", ".toml")) -> Iterator[tuple[str, str]]:
    """Files below these folders, by their path from the root."""
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in endings and path.is_file() and "__pycache__" not in path.parts:
                yield str(path.relative_to(ROOT)), path.read_text(encoding="utf-8")


def pages() -> Iterator[tuple[str, str]]:
    """What users read."""
    for path in [*sorted((ROOT / "docs").glob("*.md")), ROOT / "README.md"]:
        yield str(path.relative_to(ROOT)), path.read_text(encoding="utf-8")


def everything() -> list[tuple[str, str]]:
    return [*texts("src", "tests"), *texts("benchmarks", endings=(".py",)), *pages()]


def anchors(page: str) -> set[str]:
    """What a link into the page may name: its own ids, and its headings as the site and GitHub spell them."""
    headings = re.findall(r"^#+ (.+)$", page, re.MULTILINE)
    slugs = {re.sub(r"\s", "-", re.sub(r"[^\w\s-]", "", heading).strip().lower()) for heading in headings}
    return slugs | set(re.findall(r'<a id="([\w-]+)">', page))


def sections(page: str) -> set[int]:
    return {int(number) for number in re.findall(r"^## (\d+)\. ", page, re.MULTILINE)}


ENTRIES = set(re.findall(r"^### ([TFM]\d\d) ", PAGES["threats"], re.MULTILINE))
PAPERS = set(re.findall(r"^### (S\d): ", PAGES["science"], re.MULTILINE))


def test_there_is_something_to_look_up() -> None:
    assert {"T01", "T26", "M08", "F18"} <= ENTRIES
    assert {f"S{number}" for number in range(5)} == PAPERS
    assert sections(PAGES["science"]) >= set(range(1, 10))
    assert sections(PAGES["threats"]) >= set(range(1, 11))


def test_every_code_has_an_entry() -> None:
    used = {(code, name) for name, text in everything() for code in CODE.findall(text)}
    assert {code for code, name in used if name.startswith("src")} >= {"T11", "F18", "M03"}
    assert sorted(each for each in used if each[0] not in ENTRIES | UNKNOWN) == []
    assert {name for code, name in used if code in UNKNOWN} <= {
        name for _, name in used if name.startswith(("tests", "docs/architecture"))
    }  # its recipe adds one


def test_every_paper_is_named_in_full() -> None:
    cited = {(paper, name) for name, text in texts("src") for paper in PAPER.findall(text)}
    assert {paper for paper, _ in cited} == PAPERS
    assert PAPER.findall("""("S5", "S6"), `S7` but S1's and (S3)""") == ["S1", "S3"]


def test_users_read_authors_and_years() -> None:
    for name, text in pages():
        prose = re.sub(r"```.*?```|`[^`\n]*`", "", text, flags=re.DOTALL)
        assert name == "docs/science.md" or PAPER.findall(prose) == [], name


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("(METHODS 4)", True),
        ("(METHODS,\n    section 4)", True),
        ("# THREATS\n# 3.6", True),
        ("(THREATS T20)", True),
        ("METHODS: dict[str, int]", False),
        ("import THREATS, attack_all", False),
        ("check(METHODS, 3)", False),
        ("<OPENMICRODATA>", False),
    ],
)
def test_what_counts_as_a_reference_to_elsewhere(words: str, found: bool) -> None:
    assert bool(ELSEWHERE.search(words)) == found


def test_nothing_refers_to_documents_that_readers_do_not_have() -> None:
    here = Path(__file__).name
    found = [(name, each[0]) for name, text in everything() if not name.endswith(here) for each in ELSEWHERE.finditer(text)]
    assert found == []


def test_every_section_that_is_cited_exists() -> None:
    cited = [(name, *each.groups()) for name, text in everything() for each in SECTION.finditer(text)]
    assert len([name for name, *_ in cited if name.startswith("src")]) >= 20
    lost = [each for each in cited if not {int(number) for number in each[2:] if number} <= sections(PAGES[each[1]])]
    assert lost == []


def test_every_anchor_exists() -> None:
    known = {name: anchors(page) for name, page in PAGES.items()}
    cited = [(name, *each.groups()) for name, text in everything() for each in ANCHOR.finditer(text)]
    cited += [(f"docs/{name}.md", name, each) for name, page in PAGES.items() for each in re.findall(r"\]\(#([\w-]+)\)", page)]
    assert len(cited) >= 20
    assert [each for each in cited if each[2] not in known[each[1]]] == []


def test_every_entry_has_an_anchor_of_its_own() -> None:
    assert {code.lower() for code in ENTRIES} <= anchors(PAGES["threats"])
    assert {paper.lower() for paper in PAPERS} <= anchors(PAGES["science"])
    for page in PAGES.values():
        assert {f"section-{number}" for number in sections(page)} <= anchors(page)


def test_every_test_that_a_page_names_is_there() -> None:
    there = {path.stem for path in (ROOT / "tests").rglob("test_*.py")}
    named = {word for page in (ROOT / "docs").glob("*.md") for word in re.findall(r"`(test_\w+)`", page.read_text(encoding="utf-8"))}
    assert named - there == set()
