from __future__ import annotations

import sqlite3
import zlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from statveil.core.errors import AuditFailed, BackendError, DisclosureRefused, InputError
from statveil.core.provenance import sha256
from statveil.server.engine import service as service_module
from statveil.server.engine.answer import AnsweredTable
from statveil.server.engine.service import TableService
from tests.server.village import VILLAGE, ask, open_village


def value(answer: AnsweredTable, *codes: str) -> int:
    return int(answer.values[tuple(dimension.codes.index(code) for dimension, code in zip(answer.dimensions, codes, strict=True))])


def test_an_answer_is_additive_and_labelled(tmp_path: Path) -> None:
    answer = open_village(tmp_path).answer(ask("region", "trade"))
    assert [dimension.id for dimension in answer.dimensions] == ["region", "trade"]
    assert answer.dimensions[0].codes == ("Total", "N", "N1", "N2", "S", "S1", "S2")
    assert answer.dimensions[0].parents == (None, "Total", "N", "N", "Total", "S", "S")
    assert value(answer, "Total", "Total") == value(answer, "N", "Total") + value(answer, "S", "Total")
    assert value(answer, "N1", "Total") == value(answer, "N1", "food") + value(answer, "N1", "metal")
    assert value(answer, "S2", "metal") == 0
    assert not answer.missing.any()


def test_the_smith_is_protected_in_every_table_he_is_in(tmp_path: Path) -> None:
    """T03, T09: the same number wherever the same cell stands, whatever is shown."""
    service = open_village(tmp_path)
    whole = service.answer(ask("region", "trade"))
    assert abs(value(whole, "N1", "metal") - 900) >= 90
    slice_ = service.answer(ask("region=N1", "trade=metal", totals=False))
    assert slice_.values.tolist() == [[value(whole, "N1", "metal")]]
    filtered = service.answer(ask("region", filters={"trade": ("metal",)}))
    assert value(filtered, "N1") == value(whole, "N1", "metal")
    assert filtered.filters == (("trade", ("metal",)),)
    north = service.answer(ask("trade", filters={"region": ("N",)}))
    assert value(north, "metal") == value(whole, "N", "metal")


def test_a_filter_with_several_codes_is_refused_because_nobody_judged_their_sum(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="several codes"):
        open_village(tmp_path).answer(ask("trade", filters={"region": ("N1", "S1")}))


def test_levels_on_different_days_agree(tmp_path: Path) -> None:
    """T09, T10: parents asked first or last, shown or not, are the sums of their children."""
    service = open_village(tmp_path)
    parts = service.answer(ask("region:part"))
    children = service.answer(ask("region", totals=False))
    assert value(parts, "N") == value(children, "N1") + value(children, "N2")
    trades = service.answer(ask("trade"))
    assert value(trades, "Total") == value(parts, "Total") == int(children.values.sum())


def test_the_same_request_gives_the_same_bytes_for_ever(tmp_path: Path) -> None:
    """Any order, after a restart, from another worker, whatever was asked in between."""
    first = open_village(tmp_path)
    answer = first.answer(ask("region", "trade")).to_bytes()
    first.answer(ask("region:part", "trade", measure="units"))
    second = open_village(tmp_path, VILLAGE[::-1])
    assert second.answer(ask("trade", "region")).to_bytes() == answer
    assert first.answer(ask("region:region", "trade:lowest")).to_bytes() == answer
    stored = second.stored(first.check(ask("trade", "region")))
    assert stored is not None
    assert stored.to_bytes() == answer


def test_two_workers_that_ask_at_once_agree(tmp_path: Path) -> None:
    """F01: the second has solved before the first has recorded; what is recorded wins."""
    slow, quick = open_village(tmp_path, mode="section4"), open_village(tmp_path, mode="section4")
    answers: list[bytes] = []
    plain = slow._solver

    def interrupted(*given: object, **told: object) -> object:
        if not answers:
            answers.append(quick.answer(ask("region", "trade", measure="units")).to_bytes())
            quick.answer(ask("trade", measure="units"))
        return plain(*given, **told)

    slow._solver = interrupted  # type: ignore[assignment]
    assert slow.answer(ask("region", "trade", measure="units")).to_bytes() == answers[0]


