"""How fast a key may ask, over all processes."""

from __future__ import annotations

import multiprocessing
from multiprocessing.queues import Queue
from pathlib import Path

import pytest

from statveil.server.web import rate_limit
from statveil.server.web.rate_limit import Allowance, RateLimiter

TEN = Allowance(requests=10, seconds=60)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [1_000.0]
    monkeypatch.setattr(rate_limit.time, "time", lambda: now[0])
    return now


def test_ten_at_once_then_one_every_six_seconds(tmp_path: Path, clock: list[float]):
    limiter = RateLimiter(tmp_path / "rate", TEN)
    assert [limiter.take("a").allowed for _ in range(12)] == [True] * 10 + [False] * 2
    refused = limiter.take("a")
    assert (refused.left, refused.retry_after) == (0, 6)
    clock[0] += 5.9
    assert not limiter.take("a").allowed
    clock[0] += 0.2
    assert limiter.take("a").allowed, "being refused in between costs nothing"
    clock[0] += 3_600
    assert limiter.take("a").left == 9, "a bucket does not overflow"


def test_each_caller_has_a_bucket(tmp_path: Path, clock: list[float]):
    limiter = RateLimiter(tmp_path / "rate", TEN)
    for _ in range(10):
        limiter.take("a")
    assert not limiter.take("a").allowed
    assert limiter.take("b").allowed


def test_the_headers_tell_how_it_stands(tmp_path: Path, clock: list[float]):
    limiter = RateLimiter(tmp_path / "rate", TEN)
    for _ in range(4):
        taken = limiter.take("a")
    assert taken.headers() == {
        "RateLimit-Limit": "10",
        "RateLimit-Remaining": "6",
        "RateLimit-Reset": "24",
        "RateLimit-Policy": "10;w=60",
    }


def test_a_clock_put_back_gives_nothing_away(tmp_path: Path, clock: list[float]):
    limiter = RateLimiter(tmp_path / "rate", TEN)
    for _ in range(10):
        limiter.take("a")
    clock[0] -= 500
    assert not limiter.take("a").allowed
    clock[0] += 12
    assert limiter.take("a").allowed


def take_twenty(path: Path, counted: Queue[int]) -> None:
    limiter = RateLimiter(path, Allowance(requests=30, seconds=100_000))
    counted.put(sum(limiter.take("a").allowed for _ in range(20)))


@pytest.mark.slow
def test_processes_share_the_bucket(tmp_path: Path):
    context = multiprocessing.get_context("fork")
    RateLimiter(tmp_path / "rate", TEN).close()
    counted: Queue[int] = context.Queue()
    takers = [context.Process(target=take_twenty, args=(tmp_path / "rate", counted)) for _ in range(3)]
    for taker in takers:
        taker.start()
    for taker in takers:
        taker.join()
    assert sum(counted.get() for _ in takers) == 30
