"""The Python of the documentation runs as it stands: each page from its first block to its last, and every notebook."""

from __future__ import annotations

import os
import re
from importlib import import_module
from pathlib import Path

import nbformat
import pytest

from tests.desk.conftest import browser_page
from tests.notebooks import TUTORIALS, notebook_of, place_of
from tests.protect.keep.stories import keep_soon

ROOT = Path(__file__).resolve().parents[1]
PAGES = {page.name: page.read_text(encoding="utf-8") for page in [*sorted((ROOT / "docs").glob("*.md")), ROOT / "README.md"]}
BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
ELSEWHERE = {"architecture.md", *(page.name for page in TUTORIALS)}
"""Its recipes run in tests/test_architecture.py, each for itself; tutorials run as notebooks."""
FIRMS = """region,size,trade,group,turnover,domestic,export
A,small,x,g1,120,100,20
A,small,x,g2,80,50,30
A,large,x,g3,300,200,100
A,large,y,g4,410,400,10
B,small,x,g5,90,60,30
B,small,y,g6,70,50,20
B,large,y,g7,500,300,200
B,large,y,g8,450,250,200
"""
SHOWN = {
    "first-table": ("<strong>Release: turnover", "application/vnd.vegalite.v5+json"),
    "tutorial-table": ("<strong>Release: turnover", "application/vnd.vegalite.v5+json", "could still be gained", "of 72 cells sensitive"),
    "tutorial-persons": ("persons have a rare combination", "FileRelease: safe.csv, audit passed"),
    "tutorial-server": ("Listening on http", "mode cube"),
}
FILES = {
    "tutorial-table": {"turnover.csv", "report.html", "report-internal.html"},
    "tutorial-persons": {"safe.csv", "risk-and-loss.html"},
    "tutorial-server": {"store.sqlite", "secret.key"},
}
"""What the notebooks show, and what they leave in their folder."""
PICTURES = {"tutorial-table": ("report-internal.html", "table.png"), "tutorial-persons": ("risk-and-loss.html", "persons.png")}
JOB = """
[data]
file = "firms.csv"
[table]
name = "turnover"
measure = "turnover"
holding = "group"
[table.dimensions]
region = "flat"
trade = "flat"
[[rule]]
type = "p-percent"
p = 10
[protection]
attacks = "report"
[limits]
seconds = 20
"""
SYSTEM = """0
4
0 100 1 s 0 1000 0 0 0
1 60 2 u 0 1000 5 7 0
2 30 1 s 0 1000 0 0 0
3 10 1 s 0 1000 0 0 0
1
0 4 : 0 (-1) 1 (1) 2 (1) 3 (1)
"""
RECORDS = """
import numpy as np, pyarrow as pa, pyarrow.csv
draw = np.random.default_rng(5)
trees = {"region": sv.Hierarchy.flat(list("abcdef")), "trade": sv.Hierarchy.flat(list("uvwxyz"))}
columns = {"region": draw.choice(list("abcdef"), 90), "trade": draw.choice(list("uvwxyz"), 90)}
amounts = {name: (draw.lognormal(5, 2, 90) + 1).astype(int) for name in ("turnover", "employment", "wages")}
pa.csv.write_csv(pa.table({**columns, **amounts}), "records.csv")
rules = [sv.PPercent(10)]
spec = sv.TableSpec(dimensions=trees, measure="turnover")
"""
PEOPLE = """
import numpy as np, pyarrow as pa, pyarrow.parquet
draw, count = np.random.default_rng(5), 300
words = {"region": ["N1", "N2", "S1"], "sex": ["f", "m"], "job": ["vet", "cook", "smith"]}
words |= {"disease": list("abcde"), "opinion": ["yes", "no"]}
numbers = {"income": 90_000, "tax": 20_000, "age": 90}
columns = {name: draw.choice(list(each), count) for name, each in words.items()}
columns |= {name: draw.integers(0, each, count) for name, each in numbers.items()}
columns |= {"id": np.arange(count), "name": [f"Name {each}" for each in range(count)], "weight": np.full(count, 20)}
pa.parquet.write_table(pa.table(columns), "people.parquet")
Path("regions.csv").write_text("code,parent\\nAll,\\nN,All\\nN1,N\\nN2,N\\nS1,All\\n")
"""
BATCH = """
from tests.jobs.conftest import HRC, RDA, RECORDS, record
Path("village.rda").write_text(RDA)
Path("region.hrc").write_text(HRC)
Path("village.asc").write_text("".join(f"{record(*each)}\\n" for each in RECORDS))
lines = ['<OPENMICRODATA> "village.asc"', '<OPENMETADATA> "village.rda"', '<SPECIFYTABLE> "region""trade"|"turnover"|""|""']
lines += ["<SAFETYRULE> P(10,1)", "<READMICRODATA>", '<SUPPRESS> CTA(1)', '<WRITETABLE> (1, 3, AS+, "out.txt")']
Path("job.arb").write_text("\\n".join(lines))
"""
PROBLEM = "from tests.protect.problems import problem_of, two_way_relations, with_margins\nimport numpy as np\n"
BEFORE = {
    "README.md": f"from pathlib import Path\nimport statveil as sv\n{PEOPLE}import pyarrow.csv\n"
    "pa.csv.write_csv(pa.table(columns), 'people.csv')\nPath('regions.csv').write_text('code,parent\\nAll,\\nA,All\\nB,All\\n')\n",
    "api.md": f"from pathlib import Path\nPath('job.toml').write_text({JOB!r})\n",
    "attacks.md": "from pathlib import Path\nfrom statveil.jobs.table_job import read_job\n"
    f"from statveil.jobs.folders.tables import protect_to_folder\nPath('job.toml').write_text({JOB!r})\n"
    "protect_to_folder(read_job(Path('job.toml')), Path('demo'))\n",
    "files.md": "from pathlib import Path\nimport statveil as sv\n" + PEOPLE,
    "infeasible.md": f"import statveil as sv\n{PROBLEM}"
    "problem = problem_of([9, 4, 5], [[-1, 1, 1]], levels={1: 3}, lower=np.array([9, 0, 5]), upper=np.array([9, 99, 5]))\n",
    "linear-systems.md": f"from pathlib import Path\nPath('table.jj').write_text({SYSTEM!r})\n",
    "quality.md": f"import statveil as sv\n{PROBLEM}{RECORDS}"
    "cells = with_margins(draw.integers(20, 90, (4, 4)))\n"
    "problem = problem_of(cells.ravel(), two_way_relations(4, 4), levels={0: 3, 6: 4, 12: 5})\n",
    "tau-argus.md": f"from pathlib import Path\n{BATCH}",
    "tradeoff.md": f"import statveil as sv\n{PROBLEM}{RECORDS}firms = sv.read_microdata('records.csv')\n"
    "cells = with_margins(draw.integers(20, 90, (4, 4)))\n"
    "problem = problem_of(cells.ravel(), two_way_relations(4, 4), levels={0: 3, 6: 4, 12: 5})\n",
    "linked-tables.md": 'import statveil as sv\nfirms = sv.read_microdata("firms.csv")\nrules = [sv.PPercent(10)]\n'
    'spec = sv.TableSpec(dimensions={"region": None, "trade": None}, measure="turnover", holding="group")\n',
}
"""What a page takes for granted."""


