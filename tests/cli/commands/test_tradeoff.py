"""`statveil tradeoff`: the folder it writes, the point it publishes, and what it refuses."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from typer.testing import Result

from tests.cli import stories

RECORDS = """region,trade,firm,turnover
north,baker,a,500
north,baker,b,320
north,vet,c,900
north,smith,d,410
north,smith,e,380
north,smith,f,50
south,baker,g,700
south,baker,h,640
south,baker,i,95
south,vet,j,130
south,vet,k,125
south,vet,l,110
south,smith,m,820
south,smith,n,60
west,baker,o,310
west,vet,p,220
west,vet,q,205
west,smith,r,90
west,smith,s,85
west,smith,t,80
"""

JOB = """
[data]
file = "firms.csv"

[table]
name = "turnover"
measure = "turnover"
dimensions = { region = "flat", trade = "flat" }

[[rule]]
type = "p-percent"
p = 15

[limits]
seconds = 60

[tradeoff]
points = 1
"""

SYSTEM = """0
5
0 10.0 1.0 u 0 20 3 3 0
1 12.0 1.0 s 0 24 0 0 0
2 30.0 1.0 u 0 60 9 9 0
3 8.0 1.0 s 0 16 0 0 0
4 60.0 1.0 s 0 120 0 0 0
1
0.0 5 : 0 (1) 1 (1) 2 (1) 3 (1) 4 (-1)
"""


def run(*arguments: str | Path) -> Result:
    result = stories.run(*arguments)
    assert "Traceback" not in result.output
    return result


@pytest.fixture(scope="module")
def traded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A job's front with the recommended point released."""
    folder = tmp_path_factory.mktemp("traded")
    (folder / "firms.csv").write_text(RECORDS, encoding="utf-8")
    (folder / "job.toml").write_text(JOB, encoding="utf-8")
    result = run("tradeoff", folder / "job.toml", "--publish", "recommended", "--json")
    assert result.exit_code == 0, result.output
    (folder / "told.json").write_text(result.stdout, encoding="utf-8")
    return folder