def test_what_another_worker_pinned_meanwhile_is_solved_with(tmp_path: Path) -> None:
    slow, quick = open_village(tmp_path, mode="section4"), open_village(tmp_path, mode="section4")
    calls: list[int] = []
    plain = slow._solver

    def interrupted(*given: object, **told: object) -> object:
        calls.append(1)
        if len(calls) == 1:
            quick.answer(ask("region", measure="units"))
        return plain(*given, **told)

    slow._solver = interrupted  # type: ignore[assignment]
    slow.answer(ask("region", "trade", measure="units"))
    assert len(calls) == 2


def interrupted_often(folder: Path) -> tuple[TableService, list[str]]:
    """A service whose solver is always overtaken by another that records; it could not while the store is locked."""
    slow, quick = (open_village(folder, mode="section4", store={"file": "store.sqlite", "lock_seconds": 0.5}) for _ in range(2))
    plain, left = slow._solver, ["trade", "region:part", "region"]

    def interrupted(*given: object, **told: object) -> object:
        if left:
            quick.answer(ask(left.pop(0), measure="units"))
        return plain(*given, **told)

    slow._solver = interrupted  # type: ignore[assignment]
    return slow, left


def test_no_solver_runs_while_others_wait_for_the_store(tmp_path: Path) -> None:
    slow, left = interrupted_often(tmp_path)
    slow.answer(ask("region", "trade", measure="units"))
    assert left == []


def test_a_table_that_is_always_overtaken_is_a_503_in_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service_module, "TUNING", service_module.TUNING._replace(most_rounds=2))
    slow, _ = interrupted_often(tmp_path)
    with pytest.raises(BackendError, match="faster"):
        slow.answer(ask("region", "trade", measure="units"))
    slow.answer(ask("region", "trade", measure="units"))


def test_all_solving_of_a_table_has_one_limit_of_time(tmp_path: Path) -> None:
    slow, _ = interrupted_often(tmp_path)
    plain, allowed = slow._solver, []

    def timed(*given: object, seconds: float, **told: object) -> object:
        allowed.append(seconds)
        return plain(*given, seconds=seconds, **told)

    slow._solver = timed  # type: ignore[assignment]
    slow.answer(ask("region", "trade", measure="units"))
    assert len(allowed) == 4
    assert 30 >= allowed[0] > allowed[1] > allowed[2] > allowed[3]


def test_counts_of_one_and_two_are_never_published(tmp_path: Path) -> None:
    """T24."""
    for mode in ("anchored", "section4"):
        (tmp_path / mode).mkdir()
        answer = open_village(tmp_path / mode, mode=mode).answer(ask("region", "trade", measure="units"))
        assert not np.isin(answer.values, [1, 2]).any()
        assert (answer.values >= 0).all()


def test_nothing_is_answered_that_is_not_in_the_store(tmp_path: Path) -> None:
    service = open_village(tmp_path)
    answer = service.answer(ask("region", "trade"))
    with sqlite3.connect(tmp_path / "store.sqlite") as connection:
        assert connection.execute("SELECT count(*) FROM answers").fetchone() == (1,)
        assert connection.execute("SELECT count(*) FROM tables").fetchone() == (1,)
        published = {row[0] for row in connection.execute("SELECT value FROM cells")}
    assert set(answer.values.ravel().tolist()) - {0} <= published
    assert service.stored("0" * 64) is None


def test_the_store_holds_no_label_id_or_key(tmp_path: Path) -> None:
    """T26."""
    service = open_village(tmp_path)
    service.answer(ask("region", "trade"))
    service.close()
    content = b"".join(path.read_bytes() for path in tmp_path.glob("store.sqlite*"))
    key = (tmp_path / "key").read_text().strip()
    for secret in ("smith", "foundry", "steel", key):
        assert secret.encode() not in content
    assert bytes.fromhex(key) not in content


