"""The command line: every exit code, no traceback, nothing half-written."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

import statveil.folder
from statveil import errors
from statveil.audit.report import Check
from statveil.cli.app import app
from statveil.cli.display import check_in_words, gap_of, in_words, narrator
from statveil.cli.meanings import MEANINGS
from statveil.job import read_job
from statveil.protect.options import Progress
from statveil.release import Release

VILLAGE = """street,trade,income
A,vet,900
A,baker,100
A,baker,120
A,baker,140
A,baker,90
B,vet,200
B,vet,180
B,vet,210
B,vet,190
B,baker,300
B,baker,310
B,baker,280
B,baker,250
C,vet,150
C,vet,160
C,vet,170
C,vet,140
C,baker,700
C,baker,20
C,baker,10
"""

JOB = """
[data]
file = "village.csv"
[table]
name = "income"
measure = "income"
[table.dimensions]
street = "flat"
trade = "flat"
[[rule]]
type = "p-percent"
p = 10
[[rule]]
type = "minimum-frequency"
n = 3
[limits]
seconds = 20
"""


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, [str(each) for each in arguments])


def told(result: Result) -> str:
    """Everything a user sees; whatever it is, it is no traceback."""
    assert "Traceback" not in result.output
    return result.output


@pytest.fixture
def village(tmp_path: Path) -> Path:
    """A folder with a job whose only vet in street A is sensitive."""
    (tmp_path / "village.csv").write_text(VILLAGE, encoding="utf-8")
    (tmp_path / "job.toml").write_text(JOB, encoding="utf-8")
    return tmp_path


@pytest.fixture(scope="module")
def _released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("village")
    (folder / "village.csv").write_text(VILLAGE, encoding="utf-8")
    (folder / "job.toml").write_text(JOB, encoding="utf-8")
    assert run("protect", folder / "job.toml", "--out", folder / "out", "--internal").exit_code == 0
    return folder


@pytest.fixture
def released(_released: Path, tmp_path: Path) -> Path:
    """A copy of a village with its release in `out`."""
    return Path(shutil.copytree(_released, tmp_path / "copy"))


def failing(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr(statveil.folder, "protect_table", fail)


# -- help ---------------------------------------------------------------------------------------------------------------


def test_help_imports_nothing_heavy() -> None:
    heavy = ["duckdb", "numpy", "pyarrow", "pydantic", "rich", "scipy", "numba", "highspy"]
    code = f"import sys; import statveil.cli.app; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("command", ["", "demo", "protect", "audit", "init", "explain"])
def test_every_command_has_help(command: str) -> None:
    result = run(*filter(None, [command, "--help"]))
    assert result.exit_code == 0
    assert "Usage: " in result.output


def test_the_version_is_told() -> None:
    assert re.fullmatch(r"statveil \d+\.\d+\.\d+\n", run("--version").output)


# -- protect ------------------------------------------------------------------------------------------------------------


def test_protect_writes_what_may_be_published(village: Path) -> None:
    result = run("protect", village / "job.toml", "--out", village / "out")
    assert result.exit_code == 0, result.output
    names = sorted(path.relative_to(village / "out").as_posix() for path in (village / "out").rglob("*") if path.is_file())
    public = ["income.csv", "income.json", "income.parquet", "income.sdmx.csv", "report.html"]
    assert names == ["job.toml", "provenance.json", *(f"public/{name}" for name in public), "run.json"]
    assert (village / "out" / "job.toml").read_text(encoding="utf-8") == JOB
    for name in names:
        assert name in result.output


def test_internal_files_come_only_on_request(released: Path, village: Path) -> None:
    internal = [path.name for path in (released / "out" / "internal").iterdir()]
    assert sorted(internal) == ["income-internal.csv", "report-internal.html"]
    (village / "job.toml").write_text(JOB + "[output]\ninternal = true\nformats = ['csv']\n", encoding="utf-8")
    assert run("protect", village / "job.toml", "--out", village / "out").exit_code == 0
    assert (village / "out" / "internal" / "income-internal.csv").is_file()
    assert not (village / "out" / "public" / "income.parquet").exists()


def test_a_job_writes_the_older_sdmx_csv(village: Path) -> None:
    (village / "job.toml").write_text(JOB + '[output]\nformats = ["csv", "sdmx-csv"]\nsdmx_csv = "1.0"\n', encoding="utf-8")
    assert run("protect", village / "job.toml", "--out", village / "out").exit_code == 0
    assert (village / "out" / "public" / "income.sdmx.csv").read_text().startswith("DATAFLOW,")


def test_the_folder_is_named_after_the_job_by_default(village: Path) -> None:
    assert run("protect", village / "job.toml").exit_code == 0
    assert (village / "job-release" / "public" / "income.csv").is_file()


def test_json_is_one_object_on_stdout_and_lines_on_stderr(village: Path) -> None:
    result = run("protect", village / "job.toml", "--out", village / "out", "--json", "--seconds", "5")
    assert result.exit_code == 0
    outcome = json.loads(result.stdout)
    assert set(outcome) >= {"folder", "paths", "objective", "bound", "gap", "ending", "cells", "seconds", "audit"}
    assert outcome["audit"]["passed"] is True
    assert Path(outcome["paths"]["csv"]).is_file()
    lines = [json.loads(line)["progress"] for line in result.stderr.splitlines()]
    assert {"stage", "seconds", "objective", "bound", "gap", "seconds_left"} == set(lines[0])
    assert read_job(village / "out" / "job.toml").limits().seconds == 5


def test_the_same_job_gives_the_same_bytes(released: Path) -> None:
    assert run("protect", released / "job.toml", "--out", released / "again").exit_code == 0
    for file in [*(released / "again" / "public").iterdir(), released / "again" / "provenance.json"]:
        assert file.read_bytes() == (released / "out" / file.relative_to(released / "again")).read_bytes(), file.name


LINKED = """
[data]
file = "village.csv"
[[table]]
name = "by street"
measure = "income"
decimals = {decimals}
dimensions = {{ street = "flat" }}
[[table]]
name = "by trade"
measure = "income"
decimals = {decimals}
dimensions = {{ trade = "flat", street = {{ total = "Everywhere" }} }}
[[rule]]
type = "p-percent"
p = 10
[[rule]]
type = "manual"
file = "apriori.csv"
"""


@pytest.mark.parametrize("decimals", [-1, 0, 2])
def test_linked_tables_have_a_file_each_and_agree(village: Path, decimals: int) -> None:
    (village / "village.csv").write_text(VILLAGE.replace("A,", "=A,").replace(",vet", ',"vet, cattle"'), encoding="utf-8")
    (village / "apriori.csv").write_text("street,view,status\nB,by street,sensitive\n", encoding="utf-8")
    (village / "job.toml").write_text(LINKED.format(decimals=decimals), encoding="utf-8")
    result = run("protect", village / "job.toml", "--out", village / "out", "--json", "--seconds", "10")
    assert result.exit_code == 0, result.output
    streets, trades = (Path(path) for name, path in json.loads(result.stdout)["paths"].items() if name.startswith("csv "))
    released = dict(line.split(",") for line in streets.read_text(encoding="utf-8").splitlines()[1:])
    for line in trades.read_text(encoding="utf-8").splitlines()[1:]:
        if line.startswith("Total,"):
            _, street, income = line.split(",")
            assert released["Total" if street == "Everywhere" else street] == income
    assert (village / "out" / "public" / "tables-by_street.sdmx.csv").is_file()
    assert "sdmx-csv tables-by_street" in json.loads(result.stdout)["paths"]
    assert run("audit", village / "out").exit_code == 0
    streets.write_text(streets.read_text(encoding="utf-8").replace(f"B,{released['B']}", f"B,{released['C']}"), encoding="utf-8")
    assert run("audit", village / "out").exit_code == 5


def test_the_result_says_how_many_cells_are_sensitive(village: Path) -> None:
    result = run("protect", village / "job.toml", "--out", village / "out")
    assert re.match(r"Protected a table of 12 cells, \d+ of them sensitive, in [\d.]+ s: ", result.stdout), result.stdout
    assert ": 0 checked" not in result.stdout
    assert ": nothing to check\n" in result.stdout


def test_a_table_without_sensitive_cells_is_told_so(village: Path) -> None:
    (village / "job.toml").write_text(JOB.replace("p = 10", "p = 1").replace("n = 3", "n = 1"), encoding="utf-8")
    (village / "village.csv").write_text("street,trade,income\n" + "A,vet,9\nB,vet,9\n" * 9, encoding="utf-8")
    result = run("protect", village / "job.toml", "--out", village / "out")
    assert "Nothing was sensitive; " in told(result)
    assert "best possible" not in result.stdout


# -- where to write -----------------------------------------------------------------------------------------------------


def test_an_earlier_release_is_replaced_only_by_force(released: Path) -> None:
    result = run("protect", released / "job.toml", "--out", released / "out")
    assert result.exit_code == 2
    assert "--force" in told(result)
    assert run("protect", released / "job.toml", "--out", released / "out", "--force").exit_code == 0
    assert not (released / "out" / "internal").exists()


def test_a_folder_with_other_files_is_never_touched(released: Path) -> None:
    (released / "out" / "thesis.tex").write_text("years of work", encoding="utf-8")
    for folder in (released / "out", released):
        result = run("protect", released / "job.toml", "--out", folder, "--force")
        assert result.exit_code == 2
        assert "no release of statveil" in told(result)
    assert (released / "out" / "thesis.tex").is_file()
    assert run("protect", released / "job.toml", "--out", released / "job.toml").exit_code == 2


def test_an_empty_folder_is_used(village: Path) -> None:
    (village / "out").mkdir()
    assert run("protect", village / "job.toml", "--out", village / "out").exit_code == 0


@pytest.mark.parametrize("existing", [True, False])
def test_nothing_is_left_when_the_last_file_fails(village: Path, monkeypatch: pytest.MonkeyPatch, existing: bool) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Release, "to_report", full)
    if existing:
        (village / "out").mkdir()
    result = run("protect", village / "job.toml", "--out", village / "out")
    assert result.exit_code == 2
    assert "No space left on device" in told(result)
    assert (village / "out").exists() is existing
    assert not existing or not list((village / "out").iterdir())


def test_an_earlier_release_survives_a_failure(released: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = {path: path.read_bytes() for path in (released / "out").rglob("*") if path.is_file()}
    failing(monkeypatch, RuntimeError())
    assert run("protect", released / "job.toml", "--out", released / "out", "--force").exit_code == 1
    assert {path: path.read_bytes() for path in (released / "out").rglob("*") if path.is_file()} == before


# -- every exit code ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.InputError("x", hint="y"), 2),
        (errors.InfeasibleProblem("x", hint="y"), 3),
        (errors.OutOfTime("x", hint="y"), 4),
        (errors.AuditFailed("x", hint="y"), 5),
        (errors.SolverFailed("x", hint="y"), 6),
        (errors.DisclosureRefused("x", hint="y"), 7),
        (KeyboardInterrupt(), 130),
    ],
)
def test_every_error_has_its_exit_code(village: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException, code: int) -> None:
    failing(monkeypatch, error)
    result = run("protect", village / "job.toml", "--out", village / "out")
    assert result.exit_code == code
    assert result.stdout == ""
    told(result)
    as_json = run("protect", village / "job.toml", "--out", village / "out", "--json")
    assert as_json.exit_code == code
    assert json.loads(as_json.stdout)["error"]["exit_code"] == code
    assert not (village / "out").exists()


def test_an_internal_error_tells_no_value(village: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    failing(monkeypatch, RuntimeError("the vet earns 900"))
    result = run("protect", village / "job.toml", "--out", village / "out")
    assert result.exit_code == 1
    assert "900" not in told(result)
    assert "--debug" in result.output
    debugged = run("protect", village / "job.toml", "--out", village / "out", "--debug")
    assert isinstance(debugged.exception, RuntimeError)


def test_no_safe_table_exists_when_nothing_else_may_move(village: Path) -> None:
    (village / "job.toml").write_text(JOB + "[protection.bounds]\npercent_up = 0\npercent_down = 0\n", encoding="utf-8")
    result = run("protect", village / "job.toml")
    assert result.exit_code == 3
    assert "InfeasibleProblem" in told(result)


def test_a_missing_package_is_told_before_the_work_begins(village: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statveil.folder, "find_spec", lambda _: None)
    (village / "job.toml").write_text(JOB + '[output]\nformats = ["excel"]\n', encoding="utf-8")
    result = run("protect", village / "job.toml")
    assert result.exit_code == 6
    assert "statveil[excel]" in told(result)


def test_a_wrong_command_line_exits_with_2() -> None:
    assert run("protect").exit_code == 2
    assert run("protekt").exit_code == 2
    assert run("demo", "--records", "none").exit_code == 2


# -- ugly inputs --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"[data\n", "not valid TOML"),
        (b'[data]\nfile = "caf\xe9.csv"\n', "not UTF-8"),
        (b"", "data: is missing"),
        (b"\x00\x01", "not valid TOML"),
        (JOB.replace("measure", "mesure").encode(), "Did you mean 'measure'?"),
        (JOB.replace("village.csv", "hamlet.csv").encode(), "There is no file hamlet.csv"),
        (JOB.replace('measure = "income"', 'measure = "wage"').encode(), "wage"),
        (JOB.replace('measure = "income"', 'measure = "trade"').replace('trade = "flat"\n', "").encode(), "not numbers"),
        (JOB.replace('measure = "income"', 'measure = "trade"').encode(), "'trade' is the measure and cannot be a dimension"),
    ],
)
def test_an_ugly_job_is_refused_in_words(village: Path, content: bytes, words: str) -> None:
    (village / "job.toml").write_bytes(content)
    result = run("protect", village / "job.toml", "--out", village / "out")
    assert result.exit_code == 2
    assert words in told(result)
    assert not (village / "out").exists()


def test_a_job_that_is_not_there_is_refused(tmp_path: Path) -> None:
    assert run("protect", tmp_path / "none.toml").exit_code == 2
    assert run("protect", tmp_path).exit_code == 2


@pytest.mark.parametrize(
    "data", [b"", b"street,trade,income\n", b"\xff\xfe\x00", b"street,trade,income\nA,vet\n", b"street,trade,income\nA,,3\n"]
)
def test_ugly_data_are_refused_in_words(village: Path, data: bytes) -> None:
    (village / "village.csv").write_bytes(data)
    result = run("protect", village / "job.toml", "--out", village / "out")
    assert result.exit_code in (0, 2)
    told(result)


# -- audit --------------------------------------------------------------------------------------------------------------


def test_a_release_passes_its_audit_again(released: Path) -> None:
    result = run("audit", released / "out")
    assert result.exit_code == 0, result.output
    assert "The release is sound." in result.output
    assert json.loads(run("audit", released / "out", "--json").stdout)["audit"]["passed"] is True


def test_one_unit_in_the_public_file_is_found(released: Path) -> None:
    file = released / "out" / "public" / "income.csv"
    lines = file.read_text(encoding="utf-8").splitlines()
    for number in range(1, len(lines)):
        codes, _, value = lines[number].rpartition(",")
        tampered = [*lines[:number], f"{codes},{int(value) + 1}", *lines[number + 1 :]]
        file.write_text("\n".join(tampered) + "\n", encoding="utf-8")
        result = run("audit", released / "out")
        assert result.exit_code == 5, lines[number]
        assert "NOT sound" in told(result)


@pytest.mark.parametrize(
    "tamper",
    [
        lambda lines: [*lines, lines[-1]],
        lambda lines: [*lines, lines[-1].replace("vet", "smith")],
        lambda lines: [line.replace("street", "road") for line in lines],
        lambda lines: [lines[0], *(f"{line}.0" for line in lines[1:])],
        lambda lines: lines[:-1],
        lambda lines: [*lines[:-1], lines[-1] + "x"],
        lambda lines: lines[:1],
        lambda lines: [],
    ],
    ids=["line twice", "unknown code", "other column", "other decimals", "line gone", "no number", "no lines", "empty"],
)
def test_a_file_out_of_shape_is_found(released: Path, tamper: Any) -> None:
    file = released / "out" / "public" / "income.csv"
    file.write_text("\n".join(tamper(file.read_text(encoding="utf-8").splitlines())) + "\n", encoding="utf-8")
    result = run("audit", released / "out")
    assert result.exit_code == 5
    told(result)


def test_an_audit_without_the_records_says_which_checks_are_missing(released: Path) -> None:
    (released / "village.csv").unlink()
    result = run("audit", released / "out")
    assert result.exit_code == 5
    assert "could not be made: sums, protection" in told(result)


def test_an_audit_notices_other_records(released: Path) -> None:
    (released / "village.csv").write_text(VILLAGE + "C,vet,155\n", encoding="utf-8")
    assert run("audit", released / "out").exit_code == 5


@pytest.mark.parametrize("name", ["public/income.csv", "provenance.json"])
def test_an_audit_needs_the_numbers_and_their_hashes(released: Path, name: str) -> None:
    (released / "out" / name).unlink()
    assert run("audit", released / "out").exit_code == 5


def test_an_audit_needs_a_release_folder(released: Path, tmp_path: Path) -> None:
    assert run("audit", tmp_path / "nowhere").exit_code == 2
    assert "run.json" in told(run("audit", released))
    (released / "out" / "run.json").write_text("{}", encoding="utf-8")
    assert run("audit", released / "out").exit_code == 2


def test_a_village_moved_as_a_whole_is_audited_where_it_is(released: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    moved = released.rename(tmp_path / "elsewhere")
    monkeypatch.chdir(moved / "out")
    assert run("audit", ".").exit_code == 0


# -- demo, init, explain ------------------------------------------------------------------------------------------------


def test_the_demo_writes_everything_and_can_be_audited_and_repeated(tmp_path: Path) -> None:
    result = run("demo", "--out", tmp_path / "demo", "--records", "400", "--seconds", "4", "--json")
    assert result.exit_code == 0, result.output
    paths = {name: Path(path) for name, path in json.loads(result.stdout)["paths"].items()}
    assert set(paths) == {
        "records",
        "csv",
        "parquet",
        "json-stat",
        "sdmx-csv",
        "report",
        "provenance",
        "internal csv",
        "internal report",
        "job",
        "run",
    }
    assert all(path.is_file() for path in paths.values())
    assert run("audit", tmp_path / "demo").exit_code == 0
    assert run("demo", "--out", tmp_path / "demo", "--records", "400", "--seconds", "4").exit_code == 2
    assert run("protect", tmp_path / "demo" / "job.toml", "--out", tmp_path / "mine", "--seconds", "4").exit_code == 0


def test_init_writes_a_job_once(tmp_path: Path) -> None:
    assert run("init", tmp_path / "mine.toml").exit_code == 0
    assert read_job(tmp_path / "mine.toml").name == "turnover"
    (tmp_path / "mine.toml").write_text("precious", encoding="utf-8")
    result = run("init", tmp_path / "mine.toml")
    assert result.exit_code == 2
    assert "not overwritten" in told(result)
    assert (tmp_path / "mine.toml").read_text(encoding="utf-8") == "precious"
    assert run("init", tmp_path).exit_code == 2
    assert run("init", tmp_path / "no" / "folder.toml").exit_code == 2


def test_every_error_of_the_tree_is_explained() -> None:
    tree = {name for name, kind in vars(errors).items() if isinstance(kind, type) and issubclass(kind, errors.StatveilError)}
    assert set(MEANINGS) == tree - {"StatveilError"}
    for name in MEANINGS:
        assert f"(exit code {getattr(errors, name).exit_code})" in run("explain", name.lower()).output
    assert run("explain").output.count("\n") == len(MEANINGS)


def test_every_exit_code_is_explained() -> None:
    for code in (*range(8), 130):
        assert run("explain", str(code)).exit_code == 0
    assert "AuditFailed" in run("explain", "5").output
    assert run("explain", "99").exit_code == 2
    result = run("explain", "AuditFaild")
    assert result.exit_code == 2
    assert "Did you mean AuditFailed?" in told(result)


# -- progress -----------------------------------------------------------------------------------------------------------


def test_progress_in_words() -> None:
    assert (
        in_words(Progress("flipping", 12.4, 103.0, 100.0, 47.6)) == "flipping          12 s  objective 103  bound 100  gap 3.00%  48 s left"
    )
    assert in_words(Progress("tabulating", 0.0, float("inf"), float("-inf"), float("inf"))) == "tabulating        0 s"


def test_the_last_line_keeps_what_is_known(capsys: pytest.CaptureFixture[str]) -> None:
    with narrator(as_json=True) as tell:
        tell(Progress("tabulating", 0.0, float("inf"), 0.0, 60.0))
        tell(Progress("flipping", 1.0, 103.0, 100.0, 59.0))
        tell(Progress("audited", 0.0, float("inf"), 0.0, 60.0))
    lines = [json.loads(line)["progress"] for line in capsys.readouterr().err.splitlines()]
    assert [(line["stage"], line["objective"], line["bound"]) for line in lines] == [
        ("tabulating", None, 0.0),
        ("flipping", 103.0, 100.0),
        ("audited", 103.0, 100.0),
    ]
    assert lines[-1]["seconds_left"] == 0


@pytest.mark.parametrize(("checked", "faults", "words"), [
    (0, 0, "passed  All is well: nothing to check"),
    (1, 1, "FAILED  All is well: 1 checked, 1 fault"),
    (1200, 2, "FAILED  All is well: 1,200 checked, 2 faults"),
    (3, 0, "passed  All is well: 3 checked, no faults"),
])  # fmt: skip
def test_a_check_in_words(checked: int, faults: int, words: str) -> None:
    assert check_in_words(Check(name="x", words="All is well", checked=checked, faults=faults)) == words


def test_the_gap_is_unknown_until_both_ends_are_known() -> None:
    assert gap_of(float("inf"), 3.0) == float("inf")
    assert gap_of(3.0, 0.0) == float("inf")
    assert gap_of(0.0, 0.0) == 0.0


def test_a_terminal_shows_a_live_line(village: Path) -> None:
    pty = pytest.importorskip("pty")
    main, side = pty.openpty()
    command = [
        sys.executable,
        "-c",
        "from statveil.cli import main; main()",
        "protect",
        str(village / "job.toml"),
        "--out",
        str(village / "out"),
    ]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=side, text=True, env={**os.environ, "TERM": "xterm", "COLUMNS": "100"}
    ) as process:
        stdout, _ = process.communicate(timeout=120)
    os.close(side)
    shown = os.read(main, 100_000).decode()
    os.close(main)
    assert process.returncode == 0
    assert "Protected" in stdout
    assert "\x1b[" in shown
