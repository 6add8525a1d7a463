"""A village to prepare."""

from __future__ import annotations

from tests.server.village import Record

UGLY: dict[str, list[Record]] = {
    "one record": [("a", "a", "N1", "food", 7)],
    "one cell": [(name, name, "N1", "food", 10) for name in "abcd"],
    "all zero but one": [("a", "a", "N1", "food", 0), ("b", "b", "S1", "food", 0), ("c", "c", "S1", "metal", 5)],
    "all sensitive": [(f"u{place}", f"u{place}", region, "food", 100 + place) for place, region in enumerate(("N1", "N2", "S1", "S2"))],
    "nothing sensitive": [(f"u{place}", f"u{place}", ("N1", "S1")[place % 2], "food", 100) for place in range(40)],
    "one holding": [(f"u{place}", "all", region, "food", 50) for place, region in enumerate(("N1", "N2", "S1", "S2"))],
    "nine decades": [
        (f"u{place}", f"u{place}", ("N1", "S2")[place % 2], ("food", "metal")[place // 2 % 2], 10**place) for place in range(10)
    ],
    "gains and losses": [(f"u{place}", f"u{place}", ("N1", "S1")[place % 2], "food", (-1) ** place * 90 * place) for place in range(1, 9)],
    "a total of zero": [("a", "a", "N1", "food", 500), ("b", "b", "N1", "food", -500), ("c", "c", "S1", "metal", 30)],
}
