"""All records with all they hold, in an order that only their content decides."""

from __future__ import annotations

import pyarrow as pa

from statveil.data.engines import Session
from statveil.data.microdata import Microdata
from statveil.data.queries.columns import fenced


def records_by_content(session: Session, data: Microdata) -> tuple[pa.Table, list[str]]:
    """The records, in the order of digests of what they hold, and these digests: the order of the file plays no part."""
    digest = f"md5(concat({', '.join(fenced(data.engine, name) for name in data.columns)}))"
    found = session.query(f"SELECT *, {digest} AS digest FROM records ORDER BY digest")
    return found.drop_columns(["digest"]).rename_columns(list(data.columns)), found["digest"].to_pylist()
