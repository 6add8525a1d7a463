"""The table service under attack in this process, on a store and with a key of its own."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from statveil.audit.attacks.attacker import Effort
from statveil.audit.attacks.case import Case
from statveil.audit.attacks.public import RequestAxis, TableRequest
from statveil.audit.attacks.suite import ATTACKS, attack_all
from statveil.core.errors import InputError, StatveilError
from statveil.jobs.server_config import ServerConfig, read_config
from statveil.server.attack_target import dataset_part, private_copy, service_case
from statveil_lab.generators.register import register, write_register_server

DIMENSIONS = ("district", "size", "form")
EFFORT = Effort(tables=6, rows=2, sets=6, pairs=10, cells=5, reversals=1)


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> ServerConfig:
    return read_config(write_register_server(tmp_path_factory.mktemp("server"), 1500, dimensions=DIMENSIONS))


@pytest.fixture(scope="module")
def case(config: ServerConfig, tmp_path_factory: pytest.TempPathFactory) -> Case:
    folder = tmp_path_factory.mktemp("private")
    return service_case(private_copy(config, folder), None, folder, effort=EFFORT, reverse=None)


def test_the_truth_is_that_of_the_records(case: Case) -> None:
    table = register(1500)
    assert case.attacker.register.size == 1500
    assert int(case.truth.values["turnover"].sum()) == pa.compute.sum(table["turnover"]).as_py()
    number = case.attacker.journal.ask(TableRequest(axes=(RequestAxis(id="size"),), measure="turnover"))
    assert number is not None
    truth = case.truth_of(number)
    assert truth.value.max() == case.truth.values["turnover"].sum()


def test_the_real_store_and_key_are_left_alone(case: Case, config: ServerConfig) -> None:
    assert case.attacker.journal.answers
    assert not (config.base / "store.sqlite").exists()
    assert not (config.base / "secret.key").exists()


def test_averaging_and_contradictions_find_nothing_in_a_cube(case: Case) -> None:
    report = attack_all(case, target="register", only=("T02", "T03", "T22"))
    assert report["T02"].passed, report["T02"]
    assert report["T03"].passed, report["T03"]
    assert report["T03"].figures["restarts and further workers"] == 2
    assert report["T22"].passed, report["T22"]


def test_another_period_has_the_same_units_and_nearly_the_same_values(case: Case) -> None:
    assert case.operator is not None
    (server, truth), (_, later) = case.operator.periods(2)
    assert server.catalogue.measures == ("turnover",)
    changed = truth.values["turnover"] != later.values["turnover"]
    assert 0.3 < changed.mean() < 1
    large = truth.values["turnover"] > 1000
    assert np.abs(truth.values["turnover"][large] / later.values["turnover"][large] - 1).max() < 0.02


def test_the_paper_s_mode_can_be_tried_beside(config: ServerConfig, tmp_path: Path) -> None:
    private = private_copy(config, tmp_path, mode="section4")
    case = service_case(private, "register", tmp_path, effort=EFFORT, reverse=None)
    assert case.attacker.catalogue.most_change is None
    assert ATTACKS["T02"](case).passed


def test_an_unknown_data_set_is_refused(config: ServerConfig) -> None:
    with pytest.raises(InputError, match="register"):
        dataset_part(config, "people")


def test_a_service_does_not_start_with_another_key(case: Case) -> None:
    assert case.operator is not None
    with pytest.raises(StatveilError):
        case.operator.rekeyed()