def test_a_store_that_was_tampered_with_gives_nothing_out(tmp_path: Path) -> None:
    service = open_village(tmp_path)
    hash_ = service.answer(ask("region")).hash
    with sqlite3.connect(tmp_path / "store.sqlite") as connection:
        other = open_village(tmp_path)
        other.answer(ask("region", measure="units"))
        body = connection.execute("SELECT body FROM tables ORDER BY rowid DESC LIMIT 1").fetchone()
        connection.execute("UPDATE tables SET body = ? WHERE hash = (SELECT base FROM answers WHERE hash = ?)", (body[0], hash_))
    with pytest.raises(AuditFailed, match="has changed"):
        open_village(tmp_path).stored(hash_)
    with sqlite3.connect(tmp_path / "store.sqlite") as connection:
        connection.execute("DELETE FROM tables")
    with pytest.raises(BackendError, match="lost its table"):
        open_village(tmp_path).stored(hash_)


def test_another_compression_changes_nothing_that_was_answered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The bytes of deflate are its own affair, and differ between versions of it."""
    hash_ = open_village(tmp_path).answer(ask("region")).hash
    plain = zlib.compress
    monkeypatch.setattr(zlib, "compress", lambda content, level: plain(b"other " + content, 9))
    assert open_village(tmp_path).stored(hash_) is not None


def test_answers_of_a_store_that_an_older_version_wrote_are_given(tmp_path: Path) -> None:
    service = open_village(tmp_path)
    answer = service.answer(ask("region"))
    with sqlite3.connect(tmp_path / "store.sqlite") as connection:
        connection.execute("UPDATE answers SET digest = ?", (sha256(answer.to_bytes()),))
    assert service.stored(answer.hash) is not None


def test_an_answer_of_a_dataset_that_is_not_seen_is_none(tmp_path: Path) -> None:
    """Also where it could not be given: nobody learns that it is there."""
    service = open_village(tmp_path)
    hash_ = service.answer(ask("region")).hash
    with sqlite3.connect(tmp_path / "store.sqlite") as connection:
        connection.execute("UPDATE answers SET digest = 'changed'")
    assert service.stored(hash_, sees=lambda dataset: dataset != "village") is None
    with pytest.raises(AuditFailed):
        service.stored(hash_)


def test_an_answer_that_the_audit_refuses_is_neither_recorded_nor_given(tmp_path: Path) -> None:
    """A solver that lies by one unit: fail closed."""
    service = open_village(tmp_path, mode="section4")
    plain = service._solver

    def lying(*given: object, **told: object) -> object:
        solved = plain(*given, **told)
        wrong = solved.value.copy()
        wrong[0] += 1
        return replace(solved, value=wrong)

    service._solver = lying
    with pytest.raises(AuditFailed) as refused:
        service.answer(ask("region", "trade"))
    assert "sensitive" not in str(refused.value)
    with sqlite3.connect(tmp_path / "store.sqlite") as connection:
        assert connection.execute("SELECT (SELECT count(*) FROM cells) + (SELECT count(*) FROM answers)").fetchone() == (0,)
    service._solver = plain
    service.answer(ask("region", "trade"))


@pytest.mark.parametrize(
    ("query", "words"),
    [
        (ask("colour"), "no dimension"),
        (ask("region", measure="profit"), "no measure"),
        (replace(ask("region"), dataset="city"), "no dataset"),
    ],
)
def test_what_does_not_exist_is_refused(tmp_path: Path, query: object, words: str) -> None:
    service = open_village(tmp_path)
    with pytest.raises(InputError, match=words):
        service.answer(query)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=words):
        service.check(query)  # type: ignore[arg-type]


def test_a_table_that_is_too_large_and_a_filter_that_is_not_open_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="more than 20 cells"):
        open_village(tmp_path, limits={"cells": 20}).answer(ask("region", "trade"))
    with pytest.raises(DisclosureRefused):
        open_village(tmp_path, filters=[]).answer(ask("region", filters={"trade": ("food",)}))


def test_readers_learn_what_they_may_ask_and_nothing_else(tmp_path: Path) -> None:
    described = open_village(tmp_path).datasets["village"]
    assert [level.id for level in described.dimensions[0].levels] == ["part", "region"]
    assert described.dimensions[0].parents[0]["N1"] == "N"
    assert [measure.id for measure in described.measures] == ["turnover", "units"]
    assert described.cells == 200_000
    assert described.version == open_village(tmp_path).datasets["village"].version
