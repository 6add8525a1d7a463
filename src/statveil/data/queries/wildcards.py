"""The audit's own grouped counts of a file in which a blank matches every value, over the kept table `coded_after`."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from statveil.data.engines import Session


def keep_cells(session: Session, fields: Sequence[str]) -> pa.Table:
    """Keep `cells`, the different values of these fields with their records; each pattern of blanks with its cells and records."""
    listed = ", ".join(fields)
    blank = " + ".join(f"(CASE WHEN {name} IS NULL THEN {1 << place} ELSE 0 END)" for place, name in enumerate(fields))
    sums = f"CAST({blank} AS BIGINT) AS blank, CAST(sum(records) AS BIGINT) AS records"
    session.keep("cells", f"SELECT {listed}, {sums} FROM coded_after GROUP BY {listed}")
    return session.query("SELECT blank, count(*) AS cells, CAST(sum(records) AS BIGINT) AS records FROM cells GROUP BY blank")


def doubtful_cells(session: Session, fields: Sequence[str], threshold: int, within: pa.Table | None) -> pa.Table:
    """Cells, of those `within` if given, whose own group is too small to be safe without the matches of a blank."""
    asked = f"SELECT *, CAST(0 AS BIGINT) AS total FROM cells a WHERE records < {threshold}"
    if within is not None:
        session.lend("within_lent", within)
        same = " AND ".join(f"a.{name} IS NOT DISTINCT FROM b.{name}" for name in fields)
        asked += f" AND EXISTS (SELECT 1 FROM within_lent b WHERE {same})"
    return session.query(asked)


def keep_others(session: Session, fields: Sequence[str], pattern: int) -> None:
    """Keep `others`, the records of all cells by the fields that a pattern shows, apart by what they share with it (their kind)."""
    shown = [name for place, name in enumerate(fields) if not pattern >> place & 1]
    grouped = ", ".join([*shown, "kind"])
    seen = f"SELECT *, blank | {pattern} AS kind FROM cells"
    session.keep("others", f"SELECT {grouped}, CAST(sum(records) AS BIGINT) AS n FROM ({seen}) GROUP BY {grouped}")


def still_doubtful(session: Session, fields: Sequence[str], threshold: int, doubtful: pa.Table, kinds: Sequence[int]) -> pa.Table:
    """Add the matching records of these kinds (the fields that they and the pattern do not share); who has enough is out."""
    session.lend("doubtful", doubtful)
    joins = []
    for number, kind in enumerate(kinds):
        agree = [f"a.{name} = o{number}.{name}" for place, name in enumerate(fields) if not kind >> place & 1]
        joins.append(f"LEFT JOIN (SELECT * FROM others WHERE kind = {kind}) o{number} ON {' AND '.join(agree) or 'true'}")
    total = " + ".join(["a.total", *(f"coalesce(o{number}.n, 0)" for number in range(len(kinds)))])
    more = f"SELECT a.* REPLACE ({total} AS total) FROM doubtful a {' '.join(joins)}"
    return session.query(f"SELECT * FROM ({more}) WHERE total < {threshold}")