def pages_with_python() -> list[str]:
    return [name for name, text in PAGES.items() if BLOCK.search(text)]


@pytest.mark.parametrize("name", pages_with_python())
def test_every_block_compiles(name: str) -> None:
    faults = []
    for code in BLOCK.findall(PAGES[name]):
        try:
            compile(code, name, "exec")
        except SyntaxError as fault:
            faults.append(fault)
    assert not faults


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in pages_with_python() if name not in ELSEWHERE])
def test_a_page_runs(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "firms.csv").write_text(FIRMS, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    keep_soon(monkeypatch)
    names: dict[str, object] = {"__name__": "page"}
    for code in [BEFORE.get(name, ""), *BLOCK.findall(PAGES[name])]:
        exec(compile(code, name, "exec", dont_inherit=True), names)


def as_reticulate_has_it(lines: str) -> str:
    """The Python that lines of R become: `$` leads to a name, `L` marks whole numbers, and words of R are functions of the same kind."""
    parts = re.split(r'("[^"\n]*")', re.sub(r"#.*", "", lines))
    changes = (("<-", "="), (r"\$", "."), (r"\b(\d+)L\b", r"\1"), (r"\bNULL\b", "None"), (r"\bdata\.frame\(", "frame("))
    changes += ((r"\blist\(", "named("), (r"\bimport\(", "module("))
    for old, new in changes:
        parts[::2] = [re.sub(old, new, part) for part in parts[::2]]
    return "".join(parts)


@pytest.mark.slow
def test_the_page_for_r_runs_as_the_python_that_its_lines_become(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """R itself is not here; its set-up, the first block, is left out."""
    pandas = pytest.importorskip("pandas")
    people = [f"Name {each},{each % 70},{'fm'[each % 2]},{'abc'[each % 3]}" for each in range(300)]
    (tmp_path / "people.csv").write_text("\n".join(["name,age,sex,village", *people]), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    words: dict[str, object] = {"c": lambda *each: list(each), "named": lambda *each, **names: names or list(each)}
    words |= {"frame": lambda **columns: pandas.DataFrame(columns), "module": import_module, "reticulate": None}
    words |= {"library": lambda _: None, "use_virtualenv": lambda _: None, "stopifnot": lambda holds: words.update(held=bool(holds))}
    blocks = re.findall(r"^```r\n(.*?)^```", PAGES["r.md"], re.DOTALL | re.MULTILINE)
    assert "virtualenv_create" in blocks[0]
    for block in blocks[1:]:
        exec(compile(as_reticulate_has_it(block), "r.md", "exec", dont_inherit=True), words)
    assert words["held"] is True
    assert {"report.html", "safe.csv"} <= {path.name for path in tmp_path.iterdir()}
    assert "name" not in words["safe"].columns  # type: ignore[attr-defined]


@pytest.mark.slow
@pytest.mark.parametrize("path", sorted((ROOT / "docs" / "notebooks").glob("*.ipynb")), ids=lambda path: path.stem)
def test_a_notebook_runs(path: Path, tmp_path: Path) -> None:
    """As a reader runs it, from the first cell to the last; what it shows is what its page promises."""
    from nbclient import NotebookClient

    notebook = nbformat.read(path, as_version=4)
    assert all(not cell.outputs for cell in notebook.cells if cell.cell_type == "code"), "a notebook is kept without its outputs"
    NotebookClient(notebook, timeout=1800, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}).execute()
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    for words in SHOWN[path.stem]:
        assert words in str(outputs)
    assert "90125" not in str(outputs)
    assert FILES.get(path.stem, set()) <= {file.name for file in tmp_path.iterdir()}
    keep_pictures(path.stem, tmp_path)


@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.stem)
def test_a_tutorial_and_its_notebook_say_the_same(page: Path) -> None:
    assert nbformat.read(place_of(page), as_version=4) == notebook_of(page), "run python -m tests.notebooks"


def keep_pictures(tutorial: str, folder: Path) -> None:
    """With STATVEIL_SCREENSHOTS=docs/images/tutorials the pictures are made anew: the pages that a tutorial wrote, in a browser."""
    kept = os.environ.get("STATVEIL_SCREENSHOTS")
    if kept and tutorial in PICTURES:
        page, name = PICTURES[tutorial]
        with browser_page("", viewport={"width": 1100, "height": 1000}) as browser:
            browser.goto((folder / page).as_uri())
            browser.wait_for_selector("svg")
            browser.evaluate("document.querySelectorAll('h2')[2].scrollIntoView()")
            browser.screenshot(path=Path(kept).resolve() / name)
