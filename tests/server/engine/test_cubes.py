"""Cubes in the store: prepared once, the first to record decides, nothing half-written, nothing readable without the key."""

from __future__ import annotations

import resource
import signal
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from statveil.core.errors import AuditFailed, BackendError
from statveil.server.engine import cubes
from statveil.server.engine.service import TableService
from statveil.server.store.sql import SqliteStore
from tests.server.village import ask, open_village, village_config


def sealed(folder: Path) -> dict[str, bytes]:
    with sqlite3.connect(folder / "store.sqlite") as connection:
        return dict(connection.execute("SELECT name, body FROM sealed"))


def test_a_cube_is_prepared_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    config = village_config(tmp_path)
    TableService.open(config, config.key(), progress=said.append).close()
    assert said[0].startswith("Preparing village, turnover: ")
    assert any(words.startswith("Preparing village, units: ") for words in said)
    before = sealed(tmp_path)
    monkeypatch.setattr(cubes, "prepare_cube", None)
    open_village(tmp_path).answer(ask("region"))
    assert sealed(tmp_path) == before


def test_of_two_that_prepare_at_once_the_first_to_record_decides(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain, others = cubes.prepare_cube, []

    def overtaken(*given: Any, **told: Any) -> Any:
        if not others:
            others.append(None)
            others[0] = open_village(tmp_path)  # type: ignore[call-overload]
        return plain(*given, **told)

    monkeypatch.setattr(cubes, "prepare_cube", overtaken)
    late = open_village(tmp_path)
    for query in (ask("region", "trade"), ask("region", "trade", measure="units")):
        assert late.answer(query).to_bytes() == others[0].answer(query).to_bytes()
    assert int(late.store.fact("releases") or 0) == 4, "two cubes, two answers"


def test_what_an_edition_left_meanwhile_is_prepared_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """T21: another edition records its senses while this one is prepared without them; then it is prepared anew."""
    plain, calls = cubes.prepare_cube, []

    def overtaken(data: Any, measure: str, **told: Any) -> Any:
        calls.append((data.part.id, measure, told["memory"] is not None))
        if calls == [("village", "turnover", False)]:
            open_village(tmp_path, id="next year")
        return plain(data, measure, **told)

    monkeypatch.setattr(cubes, "prepare_cube", overtaken)
    open_village(tmp_path)
    assert [(measure, remembers) for name, measure, remembers in calls if name == "village"] == [
        ("turnover", False), ("turnover", True), ("units", True),
    ]  # fmt: skip


def test_a_full_disk_leaves_no_half_of_a_cube(tmp_path: Path) -> None:
    """F04 while preparing: a 503 and nothing stored; with room again it is prepared."""
    SqliteStore(tmp_path / "store.sqlite").fact("begin it")
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        config = village_config(tmp_path)
        resource.setrlimit(resource.RLIMIT_FSIZE, (40_960, hard))
        with pytest.raises(BackendError):
            TableService.open(config, config.key())
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, before)
    found = sealed(tmp_path)
    assert any(name.startswith("cube ") for name in found) == ("memory" in found)
    assert len(found) < 4
    open_village(tmp_path).answer(ask("region"))
    assert len(sealed(tmp_path)) == 4


def test_what_is_stored_cannot_be_read_without_the_key(tmp_path: Path) -> None:
    """T26: below the depth a cube holds numbers that nobody may see."""
    service = open_village(tmp_path, depth=1)
    released = service.cube("village", "turnover").released.astype("<i8").tobytes()
    for body in sealed(tmp_path).values():
        assert b"statveil" not in body
        assert released[:16] not in body


def test_public_totals_that_cannot_be_held_are_told_as_that(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*given: Any, **told: Any) -> Any:
        raise AuditFailed("The cube fails.", hint="Report this.")

    monkeypatch.setattr(cubes, "prepare_cube", failing)
    with pytest.raises(AuditFailed, match="Report this"):
        open_village(tmp_path)
    with pytest.raises(AuditFailed, match="give them a distance"):
        open_village(tmp_path, id="held", public=[{"measure": "turnover"}])
