"""What the server tells at its start: accuracy, and scores of attacks on its own dataset."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from statveil.audit.attacks.verdict import SuiteReport, Threat, judged, not_applicable
from statveil.core.errors import FormatError
from statveil.core.secret import new_key_file
from statveil.server.engine.restart import fingerprint
from statveil.server.engine.scores import ADVICE, WARNING, accuracy_lines, keep_scores, known_scores, scores_file
from tests.server.village import VILLAGE, open_village, village_config, write_village

T07 = Threat(id="T07", name="differences", does="", mark="")
T20 = Threat(id="T20", name="side channels", does="", mark="")
FOUND = SuiteReport(
    target="village",
    verdicts=(judged(T07, passed=False, number="12 of 15 records", figures={}), not_applicable(T20, "It has no clock.")),
    facts={},
)
CONFIG = Path("server.toml")


def test_a_dataset_that_was_not_tried_has_no_scores_and_gets_no_others(tmp_path: Path) -> None:
    told = "Attacks on dataset village: not measured yet. Run: statveil serve server.toml --evaluate"
    assert known_scores(village_config(tmp_path), CONFIG) == [told]
    assert known_scores(village_config(tmp_path, mode="section4"), CONFIG) == [WARNING, ADVICE, told]


def test_scores_are_those_of_this_dataset(tmp_path: Path) -> None:
    config = village_config(tmp_path)
    keep_scores(config, config.datasets[0], FOUND)
    assert known_scores(config, CONFIG) == [
        "Attacks on dataset village as it is now:",
        "  T07  failed          differences: 12 of 15 records",
        "  T20  not applicable  side channels: It has no clock.",
    ]
    assert "as it is now" in known_scores(village_config(tmp_path, label="The village"), CONFIG)[0]


def test_the_start_tells_how_accurate_the_numbers_are(tmp_path: Path) -> None:
    first, turnover, units = accuracy_lines(open_village(tmp_path))
    assert first == "Dataset village, mode cube. Change of cells that are not sensitive, on average:"
    assert re.fullmatch(r"  turnover: [\d.]+%; total [\d.]+%; dimensions: 1 shown [\d.]+%, 2 shown [\d.]+%", turnover)
    assert units.startswith("  units: ")


@pytest.mark.parametrize("what", ["records", "trees", "rules", "mode"])
def test_what_changes_the_numbers_unsays_the_scores(tmp_path: Path, what: str) -> None:
    config = village_config(tmp_path)
    keep_scores(config, config.datasets[0], FOUND)
    if what == "records":
        write_village(tmp_path, VILLAGE[:-1])
    if what == "trees":
        (tmp_path / "regions.csv").write_text("code,parent\nN1,Total\nN2,Total\nS1,Total\nS2,Total\n", encoding="utf-8")
    if what == "rules":
        config = village_config(tmp_path, rule=[{"type": "p-percent", "p": 15}])
    if what == "mode":
        config = village_config(tmp_path, mode="section4")
    assert "not measured yet" in known_scores(config, CONFIG)[-1]


def test_the_fingerprint_of_the_records_is_keyed(tmp_path: Path) -> None:
    """A plain hash in the state folder would let guesses of the records be checked."""
    config = village_config(tmp_path, mode="section4")
    one = fingerprint(config, config.datasets[0], config.key())
    assert fingerprint(config, config.datasets[0], config.key()) == one
    (tmp_path / "key").unlink()
    new_key_file(tmp_path / "key")
    assert fingerprint(config, config.datasets[0], config.key()) != one


def test_a_file_that_is_no_file_of_scores_is_refused(tmp_path: Path) -> None:
    config = village_config(tmp_path, mode="section4")
    scores_file(config).parent.mkdir()
    scores_file(config).write_text("nothing", encoding="utf-8")
    with pytest.raises(FormatError, match="cannot be read"):
        known_scores(config, CONFIG)
