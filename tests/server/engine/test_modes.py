"""The modes side by side, and what the server tells of mode section4 at its start."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from statveil.audit.attacks.verdict import SuiteReport, Threat, judged, not_applicable
from statveil.core.errors import FormatError
from statveil.core.secret import new_key_file
from statveil.jobs.server_config import read_config
from statveil.server.demo import write_demo
from statveil.server.engine import modes
from statveil.server.engine.modes import EXAMPLE, compare, evaluation, fingerprint, keep_scores, scores_file, section4_scores
from statveil.server.engine.service import TableService, exact_cells
from statveil.server.workers.start import _notes
from tests.server.village import VILLAGE, ask, village_config, write_village

T07 = Threat(id="T07", name="differences", does="", mark="")
T20 = Threat(id="T20", name="side channels", does="", mark="")
FOUND = SuiteReport(
    target="village",
    verdicts=(judged(T07, passed=False, number="12 of 15 records", figures={}), not_applicable(T20, "It has no clock.")),
    facts={},
)
CONFIG = Path("server.toml")


def test_a_dataset_that_was_not_tried_has_no_scores_and_the_example_says_what_it_is(tmp_path: Path) -> None:
    lines = section4_scores(village_config(tmp_path, mode="section4"), CONFIG)
    assert lines[0].startswith("WARNING")
    assert lines[1] == "Attacks on dataset village: not measured yet. Run: statveil check server.toml --dataset village"
    assert lines[2].startswith("On 100,000 invented records (python benchmarks/attacks.py")
    assert sum(line.startswith("  T") for line in lines) == 23


def test_scores_are_those_of_this_dataset(tmp_path: Path) -> None:
    config = village_config(tmp_path, mode="section4")
    keep_scores(config, config.datasets[0], FOUND)
    assert section4_scores(config, CONFIG)[1:-1] == [
        "Attacks on dataset village as it is now:",
        "  T07  failed          differences: 12 of 15 records",
        "  T20  not applicable  side channels: It has no clock.",
    ]
    assert _notes(config, CONFIG)[1:] == section4_scores(config, CONFIG)


def test_scores_measured_in_the_papers_mode_before_it_is_switched_on_count(tmp_path: Path) -> None:
    config = village_config(tmp_path)
    assert section4_scores(config, CONFIG) == []
    keep_scores(config, config.datasets[0], FOUND)
    assert "as it is now" in section4_scores(village_config(tmp_path, mode="section4", label="The village"), CONFIG)[1]


@pytest.mark.parametrize("what", ["records", "trees", "rules"])
def test_what_changes_the_numbers_unsays_the_scores(tmp_path: Path, what: str) -> None:
    config = village_config(tmp_path, mode="section4")
    keep_scores(config, config.datasets[0], FOUND)
    if what == "records":
        write_village(tmp_path, VILLAGE[:-1])
    if what == "trees":
        (tmp_path / "regions.csv").write_text("code,parent\nN1,Total\nN2,Total\nS1,Total\nS2,Total\n", encoding="utf-8")
    if what == "rules":
        config = village_config(tmp_path, mode="section4", rule=[{"type": "p-percent", "p": 15}])
    assert "not measured yet" in section4_scores(config, CONFIG)[1]


def test_the_fingerprint_of_the_records_is_keyed(tmp_path: Path) -> None:
    """A plain hash in the state folder would let guesses of the records be checked."""
    config = village_config(tmp_path, mode="section4")
    one = fingerprint(config, config.datasets[0])
    assert fingerprint(config, config.datasets[0]) == one
    (tmp_path / "key").unlink()
    new_key_file(tmp_path / "key")
    assert fingerprint(config, config.datasets[0]) != one


def test_a_file_that_is_no_file_of_scores_is_refused(tmp_path: Path) -> None:
    config = village_config(tmp_path, mode="section4")
    scores_file(config).parent.mkdir()
    scores_file(config).write_text("nothing", encoding="utf-8")
    with pytest.raises(FormatError, match="cannot be read"):
        section4_scores(config, CONFIG)


def test_the_example_is_that_of_a_documented_command() -> None:
    content = json.loads(EXAMPLE.read_text(encoding="utf-8"))
    verdict = {each["id"]: each["verdict"] for each in content["scores"]}
    assert content["command"].startswith("python benchmarks/attacks.py")
    assert set(verdict) == {f"T{number:02}" for number in range(1, 25)} - {"T16"}
    assert verdict["T02"] == verdict["T03"] == "passed"
    assert "failed" in verdict.values()


@pytest.mark.slow
def test_the_office_sees_both_modes_side_by_side(tmp_path: Path) -> None:
    path = write_demo(tmp_path, records=600)
    figures = compare(read_config(path))
    assert figures["anchored"]["answered"] > 10
    assert figures["anchored"]["refused"] == 0
    assert figures["section4"]["total_change"] < figures["anchored"]["total_change"]
    assert not (tmp_path / "store.sqlite").exists()
    config = village_config(tmp_path)
    true, reference, sensitive = exact_cells(TableService.open(config, config.key()), ask("trade"))
    assert true.tolist() == [sum(record[-1] for record in VILLAGE), 2605, 3490]
    assert reference[0] == reference[1:].sum()
    assert not sensitive.any()


def test_the_evaluation_can_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(modes, "TUNING", modes.TUNING._replace(most_tables=3))
    text = evaluation(write_demo(tmp_path, records=200))
    assert "anchored    section4" in text
    assert "tables answered" in text
