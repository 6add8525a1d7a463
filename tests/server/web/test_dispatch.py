"""Written tables in memory: bounded, the least used given up first."""

from __future__ import annotations

from statveil.server.web.dispatch import CachedTable, TableCache


def written(size: int) -> CachedTable:
    return CachedTable(dataset="firms", body=b"x" * size)


def test_the_least_used_goes_first():
    kept = TableCache(100)
    for name in "abcd":
        kept.keep(name, "json", written(25))
    assert kept.get("a", "json")
    kept.keep("e", "json", written(25))
    assert kept.get("b", "json") is None
    assert all(kept.get(name, "json") for name in "acde")


def test_a_table_that_would_fill_it_is_not_kept():
    kept = TableCache(100)
    kept.keep("a", "json", written(26))
    assert kept.get("a", "json") is None


def test_formats_are_kept_apart_and_counted_once():
    kept = TableCache(100)
    for _ in range(20):
        kept.keep("a", "json", written(20))
        kept.keep("a", "csv", written(20))
    assert kept.get("a", "json")
    assert kept.get("a", "csv")
    assert kept.get("a", "html") is None