@pytest.mark.slow
def test_the_folder_holds_page_front_and_release(traded: Path) -> None:
    out = traded / "job-tradeoff"
    assert sorted(path.name for path in out.iterdir()) == ["internal", "release", "run.json"]
    assert sorted(path.name for path in (out / "internal").iterdir()) == ["front.csv", "front.json", "tradeoff.html"]
    assert (out / "internal").stat().st_mode & 0o077 == 0
    told = json.loads((traded / "told.json").read_text(encoding="utf-8"))
    assert told["published"] == told["recommended"]
    assert told["kept"] == ["mean, variance, correlation, slope of the sensitive cells"]
    assert {Path(path).exists() for path in told["paths"].values()} == {True}
    with (out / "internal" / "front.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["change"]) for row in rows] == sorted(float(row["change"]) for row in rows)


def test_the_release_is_audited_from_the_records_up(traded: Path) -> None:
    result = run("audit", traded / "job-tradeoff" / "release")
    assert result.exit_code == 0, result.output
    assert "The release is sound." in result.output


@pytest.mark.slow
def test_the_job_in_the_release_makes_it_again(traded: Path) -> None:
    release = traded / "job-tradeoff" / "release"
    job = traded / "again.toml"
    job.write_text((release / "job.toml").read_text(encoding="utf-8"), encoding="utf-8")
    result = run("protect", job, "--out", traded / "again")
    assert result.exit_code == 0, result.output
    for name in ("turnover.csv", "turnover.json", "report.html"):
        assert (traded / "again" / "public" / name).read_bytes() == (release / "public" / name).read_bytes()


@pytest.mark.slow
def test_a_release_by_a_trade_off_says_what_became_of_its_statistics(traded: Path) -> None:
    """On the screen, in the internal report and in run.json, as where statistics are kept without a trade-off."""
    job = traded / "told.toml"
    job.write_text(JOB + "\n[output]\ninternal = true\n", encoding="utf-8")
    result = run("protect", job, "--out", traded / "told")
    assert result.exit_code == 0, result.output
    report = (traded / "told" / "internal" / "report-internal.html").read_text(encoding="utf-8")
    for words in ("the sensitive cells: ", "of the trade-off, the recommended one: distortion", "beside the plain table"):
        assert words in result.stdout
        assert words in report
    kept = json.loads((traded / "told" / "run.json").read_text(encoding="utf-8"))["quality"]
    front = json.loads((traded / "job-tradeoff" / "internal" / "front.json").read_text(encoding="utf-8"))
    point = front["points"][front["recommended"] - 1]
    assert kept["front"]["point"] == front["recommended"]
    assert kept["front"]["distortion"] == pytest.approx(point["distortion"])
    assert kept["front"]["plain_distortion"] >= kept["front"]["distortion"]
    assert kept["sets"][0]["slope"] == pytest.approx(point["sets"][0]["slope"])


@pytest.mark.slow
def test_statistics_named_on_the_command_line_are_in_the_released_job(traded: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    asked = ["--over", "all", "--over", "sensitive", "--criteria", "slope,mean", "--publish", "1"]
    assert run("tradeoff", traded / "job.toml", "--out", out, *asked).exit_code == 0
    assert 'slope = ["all", "sensitive"]' in (out / "release" / "job.toml").read_text(encoding="utf-8")
    result = run("audit", out / "release")
    assert result.exit_code == 0, result.output


def test_nothing_confidential_is_in_the_release(traded: Path) -> None:
    public = "".join(path.read_text(encoding="utf-8") for path in (traded / "job-tradeoff/release/public").glob("*.html"))
    assert not any(word in public for word in ("distortion", "recommended", "trade-off", "front"))


def test_an_earlier_trade_off_is_replaced_only_by_force(traded: Path) -> None:
    result = run("tradeoff", traded / "job.toml")
    assert result.exit_code == 2
    assert "--force" in result.output


@pytest.mark.slow
def test_a_linear_system_has_a_front_and_a_solution(tmp_path: Path) -> None:
    (tmp_path / "s.jj").write_text(SYSTEM, encoding="utf-8")
    result = run(
        "tradeoff", tmp_path / "s.jj", "--points", "1", "--criteria", "mean,slope", "--over", "all", "--publish", "1", "--seed", "3"
    )
    assert result.exit_code == 0, result.output
    assert "Publish one of these tables, never two." in result.stdout
    out = tmp_path / "s-tradeoff" / "internal"
    assert sorted(path.name for path in out.iterdir()) == ["front.csv", "front.json", "solution.sol", "tradeoff.html"]
    front = json.loads((out / "front.json").read_text(encoding="utf-8"))
    assert front["kept"] == ["mean, slope of all cells"]
    assert front["seed"] == 3


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--publish", "best"], "Unknown point 'best'"),
        (["--publish", "0"], "Unknown point '0'"),
        (["--seed", "1"], "--seed is for linear systems"),
        (["--weights", "unit"], "--weights is for linear systems"),
        (["--criteria", "mode"], "Unknown criterion 'mode'"),
        (["--points", "0"], "tradeoff.points"),
        (["--over", "nobody"], "names no set of cells"),
    ],
)
def test_a_wrong_option_is_refused_before_the_search(traded: Path, tmp_path: Path, options: list[str], words: str) -> None:
    result = run("tradeoff", traded / "job.toml", "--out", tmp_path / "out", *options)
    assert result.exit_code == 2
    assert words in result.output
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_a_point_that_the_front_lacks_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "s.jj").write_text(SYSTEM, encoding="utf-8")
    result = run("tradeoff", tmp_path / "s.jj", "--points", "1", "--publish", "99", "--out", tmp_path / "out")
    assert result.exit_code == 2
    assert "There is no point 99" in result.output
    assert not (tmp_path / "out").exists()


def test_a_repair_and_a_trade_off_exclude_each_other(traded: Path, tmp_path: Path) -> None:
    job = traded / "both.toml"
    job.write_text(JOB + "\n[repair]\n", encoding="utf-8")
    result = run("tradeoff", job, "--out", tmp_path / "out")
    assert result.exit_code == 2
    assert "Leave out [repair] or [tradeoff]" in result.output
