"""What the service promises: the same numbers for ever, nothing below the depth, nothing that is not in its store."""

from __future__ import annotations

import sqlite3
import zlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from statveil.core.errors import AuditFailed, BackendError, InputError
from tests.server.engine.asked import make, value
from tests.server.village import VILLAGE, ask, open_village


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


def test_answers_and_errors_are_the_same_under_every_key(tmp_path: Path) -> None:
    """What can be asked is arithmetic on the request and the configuration: no answer and no error tells about the records."""
    queries = [
        ask(*dimensions, measure=measure, filters=filters)
        for measure in ("turnover", "units", "profit")
        for dimensions in (("region",), ("trade",), ("region", "trade"), ("region:part", "trade"), ("region=N9",))
        for filters in ({}, {"trade": ("food",)}, {"region": ("N1", "S1")}, {"region": ("N", "N1")})
        if not any(name in dimension for name in filters for dimension in dimensions)
    ]
    patterns = []
    for number in range(3):
        service, told = open_village(make(tmp_path / str(number)), depth=1), []
        for query in queries:
            try:
                told.append(service.answer(query).hash[:0])
            except InputError as error:
                told.append(str(error))
        patterns.append(told)
    assert patterns[0] == patterns[1] == patterns[2]
    assert {"", *patterns[0]} == set(patterns[0])
    assert any("at most 1" in words for words in patterns[0])


def test_what_lies_below_the_depth_is_in_no_table(tmp_path: Path) -> None:
    service = open_village(tmp_path, lowest={"region": "part"}, depth=1)
    described = service.datasets["village"]
    assert described.depth == 1
    assert described.dimensions[0].codes == ("Total", "N", "S")
    assert service.answer(ask("region")).dimensions[0].codes == ("Total", "N", "S")
    with pytest.raises(InputError, match="no code 'N1'"):
        service.answer(ask("region=N1"))
    with pytest.raises(InputError, match="at most 1"):
        service.answer(ask("region", "trade"))
    with pytest.raises(InputError, match="at most 1"):
        service.answer(ask("region", filters={"trade": ("food",)}))


def test_a_public_total_is_held(tmp_path: Path) -> None:
    total = sum(record[-1] for record in VILLAGE)
    (tmp_path / "key").write_text("01" * 32)  # so few cells cannot hold it under every key
    (tmp_path / "key").chmod(0o600)
    answer = open_village(tmp_path, public=[{"measure": "turnover", "within": 40}]).answer(ask("region", "trade"))
    assert abs(value(answer, "Total", "Total") - total) <= 40
    assert abs(value(answer, "N1", "metal") - 900) >= 90


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


def test_two_workers_that_solve_at_once_agree(tmp_path: Path) -> None:
    """F01: the second has solved before the first has recorded; what is recorded wins."""
    slow, quick = open_village(tmp_path, mode="section4"), open_village(tmp_path, mode="section4")
    answers: list[bytes] = []
    plain = slow._solver

    def interrupted(*given: object, **told: object) -> object:
        answers.append(quick.answer(ask("region", "trade")).to_bytes())
        return plain(*given, **told) + 0

    slow._solver = interrupted  # type: ignore[assignment]
    assert slow.answer(ask("region", "trade")).to_bytes() == answers[0]


def test_counts_of_one_and_two_are_never_published(tmp_path: Path) -> None:
    """T24."""
    for mode in ("cube", "section4"):
        (tmp_path / mode).mkdir()
        answer = open_village(tmp_path / mode, mode=mode).answer(ask("region", "trade", measure="units"))
        assert not np.isin(answer.values, [1, 2]).any()
        assert (answer.values >= 0).all()


def test_nothing_is_answered_that_is_not_in_the_store(tmp_path: Path) -> None:
    service = open_village(tmp_path)
    service.answer(ask("region", "trade"))
    with sqlite3.connect(tmp_path / "store.sqlite") as connection:
        assert connection.execute("SELECT count(*) FROM answers").fetchone() == (1,)
        assert connection.execute("SELECT count(*) FROM sealed").fetchone() == (4,), "two cubes, the memory, the description"
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
    service = open_village(tmp_path, mode="section4")
    hash_ = service.answer(ask("region")).hash
    service.answer(ask("trade"))
    with sqlite3.connect(tmp_path / "store.sqlite") as connection:
        body = connection.execute("SELECT body FROM tables ORDER BY rowid DESC LIMIT 1").fetchone()
        connection.execute("UPDATE tables SET body = ? WHERE hash = (SELECT base FROM answers WHERE hash = ?)", (body[0], hash_))
    with pytest.raises((AuditFailed, IndexError)):
        open_village(tmp_path, mode="section4").stored(hash_)
    with sqlite3.connect(tmp_path / "store.sqlite") as connection:
        connection.execute("DELETE FROM tables")
    with pytest.raises(BackendError, match="lost its table"):
        open_village(tmp_path, mode="section4").stored(hash_)


def test_a_cube_that_was_tampered_with_is_not_served(tmp_path: Path) -> None:
    open_village(tmp_path).close()
    with sqlite3.connect(tmp_path / "store.sqlite") as connection:
        (name, body), *_ = connection.execute("SELECT name, body FROM sealed WHERE name LIKE 'cube %'").fetchall()
        connection.execute("UPDATE sealed SET body = ? WHERE name = ?", (body[:-1] + bytes([body[-1] ^ 1]), name))
    with pytest.raises(BackendError, match="has changed"):
        open_village(tmp_path)


def test_another_compression_changes_nothing_that_was_answered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The bytes of deflate are its own affair, and differ between versions of it."""
    hash_ = open_village(tmp_path).answer(ask("region")).hash
    plain = zlib.compress
    monkeypatch.setattr(zlib, "compress", lambda content, level: plain(b"other " + content, 9))
    assert open_village(tmp_path).stored(hash_) is not None


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
        wrong = plain(*given, **told).copy()
        wrong[0] += 1
        return wrong

    service._solver = lying
    with pytest.raises(AuditFailed) as refused:
        service.answer(ask("region", "trade"))
    assert "sensitive" not in str(refused.value)
    with sqlite3.connect(tmp_path / "store.sqlite") as connection:
        assert connection.execute("SELECT (SELECT count(*) FROM tables) + (SELECT count(*) FROM answers)").fetchone() == (0,)
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
    with pytest.raises(InputError, match="not open as a filter"):
        open_village(tmp_path, filters=[]).answer(ask("region", filters={"trade": ("food",)}))


def test_readers_learn_what_they_may_ask_and_nothing_else(tmp_path: Path) -> None:
    described = open_village(tmp_path).datasets["village"]
    assert [level.id for level in described.dimensions[0].levels] == ["part", "region"]
    assert described.dimensions[0].parents[0]["N1"] == "N"
    assert [measure.id for measure in described.measures] == ["turnover", "units"]
    assert described.cells == 200_000
    assert described.version == open_village(tmp_path).datasets["village"].version
